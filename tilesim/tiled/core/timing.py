"""What the core makes of a program's tables: when everything happens, and what each unit's cycles are."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.tiled.core.build import library
from tilesim.tiled.flat.accounts import PROCESSOR, account_tracks, stay_tracks
from tilesim.tiled.flat.checks import checked
from tilesim.tiled.flat.columns import (
    CHIP,
    KINDS,
    LOG_COLUMNS,
    OUTCOMES,
    READOUTS,
    STAYS,
    TRANSFER_COLUMNS,
)
from tilesim.tiled.flat.missing import NoCompiler
from tilesim.tiled.flat.readout import SectionLog, Stays, Timing, Watched
from tilesim.tiled.flat.tables import Numbers, Tables, tables_of
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.topology import Topology

LATEST = 1 << 40
"""The last cycle to which a run may come."""


def timed(
    program: Program,
    path: Path | None = None,
    tables: Tables | None = None,
    traces: bool = False,
    watched: Watched | None = None,
) -> Timing:
    """Load and run a sound, covered program; ``path``: another library than the usual one; ``tables``: its own;
    ``traces``: with what a trace is made of; ``watched`` is told how far it is.

    Raises:
        NoCompiler: there is no core.
        TableFault: the tables can be those of no program.
    """
    core, tables = loaded(library() if path is None else path), checked(tables or tables_of(program))
    assert len(tables.ops) == len(program.load) + len(program.run)
    arrays = (tables.chip, tables.ops, tables.pool, tables.bitmaps)
    state = core.core_new(*(array.ctypes.data for array in arrays), traces)
    try:
        timing = _sections(core, state, program, tables, watched or Watched())
        return replace(timing, stays=_stays(core, state, program, timing)) if traces and timing.run else timing
    finally:
        core.core_free(state)


def _sections(core: ctypes.CDLL, state: int, program: Program, tables: Tables, watched: Watched) -> Timing:
    loads, all_ops = len(program.load), len(program.load) + len(program.run)
    rows_out = sum(tensor.rows for tensor in program.leaving)
    ends, steps, (in_load, in_run) = watched.cycles, tables.steps.copy(), tables.sent

    def run(first: int, end: int, sent: Numbers, steps: Numbers, rows: int) -> str:
        lists = sent.ctypes.data, len(sent), steps.ctypes.data, len(steps)
        return OUTCOMES[core.core_run(state, first, end, *lists, rows, LATEST, ends.ctypes.data)]

    outcome = run(0, loads, in_load, steps[:0], 0)
    load_cycles, load = int(ends[1]), _log(core, state)
    if outcome == "ended":
        watched.section = "run"
        outcome = run(loads, all_ops, in_run, steps, rows_out)
    if outcome != "ended":
        return Timing(outcome)
    start, end = ends.tolist()
    ends[0] = end - start
    cycles = np.zeros((int(tables.chip[CHIP.index("accounts")]), len(KINDS)), np.int64)
    core.core_accounts(state, end, cycles.ctypes.data)
    return Timing(
        outcome,
        end - start,
        load_cycles,
        start,
        _units(program.topology, cycles),
        load,
        _log(core, state),
        transfers=_read(core, state, "transfers").reshape(-1, TRANSFER_COLUMNS),
        spent=_read(core, state, "spent").reshape(
            program.topology.tiles, max(1, len(program.requests)), len(program.layers) + 1, -1
        ),
        received=_read(core, state, "received"),
        waits=_read(core, state, "waits").reshape(-1, LOG_COLUMNS)[:, :5],
        programs=_read(core, state, "programs"),
        steps=steps[:, [2]] + [0, 1] * steps[:, [1]],
    )


def _log(core: ctypes.CDLL, state: int) -> SectionLog:
    events, deliveries = (_read(core, state, what).reshape(-1, LOG_COLUMNS) for what in ("events", "deliveries"))
    return SectionLog(events, deliveries)


def _stays(core: ctypes.CDLL, state: int, program: Program, timing: Timing) -> Stays:
    numbers = {track: k for k, track in enumerate(account_tracks(program.topology)) if track}

    def stays_of(track: str) -> NDArray[Any]:
        if track == PROCESSOR:
            return _of_steps(timing)
        return _view(core, state, READOUTS.index("stays") + numbers[track]).view([*STAYS.items()])

    stays = [*map(stays_of, stay_tracks(program))]
    track = np.repeat(np.arange(len(stays), dtype=np.min_scalar_type(len(stays))), [len(each) for each in stays])
    columns = [
        np.concatenate([each[name] for each in stays], dtype=dtype, casting="unsafe")
        for name, dtype in {**STAYS, "cause": "u1"}.items()
    ]
    start, end, op, cause = columns
    return Stays(track, start, end, op, cause, _read(core, state, "wakes").reshape(-1, LOG_COLUMNS)[:, :3])


def _of_steps(timing: Timing) -> NDArray[Any]:
    """The host's processor waits for the rows of a step, and then takes its time."""
    assert timing.steps is not None
    rows, since = [], timing.start
    for step, (begins_at, end) in enumerate(timing.steps.tolist()):
        rows += [(since, begins_at, step, KINDS.index("fifo")), (begins_at, end, step, KINDS.index("busy"))]
        since = end
    return np.array([row for row in rows if row[0] < row[1]], [*STAYS.items()])


def _read(core: ctypes.CDLL, state: int, what: str) -> Numbers:
    return _view(core, state, READOUTS.index(what)).copy()


def _view(core: ctypes.CDLL, state: int, what: int) -> Numbers:
    """Numbers where the core has them."""
    place = ctypes.c_void_p()
    count = core.core_read(state, what, ctypes.byref(place))
    if not count:
        return np.empty(0, np.int64)
    assert place.value is not None
    return np.frombuffer((ctypes.c_int64 * count).from_address(place.value), np.int64)


def _units(topology: Topology, cycles: Numbers) -> dict[str, dict[str, int]]:
    """By track, as far as they are not 0."""
    found = {}
    for track, row in zip(account_tracks(topology), cycles.tolist(), strict=True):
        named = {k if k in ("idle", "busy") else f"stall:{k}": n for k, n in zip(KINDS, row, strict=True) if n}
        if track:
            found[track] = named
    return found


@lru_cache(maxsize=4)
def loaded(path: Path) -> ctypes.CDLL:
    """The core of that library.

    Raises:
        NoCompiler: it is for another system.
    """
    try:
        core = ctypes.CDLL(str(path))
    except OSError as error:
        raise NoCompiler(f"the core can't be loaded: {error}") from None
    number, place = ctypes.c_int64, ctypes.c_void_p
    core.core_new.argtypes, core.core_new.restype = [*[place] * 4, number], place
    core.core_run.restype = number
    core.core_run.argtypes = [place, number, number, place, number, place, number, number, number, place]
    core.core_read.argtypes, core.core_read.restype = [place, number, place], number
    core.core_accounts.argtypes, core.core_accounts.restype = [place, number, place], None
    core.core_free.argtypes, core.core_free.restype = [place], None
    return core
