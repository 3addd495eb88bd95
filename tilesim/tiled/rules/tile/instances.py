"""Instructions on each of their tiles, for all tiles at once: arrays with a number for each of them.

They are numbered as they come in the program, on one tile after another, so that of two on one tile the later one has
the higher number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tilesim.tiled.isa.model.fields import Engine, Flag
from tilesim.tiled.isa.model.tile_sets import tile_rows
from tilesim.tiled.rules.tile.effects import Effects, Section
from tilesim.tiled.topology import Topology

Numbers: TypeAlias = NDArray[np.int64]
ENGINES = {engine: k for k, engine in enumerate(Engine)}
FLAGS = {flag: k for k, flag in enumerate(Flag)}
NONE = -1


class Fence(Struct, frozen=True):
    """A fence behind the first ``place`` instructions."""

    place: int
    tiles: int
    idle: Sequence[Engine]
    reset: Sequence[Flag] = ()


def fences_of(topology: Topology, sections: Sequence[Section]) -> Iterator[Fence]:
    """The fences; behind each section everything is over, as behind one of all tiles for all engines."""
    place = 0
    for section in sections:
        for entry in section:
            if isinstance(entry, Effects):
                place += 1
            else:
                yield Fence(place, entry.tiles, entry.idle, entry.reset)
        yield Fence(place, (1 << topology.tiles) - 1, tuple(Engine))


class Instances:
    """Those of the ``works`` of a program, with the number of the instruction, the tile and the engine of each."""

    def __init__(self, works: Sequence[Effects], tiles: int) -> None:
        self.works, self.tiles = works, tiles
        self.rows = tile_rows((work.op.tiles for work in works), tiles)
        """Whether an instruction is for a tile."""
        self.op, self.tile = np.nonzero(self.rows)
        self.starts = np.searchsorted(self.op, np.arange(len(works) + 1))
        """The first one of each instruction, and the end of all."""
        self.engines = np.array([ENGINES[work.engine] for work in works], np.int64)
        self.engine = self.engines[self.op]

    def __len__(self) -> int:
        return len(self.op)

    @cached_property
    def queue(self) -> Numbers:
        """All of them tile by tile, engine by engine, in order."""
        return np.argsort(self._places, kind="stable")

    @cached_property
    def queue_starts(self) -> Numbers:
        """Where those of each engine of each tile begin among them."""
        return np.searchsorted(self._places[self.queue], np.arange(self.tiles * len(ENGINES) + 1))

    @cached_property
    def rank(self) -> Numbers:
        """How many are ahead of each on its engine."""
        ranks = np.empty(len(self), np.int64)
        ranks[self.queue] = np.arange(len(self)) - self.queue_starts[self._places[self.queue]]
        return ranks

    @cached_property
    def ahead(self) -> Numbers:
        """The last one ahead of each on its engine, or NONE."""
        return before_in(self._places)

    @cached_property
    def _places(self) -> Numbers:
        return self.tile * len(ENGINES) + self.engine

    def in_one_buffer(self, engines: Sequence[Engine]) -> Numbers:
        """The last one ahead of each in its buffer, which some engines share."""
        shared = [ENGINES[engine] for engine in engines]
        merged = np.where(np.isin(self.engine, shared), shared[0], self.engine)
        return before_in(self.tile * len(ENGINES) + merged)

    def issued(self, engine: int) -> Numbers:
        """How many instructions of an engine of the tile are in front of each."""
        own = np.flatnonzero(self.engines == engine)
        counts = np.zeros((len(own) + 1, self.tiles), np.int32)
        np.cumsum(self.rows[own], axis=0, out=counts[1:])
        return counts[np.searchsorted(own, self.op), self.tile].astype(np.int64)


def before_in(groups: Numbers) -> Numbers:
    """For each of some numbers the place of the last equal one in front of it, or NONE."""
    order = np.argsort(groups, kind="stable")
    ordered, before = groups[order], np.full(len(groups), NONE, np.int64)
    same = ordered[1:] == ordered[:-1]
    before[order[1:][same]] = order[:-1][same]
    return before
