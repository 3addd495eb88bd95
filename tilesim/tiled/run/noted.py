"""What the core has noted of a run: who did what when, for a trace, as columns by track.

A note holds until the next one of its unit. Numbers of instructions go on beyond the program's: of nothing, of what
the host sends and gets, and of the rows that the outfeed takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tilesim.tiled.flat.accounts import account_tracks
from tilesim.tiled.flat.columns import CAUSES, KINDS
from tilesim.tiled.flat.host import Outgoing, sent
from tilesim.tiled.flat.readout import Timing
from tilesim.tiled.flat.tables import Numbers
from tilesim.tiled.isa.model.instructions import (
    WORD_BYTES,
    Infeed,
    Instruction,
    Outfeed,
    Record,
    ScalarFence,
)
from tilesim.tiled.isa.model.program import Program

IDLE, BUSY, CREDIT, WORK = (KINDS.index(kind) for kind in ("idle", "busy", "credit", "work"))
FLAGS = len(KINDS)
"""From this cause on they are flags."""


class Works(NamedTuple):
    """Whatever units work on, by number: its label, the place of that in ``whats``, and how many bytes a unit moves
    that does nothing else with it.
    """

    whats: Sequence[str]
    what: Numbers
    bytes: Numbers


class Noted(NamedTuple):
    """Who did what when: spans by track, in the order of their starts; ``track`` is a place in ``tracks``, ``cause``
    one in :data:`~tilesim.tiled.flat.columns.CAUSES`. ``wakes`` are the notes of those who waited for a flag.
    """

    tracks: Sequence[str]
    works: Works
    track: Numbers
    start: Numbers
    end: Numbers
    work: Numbers
    cause: Numbers
    wakes: NDArray[Any]


def bus_bytes(ops: Sequence[Instruction]) -> Iterator[int]:
    """What each instruction of a section takes on the instruction bus; none, if it is the controller's own."""
    announced = 0
    for op in ops:
        size_bytes = (op.words - (announced > 0)) * WORD_BYTES
        announced = op.parts if isinstance(op, Record) else max(announced - 1, 0)
        yield 0 if isinstance(op, Infeed | Outfeed | ScalarFence) else size_bytes


def noted(program: Program, timing: Timing) -> Noted:
    """All of a run that has come to its end."""
    assert timing.load is not None
    assert timing.run is not None
    accounts = account_tracks(program.topology)
    tracks = sorted(filter(None, accounts))
    works, first = _works(program)
    logs = [timing.load.notes, timing.run.notes]
    notes = _Notes(*(np.concatenate([log[name] for log in logs]) for name in ("account", "cycle", "op", "cause")))
    _number(notes, accounts, first, len(logs[0]))
    rests = _rests(notes, accounts, timing.start, len(program.load) + len(program.run))
    places = {track: k for k, track in enumerate(tracks)}
    place = np.array([places.get(track, len(tracks)) for track in accounts], np.min_scalar_type(len(tracks)))
    notes = _Notes(*map(np.append, notes, rests))
    spans = _by_track(notes, place, timing.start + timing.cycles)
    track, start, end, work, cause = spans
    _name_waits(
        track,
        start,
        end,
        work,
        np.array([name.startswith("chip.ring.link") for name in tracks])[track] & (cause == CREDIT),
    )
    wakes = np.concatenate([timing.load.wakes, timing.run.wakes])
    return Noted(tracks, works, track, start, end, work, cause, wakes)


class _Notes(NamedTuple):
    """Columns of what is noted."""

    account: Numbers
    start: Numbers
    work: Numbers
    cause: Numbers


_NUMBERED = ("host.infeed", "host.outfeed", "outfeed")


def _works(program: Program) -> tuple[Works, list[list[int]]]:
    """The works; and where those of load and run begin of units whose works are no instructions."""
    ops = (*program.load, *program.run)
    rows = [*zip((op.label for op in ops), [*bus_bytes(program.load), *bus_bytes(program.run)], strict=True), ("", 0)]
    outgoing, row_bytes = Outgoing(program), program.topology.wide_memory.row_bytes
    first = []
    for section in (program.load, program.run):
        sizes = [(op, outgoing.sizes(op)) for op in section if isinstance(op, Outfeed)]
        parts = [
            [(each.label, each.size_bytes) for each in sent(program, section)],
            [(op.label, size) for op, of_op in sizes for size in of_op],
            [*_of_outfeed(section, row_bytes)],
        ]
        first.append([len(rows) + sum(map(len, parts[:k])) for k in range(len(parts))])
        rows += [row for part in parts for row in part]
    whats = sorted({label for label, _ in rows})
    places = {label: k for k, label in enumerate(whats)}
    what, size = np.array([(places[label], size) for label, size in rows], np.int64).T
    return Works(whats, what, size), first


def _of_outfeed(section: Sequence[Instruction], row_bytes: int) -> Iterator[tuple[str, int]]:
    """What the outfeed works on: each row, also such as go back to the infeed, and the end of an instruction."""
    yield "", 0
    for op in section:
        if isinstance(op, Outfeed):
            yield from [(op.label, row_bytes)] * op.rows
        elif isinstance(op, Infeed) and op.source == "ring":
            yield from [(op.label, 0)] * op.total_rows
        if isinstance(op, Outfeed) or (isinstance(op, Infeed) and op.source == "ring"):
            yield op.label, 0


def _number(notes: _Notes, accounts: Sequence[str], first: Sequence[Sequence[int]], loads: int) -> None:
    """Let numbers of what is no instruction go on beyond the program's; so many notes are of the load section."""
    of_load, of_run = first
    for k, name in enumerate(_NUMBERED):
        of_unit = np.flatnonzero(notes.account == accounts.index(f"chip.{name}"))
        notes.work[of_unit] += np.where(of_unit < loads, of_load[k], of_run[k])


def _rests(notes: _Notes, accounts: Sequence[str], start: int, nothing: int) -> _Notes:
    """Each tensor control, with its MAC array, has no more work at last."""
    last = np.full(len(accounts), start)
    last[notes.account] = np.maximum(notes.start, start)
    resting = np.array([k for k, track in enumerate(accounts) if track.endswith((".tensor", ".mac_array"))])
    rests = (resting, last[resting], np.full(len(resting), nothing), np.full(len(resting), WORK))
    return _Notes(*(column.astype(own.dtype) for column, own in zip(rests, notes, strict=True)))


def _by_track(notes: _Notes, place: NDArray[Any], end: int) -> tuple[Numbers, Numbers, Numbers, Numbers, Numbers]:
    """Tracks, beginnings, ends, works and causes of spans, from what units have noted until the ``end``."""
    track = place[notes.account]
    order = np.argsort(track, kind="stable")
    track, start, cause = track[order], notes.start[order], notes.cause[order]
    ends = np.append(start[1:], end)
    ends[np.flatnonzero(track[1:] != track[:-1])] = end
    some = np.flatnonzero((cause != IDLE) & (start < ends))
    return track[some].astype(np.int64), start[some], ends[some], notes.work[order[some]], cause[some]


def _name_waits(track: Numbers, start: Numbers, end: Numbers, work: Numbers, waits: NDArray[np.bool_]) -> None:
    """A link that lacks a credit does so for the packet that then gets it."""
    found = np.flatnonzero(waits[:-1])
    found = found[(track[found + 1] == track[found]) & (start[found + 1] == end[found])]
    work[found] = work[found + 1]


def kinds() -> tuple[list[str], Numbers]:
    """The kinds of spans by name, and for each cause the place of its kind."""
    names = [kind if kind in ("idle", "busy") else f"stall:{kind}" for kind in KINDS]
    return names, np.array([k if k < FLAGS else KINDS.index("flag") for k in range(len(CAUSES))], np.int64)
