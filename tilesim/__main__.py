"""``python -m tilesim``."""

from tilesim.cli import main

if __name__ == "__main__":
    main()
