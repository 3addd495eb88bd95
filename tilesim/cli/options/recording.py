"""How much of a run is recorded."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from tilesim.errors import InputError
from tilesim.sim.trace.recorder import Recording

TraceWindowOption = Annotated[
    str | None,
    typer.Option(
        metavar="FROM:TO",
        help="Record only these cycles of the run, the second one left out; either may be missing.",
    ),
]
TraceTracksOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="GLOB",
        help="Record only the units and links whose names match, such as 'chip.tile0.*' or 'chip.ring.*'. May be given "
        "several times.",
    ),
]
END = 1 << 62
"""A cycle after every run, and beyond all of 18 digits."""


def wanted_trace(trace: bool, window: str | None, tracks: list[str] | None) -> Recording | None:
    """What is to be recorded, if anything; a window or tracks ask for it as well.

    Raises:
        InputError: no window.
    """
    if not (trace or window or tracks):
        return None
    return Recording(None if window is None else _window(window), tuple(tracks or ("*",)))


def _window(words: str) -> range:
    found = re.fullmatch(r"([0-9]{0,18}):([0-9]{0,18})", words, re.ASCII)
    if found is None:
        raise InputError(f"--trace-window {words}: must be FROM:TO, two cycles such as 1000:2000")
    first, end = int(found[1] or 0), int(found[2] or END)
    if first >= end:
        raise InputError(f"--trace-window {words}: must end after it begins")
    return range(first, end)
