"""A sign of life for what takes longer than a second."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

PATIENCE_SECONDS = 1.0


@contextmanager
def progress(what: str) -> Iterator[None]:
    """Say on standard error, if that is a terminal, ``what`` is going on and for how long, once it takes a while."""
    if not sys.stderr.isatty():
        yield
        return
    done = Event()
    teller = Thread(target=_tell, args=(what, done), daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()


def _tell(what: str, done: Event) -> None:
    if done.wait(PATIENCE_SECONDS):
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        shown.add_task(what, total=None)
        done.wait()
