"""Faults of several things, kept to be told together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from tilesim.errors import InputError


@contextmanager
def kept(faults: list[str]) -> Iterator[None]:
    """Keep the faults of what is wrong in here, which ends there."""
    try:
        yield
    except InputError as error:
        faults += error.faults


def refuse(faults: Iterable[str]) -> None:
    """Raise InputError with the faults, each once, if there are any."""
    if distinct := dict.fromkeys(faults):
        raise InputError(distinct)
