"""What lies where in wide memory: the reserve, rows through which activations come and go, a region through which
parameters stream, and the parameters that stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from tilesim.tiled.caching import Decision, Run
from tilesim.tiled.compiler.feature_map import bitmap_of
from tilesim.tiled.compiler.parameters import Bytes, ParameterSets, SetKey
from tilesim.tiled.compiler.rows import wide_rows
from tilesim.tiled.isa.model.instructions import Infeed, Instruction, RingConsume
from tilesim.tiled.isa.model.program import DataSegment, Region
from tilesim.tiled.topology import Topology


class StreamBuffer(Struct, frozen=True):
    """Where a set that doesn't stay lies for a while. ``replaces`` are the sets that had the bytes before,
    all of them used for the last time before the round ``ready``.
    """

    address: int
    ready: int
    replaces: tuple[SetKey, ...]


class DataRange(Struct, frozen=True):
    """Where bytes of a set for ``tiles`` stand in data memory."""

    tiles: int
    address: int
    data: Bytes


class KeptRun(Struct, frozen=True):
    """A run of a set, and where it begins in the wide memory of the tile that keeps it."""

    run: Run
    address: int


class WideLayout(Struct, frozen=True, dict=True):
    """The places of everything of one network, alike in all tiles but for sets that only their home tile keeps.
    ``sources`` has what stands in data memory; of sets that share rows it is all with the first.

    ``stay`` are the addresses of the sets that stay, ``buffers`` the places of those that stream through the bytes
    ``stream``; a set with a home tile has both. ``runs`` are those of sets with several. Sets in ``over_mesh`` go from
    their home tile from neighbour to neighbour, through the tiles in the bitmap there; others over the ring.
    """

    topology: Topology
    sets: ParameterSets
    decisions: Mapping[SetKey, Decision]
    staging: Mapping[str, Region]
    stay: Mapping[SetKey, int]
    buffers: Mapping[SetKey, StreamBuffer]
    stream: range
    sources: Mapping[SetKey, tuple[DataRange, ...]]
    runs: Mapping[SetKey, tuple[KeptRun, ...]] = field(default_factory=dict)
    over_mesh: Mapping[SetKey, int] = field(default_factory=dict)

    @property
    def transient_bytes(self) -> int:
        """Bytes of a tile that come and go: staging rows, and what streams through at most."""
        ends = [self.buffers[key].address + self.sets.rows_bytes(key) for key in self.buffers]
        staged = sum(staging.bytes for staging in self.staging.values())
        return staged + max(ends, default=self.stream.start) - self.stream.start

    @property
    def data_bytes(self) -> int:
        """Bytes in data memory."""
        return sum(source.data.size for source in self._data())

    @property
    def streamed_cycles(self) -> float:
        """What data memory, or the host's link, takes for all that comes from there in an inference."""
        streamed = [key for key, decision in self.decisions.items() if not decision.cached]
        size = sum(source.data.size for key in streamed for source in self.sources[key])
        return float(size / self.topology.parameter_bytes_per_cycle)

    @property
    def cached(self) -> frozenset[SetKey]:
        """The sets that are on the tiles before an inference begins."""
        return frozenset(key for key, decision in self.decisions.items() if decision.cached)

    def homes(self, layer: int) -> list[str]:
        """Where the parameters of a layer live; its sets may differ."""
        homes = (decision.home.value for key, decision in self.decisions.items() if key.layer == layer)
        return list(dict.fromkeys(homes))

    @cached_property
    def _holders(self) -> dict[SetKey, frozenset[int]]:
        return {}

    def base(self, key: SetKey, tile: int) -> int:
        """Where the set begins from which ``tile`` computes."""
        if key not in self._holders:
            self._holders[key] = frozenset(self.decisions[key].holders)
        return self.stay[key] if tile in self._holders[key] else self.buffers[key].address

    def streams_to(self, key: SetKey) -> int:
        """The tiles (a bitmap) that get the set during the run."""
        return self.sets.tiles(key) & ~bitmap_of([*self.decisions[key].holders])

    def load(self) -> tuple[Instruction, ...]:
        """The program that brings what stays from data memory: once to all tiles that want the same."""
        instructions: list[Instruction] = []
        row_bytes = self.topology.wide_memory.row_bytes
        for number, load in enumerate(_joined(self._loads())):
            rows = load.bytes // row_bytes
            target = wide_rows(load.target, rows, row_bytes)
            name = f"parameters{number}"
            instructions.append(RingConsume(tiles=load.tiles, write=target, produce="r", label=f"{name}.receive"))
            instructions.append(
                Infeed(source="data", rows=rows, address=load.source, to=load.tiles, label=f"{name}.send")
            )
        return tuple(instructions)

    def data(self) -> tuple[DataSegment, ...]:
        """The parameters as they stand in data memory."""
        parts = [source.data for source in self._data()]
        return (DataSegment("parameters", np.concatenate(parts), 0),) if parts else ()

    def regions(self) -> list[Region]:
        """What programs may touch."""
        regions = [Region("parameters", "wide", load.tiles, load.target, load.bytes) for load in _joined(self._loads())]
        everywhere = 0
        for key in self.buffers:
            everywhere |= self.over_mesh.get(key, self.streams_to(key))
        if everywhere:
            regions.append(Region("stream", "wide", everywhere, self.stream.start, len(self.stream)))
        return [*regions, *self.staging.values()]

    def _data(self) -> list[DataRange]:
        """All that stands in data memory, in order; equal sets stand there once."""
        return [source for key, sources in self.sources.items() if self._is_first(key) for source in sources]

    def _is_first(self, key: SetKey) -> bool:
        return self.sets.firsts[key] == key

    def _loads(self) -> Iterator[_Load]:
        for key, target in self.stay.items():
            if not self._is_first(key):
                continue
            decision = self.decisions[key]
            for source in self.sources[key]:
                tiles = source.tiles if decision.tile is None else 1 << decision.tile
                if tiles := tiles & bitmap_of([*decision.holders]):
                    yield _Load(tiles, target, source.address, source.data.size)
        for key, runs in self.runs.items():
            for kept in runs if self._is_first(key) else ():
                run, source = kept.run, self._source(key, kept.run.of)
                yield _Load(1 << run.tile, kept.address, source.address + run.first, run.bytes)

    def _source(self, key: SetKey, tile: int | None) -> DataRange:
        """Where a set, or the part of a tile, stands in data memory."""
        return next(source for source in self.sources[key] if tile is None or source.tiles >> tile & 1)


class _Load(Struct, frozen=True):
    """``bytes`` from ``source`` in data memory to ``target`` in each of ``tiles``."""

    tiles: int
    target: int
    source: int
    bytes: int

    def continues(self, other: _Load) -> bool:
        ends = (other.tiles, other.target + other.bytes, other.source + other.bytes)
        return (self.tiles, self.target, self.source) == ends


def _joined(loads: Iterable[_Load]) -> list[_Load]:
    """Loads of bytes that follow each other at both ends, in one."""
    joined: list[_Load] = []
    for load in loads:
        if joined and load.continues(joined[-1]):
            joined[-1] = replace(joined[-1], bytes=joined[-1].bytes + load.bytes)
        else:
            joined.append(load)
    return joined
