"""What the core has noted of a run: who did what when, for a trace, as columns by track.

A note holds until the next one of its unit. Numbers of instructions go on beyond the program's: of nothing, of what
the host sends and gets, and of the rows that the outfeed takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilesim.tiled.flat.accounts import PROCESSOR, SPENT
from tilesim.tiled.flat.columns import CAUSES, KINDS, NOTED_CYCLE, NOTED_WORK
from tilesim.tiled.flat.host import Outgoing, sent
from tilesim.tiled.flat.readout import Timing
from tilesim.tiled.flat.rows import bus_bytes
from tilesim.tiled.flat.tables import Numbers
from tilesim.tiled.isa.model.instructions import Infeed, Instruction, Outfeed
from tilesim.tiled.isa.model.program import Program

IDLE, BUSY, CREDIT, WORK = (KINDS.index(kind) for kind in ("idle", "busy", "credit", "work"))
assert IDLE == 0
_OF_CAUSE, _OF_WORK = (1 << NOTED_WORK) - 1, (1 << NOTED_CYCLE - NOTED_WORK) - 1
FLAGS = len(KINDS)
"""From this cause on they are flags."""
Column: TypeAlias = NDArray[Any]


class Works(NamedTuple):
    """Whatever units work on, by number: its label, the place of that in ``whats``, and how many bytes a unit moves
    that does nothing else with it.
    """

    whats: Sequence[str]
    what: Column
    bytes: Numbers


class OfTracks(NamedTuple):
    """What some units did, one after the other, span by span: ``work`` is a number of :class:`Works`, ``cause`` a place
    in :data:`~tilesim.tiled.flat.columns.CAUSES`. ``firsts`` says where each unit's spans begin, and where the last
    one's end.
    """

    start: Column
    end: Column
    work: Column
    cause: Column
    firsts: Numbers


class Noted:
    """Who did what when. ``tracks`` are sorted, ``works`` what they work on; ``wakes`` as in
    :class:`~tilesim.tiled.flat.readout.Notes`.
    """

    def __init__(self, program: Program, timing: Timing) -> None:
        assert timing.notes is not None
        self.tracks = sorted(timing.notes.of)
        self.wakes = timing.notes.wakes
        self.works, self._first = _works(program)
        self._start, self._end, self._of = timing.start, timing.start + timing.cycles, timing.notes.of

    def most(self, track: str) -> int:
        """How many spans a track has at most."""
        return len(self._of[track])

    def of(self, *tracks: str) -> OfTracks:
        """Of some of the tracks."""
        parts = [self._of[track] for track in tracks]
        notes = parts[0] if len(parts) == 1 else np.concatenate(parts)
        firsts = np.cumsum([0, *map(len, parts)])
        start, cause = notes >> NOTED_CYCLE, notes & _OF_CAUSE
        end = np.empty_like(start)
        end[:-1] = start[1:]
        end[firsts[1:][np.diff(firsts) > 0] - 1] = self._end
        if not cause.all():  # which takes less time than all that follows
            some = np.flatnonzero(cause != IDLE)
            notes, start, end, cause = (column[some] for column in (notes, start, end, cause))
            firsts = some.searchsorted(firsts)
        work = notes >> NOTED_WORK
        work &= _OF_WORK
        work -= 1
        own = OfTracks(start, end, work, cause, firsts)
        for place, track in enumerate(tracks):
            part = slice(*firsts[place : place + 2].tolist())
            if track in _NUMBERED:
                of_load, of_run = (first[_NUMBERED.index(track)] for first in self._first)
                work[part] += np.where(start[part] < self._start, of_load, of_run)
            elif track.startswith("chip.ring.link"):
                _wait_for_packets(start[part], end[part], work[part], cause[part])
        return own


def _wait_for_packets(start: Column, end: Column, work: Column, cause: Column) -> None:
    """A link that lacks a credit does so for the packet that then gets it."""
    waits = np.flatnonzero(cause[:-1] == CREDIT)
    waits = waits[start[waits + 1] == end[waits]]
    work[waits] = work[waits + 1]


_NUMBERED = ("chip.host.infeed", "chip.host.outfeed", "chip.outfeed", PROCESSOR)


def _works(program: Program) -> tuple[Works, list[list[int]]]:
    """The works; and where those of load and run begin of units whose works are no instructions."""
    ops = (*program.load, *program.run)
    rows = [*zip((op.label for op in ops), chain.from_iterable(program.once(bus_bytes)), strict=True)]
    outgoing, row_bytes = Outgoing(program), program.topology.wide_memory.row_bytes
    first = []
    for section in (program.load, program.run):
        sizes = [(op, outgoing.sizes(op)) for op in section if isinstance(op, Outfeed)]
        parts = [
            [(each.label, each.size_bytes) for each in sent(program, section)],
            [(op.label, size) for op, of_op in sizes for size in of_op],
            [*_of_outfeed(section, row_bytes)],
            [(step.label, step.bytes) for step in program.steps],
        ]
        first.append([len(rows) + sum(map(len, parts[:k])) for k in range(len(parts))])
        rows += [row for part in parts for row in part]
    rows.append(("", 0))  # -1, of those who have no more work
    whats = sorted({label for label, _ in rows})
    places = {label: k for k, label in enumerate(whats)}
    what, size = np.array([(places[label], size) for label, size in rows], np.int64).T
    return Works(whats, what.astype(np.int32), size), first


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


def kinds() -> tuple[list[str], Column]:
    """The kinds of spans by name, and for each cause the place of its kind."""
    return [*SPENT], np.array([k if k < FLAGS else KINDS.index("flag") for k in range(len(CAUSES))], np.int32)
