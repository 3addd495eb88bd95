"""What the core has noted of a run: who did what when, for a trace, as columns by track.

A note holds until the next one of its unit. Numbers of instructions go on beyond the program's: of nothing, of what
the host sends and gets, and of the rows that the outfeed takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilesim.tiled.flat.accounts import PROCESSOR, stay_tracks
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
Column: TypeAlias = NDArray[Any]


class Works(NamedTuple):
    """Whatever units work on, by number: its label, the place of that in ``whats``, and how many bytes a unit moves
    that does nothing else with it.
    """

    whats: Sequence[str]
    what: Column
    bytes: Numbers


class Noted(NamedTuple):
    """Who did what when: spans by track, in the order of their starts; ``track`` is a place in ``tracks``, ``cause``
    one in :data:`~tilesim.tiled.flat.columns.CAUSES`. ``wakes`` as in :class:`~tilesim.tiled.flat.readout.Stays`.
    """

    tracks: Sequence[str]
    works: Works
    track: Column
    start: Column
    end: Column
    work: Column
    cause: Column
    wakes: Numbers

    def of(self, track: str) -> slice:
        """Where the spans of a track are."""
        place = self.track.dtype.type(self.tracks.index(track))
        return slice(*(int(np.searchsorted(self.track, place, side)) for side in ("left", "right")))


def bus_bytes(ops: Sequence[Instruction]) -> Iterator[int]:
    """What each instruction of a section takes on the instruction bus; none, if it is the controller's own."""
    announced = 0
    for op in ops:
        size_bytes = (op.words - (announced > 0)) * WORD_BYTES
        announced = op.parts if isinstance(op, Record) else max(announced - 1, 0)
        yield 0 if isinstance(op, Infeed | Outfeed | ScalarFence) else size_bytes


def noted(program: Program, timing: Timing) -> Noted:
    """All of a run that has come to its end."""
    assert timing.stays is not None
    tracks = stay_tracks(program)
    works, first = _works(program)
    track, start, end, op, cause, wakes = timing.stays
    found = Noted(tracks, works, track, start, end, op.copy(), cause, wakes)
    _number(found, first, timing.start)
    _name_waits(found)
    return found


_NUMBERED = ("chip.host.infeed", "chip.host.outfeed", "chip.outfeed", PROCESSOR)


def _works(program: Program) -> tuple[Works, list[list[int]]]:
    """The works; and where those of load and run begin of units whose works are no instructions."""
    ops = (*program.load, *program.run)
    rows = [*zip((op.label for op in ops), [*bus_bytes(program.load), *bus_bytes(program.run)], strict=True)]
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


def _number(noted: Noted, first: Sequence[Sequence[int]], start: int) -> None:
    """Let numbers of what is no instruction go on beyond the program's."""
    of_load, of_run = first
    for k, name in enumerate(_NUMBERED):
        if name not in noted.tracks:
            continue
        part = noted.of(name)
        noted.work[part] += np.where(noted.start[part] < start, of_load[k], of_run[k])


def _name_waits(noted: Noted) -> None:
    """A link that lacks a credit does so for the packet that then gets it."""
    links = np.array([name.startswith("chip.ring.link") for name in noted.tracks])
    waits = np.flatnonzero(noted.cause[:-1] == CREDIT)
    waits = waits[links[noted.track[waits]]]
    waits = waits[(noted.track[waits + 1] == noted.track[waits]) & (noted.start[waits + 1] == noted.end[waits])]
    noted.work[waits] = noted.work[waits + 1]


def kinds() -> tuple[list[str], Column]:
    """The kinds of spans by name, and for each cause the place of its kind."""
    names = [kind if kind in ("idle", "busy") else f"stall:{kind}" for kind in KINDS]
    return names, np.array([k if k < FLAGS else KINDS.index("flag") for k in range(len(CAUSES))], np.uint8)
