"""A sign of life for what takes longer than a second."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

PATIENCE_SECONDS = 1.0
REFRESH_SECONDS = 0.2


@contextmanager
def progress(what: str) -> Iterator[Callable[[str], None]]:
    """Say on standard error, if that is a terminal, ``what`` is going on and for how long, once it takes a while. What
    it yields is to be told what goes on now instead.
    """
    now = [what]
    if not sys.stderr.isatty():
        yield now.append
        return
    done = Event()
    teller = Thread(target=_tell, args=(now, done), daemon=True)
    teller.start()
    try:
        yield now.append
    finally:
        done.set()
        teller.join()


def _tell(now: list[str], done: Event) -> None:
    if done.wait(PATIENCE_SECONDS):
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(now[-1], total=None)
        while not done.wait(REFRESH_SECONDS):
            shown.update(task, description=now[-1])
