"""The memories of all tiles as one array a kind, and those of some tiles, as if they were one tile's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from functools import cached_property

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tilesim.sim.core.memory import Bytes, Memory, zeros
from tilesim.tiled.topology import Topology
from tilesim.tiled.units.memories import TileMemories
from tilesim.tiled.units.tensor.results import Results


class Part(Struct, frozen=True, dict=True):
    """Some tiles, whose memories stand behind one another in the samples of ``narrow`` and ``wide``; but for the bytes
    they are ``alike``.
    """

    tiles: tuple[int, ...]
    narrow: Memory
    wide: Memory
    alike: TileMemories

    @cached_property
    def memories(self) -> TileMemories:
        """As a tensor control has them."""
        memories = copy(self.alike)
        memories.narrow, memories.wide = self.narrow, self.wide
        return memories

    @cached_property
    def results(self) -> Results:
        """What tensorops make of their bytes."""
        return Results(self.memories, self.alike.topology.tile.inputs_per_cycle)

    def spread(self, data: Bytes) -> Bytes:
        """What all its tiles get, (samples or 1, ...), for each of them."""
        several = len(data) > 1 and len(self.tiles) > 1
        return data[None].repeat(len(self.tiles), 0).reshape(-1, *data.shape[1:]) if several else data


class Stacks:
    """Narrow and wide memories, [tiles, samples, bytes] each."""

    def __init__(self, topology: Topology, samples: int) -> None:
        self.topology = topology
        self.samples = samples
        self.alike = TileMemories("chip.tiles", topology, 1)
        """Those of a tile, as far as all are alike."""
        tiles, sizes = topology.tiles, (topology.narrow_memory.size_bytes, topology.wide_memory.size_bytes)
        self.narrow, self.wide = (zeros(tiles * samples, size).reshape(tiles, samples, size) for size in sizes)
        self._begins = np.array([self.narrow.ctypes.data, self.wide.ctypes.data], np.uintp)
        self._parts: dict[tuple[int, ...], Part] = {}
        self._places: dict[tuple[int, ...], NDArray[np.uintp]] = {}

    def part(self, tiles: Sequence[int]) -> Part:
        """The tiles, in order, in as few blocks as are views."""
        key = tuple(tiles)
        part = self._parts.get(key)
        if part is None:
            runs, alike = [*_runs(key, self.samples == 1)], self.alike
            narrow, wide = self._memory(alike.narrow, self.narrow, runs), self._memory(alike.wide, self.wide, runs)
            part = self._parts[key] = Part(key, narrow, wide, alike)
        return part

    def places(self, tiles: Sequence[int]) -> NDArray[np.uintp]:
        """Where the narrow and the wide memory of each sample of the tiles begin in the machine's own, (samples, 2)."""
        key = tuple(tiles)
        if key not in self._places:
            samples = (np.array(tiles)[:, None] * self.samples + np.arange(self.samples)).reshape(-1, 1)
            sizes = self.alike.narrow.size_bytes, self.alike.wide.size_bytes
            self._places[key] = np.asarray(self._begins + (samples * sizes).astype(np.uintp), np.uintp)
        return self._places[key]

    def _memory(self, alike: Memory, whole: Bytes, runs: Sequence[slice]) -> Memory:
        blocks = [whole[run, 0] if self.samples == 1 else whole[run].reshape(-1, alike.size_bytes) for run in runs]
        return Memory(alike.name, alike.size_bytes, content=blocks)


def _runs(tiles: tuple[int, ...], any_step: bool) -> Iterator[slice]:
    """The tiles, in order, in progressions; those of samples next to one another must follow one another."""
    first = 0
    while first < len(tiles):
        end, step = first + 1, tiles[first + 1] - tiles[first] if first + 1 < len(tiles) else 1
        while (any_step or step == 1) and end < len(tiles) and tiles[end] == tiles[end - 1] + step:
            end += 1
        yield slice(tiles[first], tiles[end - 1] + 1, step)
        first = end
