"""A sign of life for what takes longer than a second."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TypeAlias

from tilesim.cli.output import styled_error
from tilesim.printable import printable
from tilesim.report.words import short_name
from tilesim.run import Look

PATIENCE_SECONDS = 1.0
REFRESH_SECONDS = 0.2

Words: TypeAlias = str | Callable[[], str]
"""What goes on; or what tells it, as often as it is asked."""


@contextmanager
def progress(what: str, quiet: bool = False) -> Iterator[Callable[[Words], None]]:
    """Say on standard error, if that is a terminal, ``what`` is going on and for how long, once it takes a while. What
    it yields is to be told what goes on now instead.
    """
    now: list[Words] = [what]
    if quiet or not sys.stderr.isatty():
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


@contextmanager
def simulating(what: str, quiet: bool = False) -> Iterator[Callable[[Look], None]]:
    """Say as :func:`progress` does that ``what`` is simulated, and how far, if what it yields is told whom to ask."""
    with progress(f"simulating {what}", quiet) as say:
        yield lambda look: say(lambda: f"simulating {what}: {_how_far(look)}")


def _how_far(look: Look) -> str:
    section, cycle, layer, layers = look()
    where = "" if layer is None else f", layer {layer + 1} of {len(layers)}, {short_name(layers[layer])}"
    return f"{'loading, ' * (section == 'load')}cycle {cycle:,}{where}"


def _tell(now: list[Words], done: Event) -> None:
    if done.wait(PATIENCE_SECONDS):
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=Console(file=styled_error()), transient=True) as shown:
        task = shown.add_task(_said(now[-1]), total=None)
        while not done.wait(REFRESH_SECONDS):
            shown.update(task, description=_said(now[-1]))


def _said(words: Words) -> str:
    return printable(words if isinstance(words, str) else words())
