"""Tensors are read out of the tiles' memories as soon as they are whole, if somebody asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from tilesim.sim.core.memory import Memory
from tilesim.tiled.dataflow.cuts import Stays
from tilesim.tiled.dataflow.meetings import Meetings
from tilesim.tiled.dataflow.order import Refused
from tilesim.tiled.dataflow.read_out import read_out
from tilesim.tiled.dataflow.stacks import Stacks
from tilesim.tiled.flat.tables import Numbers
from tilesim.tiled.isa.model.program import Program


class Probe(Protocol):
    """Copies what stands in the tiles' narrow memories when an instruction has retired."""

    def attach(self, memories: list[Memory]) -> None:
        """The memories, by tile, of a run that has yet to begin."""

    def retired(self, tile: int, label: str) -> None:
        """An instruction has, on a tile."""


class Probing:
    """Has a probe read when what it reads is as it is when the instruction retires: reading is a part of its effect."""

    def __init__(self, program: Program, probe: Probe) -> None:
        self._ops, self._probe = (*program.load, *program.run), probe
        self._tiles = program.topology.tiles
        self.meetings = Meetings(program, read_out(program))

    def attach(self, stacks: Stacks) -> None:
        name, size_bytes = stacks.alike.narrow.name, stacks.alike.narrow.size_bytes
        self._probe.attach([Memory(name, size_bytes, content=[content]) for content in stacks.narrow])

    def carried(self, place: int, tiles: Sequence[int], end: int) -> None:
        """An instruction's effect has been carried out on some tiles, up to an iteration."""
        if end == self.meetings.rounds[place]:
            for tile in tiles:
                self._probe.retired(tile, self._ops[place].label)

    def must_stand(self, events: Numbers) -> None:
        """Refuse a section in which somebody is writing what is read, for nobody knows how far he is then.

        Raises:
            Refused: see there.
        """
        stays, cycles = Stays(events, self._tiles), events[:, 0]
        at_work = np.flatnonzero((stays.began >= 0).any(axis=1)).tolist()
        for place in self.meetings.read_out.keys() & {*at_work}:
            writers = [other for other in at_work if other != place and self.meetings.disturbs(other, place)]
            there = (stays.began[writers] >= 0) & (stays.began[place] >= 0)
            own = np.broadcast_to(stays.retired[place], there.shape)[there]
            began, ended = (numbers[writers][there] for numbers in (stays.began, stays.retired))
            if ((cycles[began] <= cycles[own]) & (cycles[own] <= cycles[ended])).any():
                raise Refused(place, "is over while what is then read out is being written")
