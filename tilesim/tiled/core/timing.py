"""What the core makes of a program's tables: when everything happens, and what each unit's cycles are."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from tilesim.tiled.core.build import library
from tilesim.tiled.flat.accounts import PROCESSOR, SPENT, account_tracks
from tilesim.tiled.flat.checks import checked
from tilesim.tiled.flat.columns import (
    CHIP,
    COLUMNS,
    KINDS,
    LOG_COLUMNS,
    MOST,
    NOTED_CYCLE,
    NOTED_WORK,
    OPS,
    OUTCOMES,
    READOUTS,
    TRANSFER_COLUMNS,
)
from tilesim.tiled.flat.missing import NoCompiler
from tilesim.tiled.flat.readout import Notes, SectionLog, Timing, Watched
from tilesim.tiled.flat.tables import Numbers, Tables, tables_of
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.topology import Topology

LATEST, LATEST_NOTED = MOST, (1 << 63 - NOTED_CYCLE) - 1
"""The last cycle to which a run may come, and the last of which there may be a note."""


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
    if traces and most_noted(tables) >= 1 << NOTED_CYCLE - NOTED_WORK:
        return Timing("endless")
    state = _State(core, tables, traces)
    timing = _sections(state, program, tables, watched or Watched())
    if not traces or timing.outcome != "ended":
        return timing
    return replace(timing, notes=_notes(state, program, timing))


def most_noted(tables: Tables) -> int:
    """Beyond the numbers in notes: of instructions, of what the host sends, of rows and ends at the outfeed."""
    kind, rows, transfers = (tables.ops[:, COLUMNS.index(name)] for name in ("kind", "rounds", "transfers"))
    around = np.isin(kind, [OPS.index("infeed"), OPS.index("outfeed")])
    through = (rows * np.maximum(transfers, 1) + 1)[around]
    return 1 + max(len(kind), *map(len, tables.sent), int(through.sum()))


class _State:
    """What a core has in its memory, of tables that it looks at."""

    def __init__(self, core: ctypes.CDLL, tables: Tables, traces: bool) -> None:
        self.core, self._tables = core, tables
        self.latest = min(LATEST, LATEST_NOTED) if traces else LATEST
        arrays = (tables.chip, tables.ops, tables.pool, tables.bitmaps)
        self.place: int = core.core_new(*(array.ctypes.data for array in arrays), traces)

    def __del__(self) -> None:
        self.core.core_free(self.place)


class _Placed:
    """Numbers that a core has, as NumPy asks for them: nobody may write them, and they keep all that it has."""

    def __init__(self, state: _State, place: int, count: int) -> None:
        self._state = state
        self.__array_interface__ = {
            "version": 3,
            "typestr": np.dtype(np.int64).str,
            "shape": (count,),
            "data": (place, True),
        }


def _sections(state: _State, program: Program, tables: Tables, watched: Watched) -> Timing:
    loads, all_ops = len(program.load), len(program.load) + len(program.run)
    rows_out = sum(tensor.rows for tensor in program.leaving)
    ends, steps, (in_load, in_run) = watched.cycles, tables.steps.copy(), tables.sent

    def run(first: int, end: int, sent: Numbers, steps: Numbers, rows: int) -> str:
        lists = sent.ctypes.data, len(sent), steps.ctypes.data, len(steps)
        return OUTCOMES[state.core.core_run(state.place, first, end, *lists, rows, state.latest, ends.ctypes.data)]

    outcome = run(0, loads, in_load, steps[:0], 0)
    load_cycles, load = int(ends[1]), _log(state, _read)
    if outcome == "ended":
        watched.section = "run"
        outcome = run(loads, all_ops, in_run, steps, rows_out)
    if outcome != "ended":
        return Timing(outcome)
    start, end = ends.tolist()
    if end > state.latest:  # by what the host does alone
        return Timing("endless")
    ends[0] = end - start
    cycles = np.zeros((int(tables.chip[CHIP.index("accounts")]), len(KINDS)), np.int64)
    state.core.core_accounts(state.place, end, cycles.ctypes.data)
    return Timing(
        outcome,
        end - start,
        load_cycles,
        start,
        _units(program.topology, cycles),
        load,
        _log(state, _view),
        transfers=_read(state, READOUTS.index("transfers")).reshape(-1, TRANSFER_COLUMNS),
        spent=_read(state, READOUTS.index("spent")).reshape(
            program.topology.tiles, max(1, len(program.requests)), len(program.layers) + 1, -1
        ),
        received=_read(state, READOUTS.index("received")),
        waits=_read(state, READOUTS.index("waits")).reshape(-1, LOG_COLUMNS)[:, :5],
        programs=_read(state, READOUTS.index("programs")),
        steps=steps[:, [2]] - [1, 0] * steps[:, [1]],
    )


def _log(state: _State, read: Callable[[_State, int], Numbers]) -> SectionLog:
    """What the core has of a section, of which nothing is left when it runs the next one."""
    of = [read(state, READOUTS.index(what)).reshape(-1, LOG_COLUMNS) for what in ("events", "deliveries")]
    return SectionLog(*of)


def _notes(state: _State, program: Program, timing: Timing) -> Notes:
    first = READOUTS.index("notes")
    of = {track: _view(state, first + k) for k, track in enumerate(account_tracks(program.topology)) if track}
    if program.steps:
        of[PROCESSOR] = _of_steps(timing)
    return Notes(of, _read(state, READOUTS.index("wakes")).reshape(-1, LOG_COLUMNS)[:, :3])


def _of_steps(timing: Timing) -> Numbers:
    """The host's processor waits for the rows of a step, and then takes its time."""
    assert timing.steps is not None
    notes, since = [], timing.start
    for step, (begins_at, end) in enumerate(timing.steps.tolist()):
        for first, last, kind in ((since, begins_at, "fifo"), (begins_at, end, "busy")):
            notes += [first << NOTED_CYCLE | step + 1 << NOTED_WORK | KINDS.index(kind)] * (first < last)
        since = end
    return np.array([*notes, since << NOTED_CYCLE], np.int64)


def _read(state: _State, what: int) -> Numbers:
    place, count = _found(state, what)
    numbers = np.empty(count, np.int64)
    ctypes.memmove(numbers.ctypes.data, place, numbers.nbytes)
    return numbers


def _view(state: _State, what: int) -> Numbers:
    """Numbers where the core has them, which live as long as they are looked at."""
    place, count = _found(state, what)
    return np.asarray(_Placed(state, place, count)) if count else np.empty(0, np.int64)


def _found(state: _State, what: int) -> tuple[int, int]:
    """Where the core has some numbers, and how many."""
    place = ctypes.c_void_p()
    count: int = state.core.core_read(state.place, what, ctypes.byref(place))
    return place.value or 0, count


def _units(topology: Topology, cycles: Numbers) -> dict[str, dict[str, int]]:
    """By track, as far as they are not 0."""
    found = {}
    for track, row in zip(account_tracks(topology), cycles.tolist(), strict=True):
        if track:
            found[track] = {kind: n for kind, n in zip(SPENT, row, strict=True) if n}
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
    core.core_product.argtypes, core.core_product.restype = [*[place] * 3, number], number
    return core
