"""The hardware units of the tiled chip, one a file."""
