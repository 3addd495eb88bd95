"""Who sends over the mesh what somebody takes: the k-th transfer out of a side meets the k-th into the one opposite."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilesim.tiled.dataflow.cuts import BEGAN
from tilesim.tiled.flat.tables import Numbers
from tilesim.tiled.isa.model.by_type import ByType
from tilesim.tiled.isa.model.fields import OPPOSITE, Side, neighbour
from tilesim.tiled.isa.model.instructions import MeshIn, MeshOut
from tilesim.tiled.isa.model.program import Program

SIDES = [*Side]
ACROSS = np.array([SIDES.index(OPPOSITE[side]) for side in SIDES])


class Meshes:
    """The mesh's transfers so far."""

    def __init__(self, program: Program) -> None:
        topology, ops, count = program.topology, program.once(ByType), len(program.load) + len(program.run)
        self._out, self._in = np.full(count, -1), np.full(count, -1)
        for place, out in ops.of(MeshOut):
            self._out[place] = SIDES.index(out.side)
        for place, taken in ops.of(MeshIn):
            if taken.fill is None:
                self._in[place] = SIDES.index(taken.side)
        tiles = range(topology.tiles)
        there = [[neighbour(topology.grid, tile, side) for side in SIDES] for tile in tiles]
        self._beside = np.array([[-1 if tile is None else tile for tile in beside] for beside in there])
        self._begun: Numbers = np.empty((0, 2), np.int64)
        [self._takers] = (self._in >= 0).nonzero()
        self._row = {place: row for row, place in enumerate(self._takers.tolist())}
        self._senders = np.full((len(self._takers), topology.tiles, 2), -1, np.int32)
        """By instruction that takes, and tile: the instruction and the tile that send."""
        self._outs, self._their_tiles = list[int](), list[int]()
        """The same of all takers on all their tiles, one after the other."""
        self._from = [0] * (len(self._takers) + 1)
        """Where those of each begin."""

    def all_senders(self) -> Numbers:
        """The same as rows: an instruction, its tile, the one that sends, and the tile that does."""
        row, tile = (self._senders[:, :, 0] >= 0).nonzero()
        return np.column_stack([self._takers[row], tile, self._senders[row, tile]])

    def senders(self, place: int, tiles: Sequence[int]) -> tuple[list[int], list[int]]:
        """Of an instruction on some tiles, in order: the instructions, and the tiles, that send."""
        row = self._row[place]
        begin, end = self._from[row : row + 2]
        if end - begin == len(tiles):
            return self._outs[begin:end], self._their_tiles[begin:end]
        outs, their_tiles = self._senders[row, tiles].T.tolist()
        return outs, their_tiles

    def hear(self, events: Numbers) -> None:
        """What has begun in a section."""
        self._begun = np.concatenate([self._begun, events[events[:, 4] == BEGAN][:, 1:3]])
        tile, place = self._begun.T
        out, taken = np.flatnonzero(self._out[place] >= 0), np.flatnonzero(self._in[place] >= 0)
        side = self._in[place[taken]]
        sent = self._ranked(tile[out] * len(SIDES) + self._out[place[out]])
        met = self._ranked(self._beside[tile[taken], side] * len(SIDES) + ACROSS[side])
        order = np.argsort(sent)
        at = np.searchsorted(sent[order], met)
        found = at < len(order)
        found[found] = sent[order[at[found]]] == met[found]
        senders = self._begun[out[order[at[found]]]]
        self._senders[self._takers.searchsorted(place[taken[found]]), tile[taken[found]]] = senders[:, ::-1]
        rows, _, outs, their_tiles = self.all_senders().T
        self._from = rows.searchsorted(np.append(self._takers, len(self._in))).tolist()
        self._outs, self._their_tiles = outs.tolist(), their_tiles.tolist()

    def _ranked(self, links: Numbers) -> Numbers:
        """A number for each transfer over a link, of which it is the k-th."""
        order = np.argsort(links, kind="stable")
        ordered = links[order]
        ranks = np.empty(len(links), np.int64)
        ranks[order] = np.arange(len(links)) - np.searchsorted(ordered, ordered)
        return links * (len(self._begun) + 1) + ranks
