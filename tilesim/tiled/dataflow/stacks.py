"""The memories of all tiles as one array a kind, and parts of them that hold some tiles, as if they were one tile's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from tilesim.sim.core.memory import Bytes, Memory, zeros
from tilesim.tiled.topology import Topology
from tilesim.tiled.units.memories import TileMemories
from tilesim.tiled.units.tensor.results import Results


@dataclass(frozen=True)
class Part:
    """Some tiles, whose memories stand behind one another in the samples of ``narrow`` and ``wide``; but for the bytes
    they are ``alike``.
    """

    tiles: tuple[int, ...]
    narrow: Memory
    wide: Memory
    alike: TileMemories

    @cached_property
    def results(self) -> Results:
        """What tensorops make of their bytes."""
        memories = copy(self.alike)
        memories.narrow, memories.wide = self.narrow, self.wide
        return Results(memories, self.alike.topology.tile.inputs_per_cycle)

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
        self._parts: dict[tuple[int, ...], list[Part]] = {}

    def parts(self, tiles: Sequence[int]) -> list[Part]:
        """The tiles in as few parts as are views."""
        key = tuple(tiles)
        if key not in self._parts:
            self._parts[key] = [self._part(run) for run in _runs(key, self.samples == 1)]
        return self._parts[key]

    def _part(self, tiles: tuple[int, ...]) -> Part:
        alike = self.alike
        narrow, wide = self._memory(alike.narrow, self.narrow, tiles), self._memory(alike.wide, self.wide, tiles)
        return Part(tiles, narrow, wide, alike)

    def _memory(self, alike: Memory, whole: Bytes, tiles: tuple[int, ...]) -> Memory:
        step = tiles[1] - tiles[0] if len(tiles) > 1 else 1
        chosen = whole[tiles[0] : tiles[-1] + 1 : step]
        content = chosen[:, 0] if self.samples == 1 else chosen.reshape(-1, alike.size_bytes)
        return Memory(alike.name, alike.size_bytes, content=content)


def _runs(tiles: tuple[int, ...], any_step: bool) -> Iterator[tuple[int, ...]]:
    """The tiles, in order, in progressions; those of samples next to one another must follow one another."""
    steps = {later - earlier for earlier, later in pairwise(tiles)}
    if len(steps) <= 1 and (any_step or steps <= {1}):
        yield tiles
        return
    run = [tiles[0]]
    for tile in tiles[1:]:
        if tile != run[-1] + 1:
            yield tuple(run)
            run = []
        run.append(tile)
    yield tuple(run)
