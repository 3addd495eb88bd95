"""The way to the compiled core, which is imported when it is first asked for: it may not be there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tilesim.tiled.flat.missing import NoCompiler

if TYPE_CHECKING:
    from tilesim.tiled.dataflow.products import Products
    from tilesim.tiled.flat.readout import Timing, Watched
    from tilesim.tiled.flat.tables import Tables
    from tilesim.tiled.isa.model.program import Program

GONE = "this tilesim has no tilesim/tiled/core"


def library() -> Path:
    """The core's library, made if there is none yet, and loaded.

    Raises:
        NoCompiler: in one line, why there is none.
    """
    try:
        from tilesim.tiled.core import build, timing
    except ImportError:
        raise NoCompiler(GONE) from None
    made = build.library()
    timing.loaded(made)
    return made


def timed(program: Program, path: Path, tables: Tables, traces: bool, watched: Watched) -> Timing:
    """What the core of the library at ``path`` makes of a program; ``traces``: with what a trace is made of;
    ``watched`` is told how far it is.
    """
    from tilesim.tiled.core.timing import timed as of_core

    return of_core(program, path, tables, traces, watched)


def products(path: Path) -> Products:
    """What carries products out, of the core of the library at ``path``."""
    from tilesim.tiled.core import timing
    from tilesim.tiled.dataflow.products import Products

    return Products(timing.loaded(path))


def standing() -> str:
    """Whether there is a core, or could be, in a line; makes none."""
    try:
        from tilesim.tiled.core import build
    except ImportError:
        return f"not there: {GONE}"
    if build.is_off():
        return f"not there: {build.VARIABLE} is none"
    if place := build.found():
        return f"ready, {place}"
    if compiler := next(build.compilers(), None):
        return f"made at its first use, by {' '.join(compiler)}"
    return f"not there: {build.nobody()}"
