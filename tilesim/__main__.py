"""The program ``tilesim``, also as ``python -m tilesim``."""

from __future__ import annotations

import gc
import os
import signal
import sys

INTERRUPTED = 130
"""The exit status."""
YOUNG_OBJECTS = 100_000
"""Before they are searched for garbage: most of what modules make as they load stays."""


def main() -> None:
    """The program; it ends with the exit status. An interrupt while it starts or ends finds nothing to tidy up."""
    heeded = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # else somebody has it ignored
    if heeded:
        signal.signal(signal.SIGINT, _leave)
    gc.set_threshold(YOUNG_OBJECTS)
    from tilesim.cli import main as run

    if heeded:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        run()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    finally:
        if heeded:
            signal.signal(signal.SIGINT, _leave)
        exec("")  # noqa: S102 -- Python ends by SIGINT, whatever the status, if an interrupt came out of the last such exec


def _leave(_signal: int, _frame: object) -> None:
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    main()
