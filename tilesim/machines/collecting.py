"""Work that makes much and throws little away."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache


@contextmanager
def without_collector() -> Iterator[None]:
    """What is made meanwhile lives to the end: to look for garbage in it, again and again, takes a tenth."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            _let_age()
            gc.enable()


@cache
def _let_age() -> None:
    """What there is after the first such work, modules above all, is old: to look for garbage in it, as in what is
    young, takes a fortieth of a small run. Once in a process: garbage of later work must be found.
    """
    if not gc.get_freeze_count():  # nobody has frozen anything, which would be thawed
        gc.freeze()
        gc.unfreeze()
