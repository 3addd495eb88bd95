"""The way of parameters that don't stay: from data memory or their home tiles, over the ring or the mesh, ahead of
their use.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from tilesim.tiled.compiler.mesh_sending import MeshSending
from tilesim.tiled.compiler.parameters import SetKey
from tilesim.tiled.compiler.program_builder import TENSOR_FLAGS, ProgramBuilder
from tilesim.tiled.compiler.rows import wide_rows
from tilesim.tiled.compiler.split_sending import SplitSending
from tilesim.tiled.compiler.wide_layout import DataRange, StreamBuffer, WideLayout
from tilesim.tiled.isa.model.fields import Channel, Traversal, Watcher, bits, channels_of
from tilesim.tiled.isa.model.instructions import Infeed, RingConsume, RingProduce
from tilesim.tiled.isa.model.sheet import CONSUMERS, FLAGS

Frees = list[tuple[Watcher, ...]]
"""What each tile waits for."""


@dataclass
class ParameterStream:
    """Sends each set as soon as the instructions are written after which its place is free. Time goes in rounds: in
    each, every tile has one tensorop at most.

    ``arrived`` tells, for each set and tile, when it has come; ``used`` the rises of ``TENSOR_FLAGS`` by the tensorops
    that have used it: an array (flags, tiles); ``passed_on``, for each tile that sends on what has come, when it has.
    """

    builder: ProgramBuilder
    layout: WideLayout
    arrived: dict[tuple[SetKey, int], Watcher] = field(default_factory=dict)
    used: dict[SetKey, NDArray[np.int64]] = field(default_factory=dict)
    passed_on: dict[SetKey, dict[int, tuple[Watcher, ...]]] = field(default_factory=dict)
    round: int = 0
    _left: list[tuple[SetKey, StreamBuffer]] = field(init=False)

    def __post_init__(self) -> None:
        self._left = list(self.layout.buffers.items())

    def advance(self) -> None:
        """Append the transfers of what may come before the next round."""
        while self._left and self._left[0][1].ready <= self.round:
            self._send(*self._left.pop(0))

    def precede(self, keys: Container[SetKey]) -> None:
        """Append the transfers of the sets that come first, as far as they are among ``keys``: of those for the first
        layer, which can begin then with the first lines of its input.
        """
        while self._left and self._left[0][0] in keys and not self._left[0][1].ready:
            self._send(*self._left.pop(0))

    def waits(self, key: SetKey, tile: int) -> tuple[Watcher, ...]:
        """What a tensorop waits for that computes from a set."""
        arrival = self.arrived.get((key, tile))
        return () if arrival is None else (arrival,)

    def use(self, keys: Mapping[int, SetKey]) -> None:
        """The tensorops of a round, now written, use a set in each tile."""
        self.round += 1
        self.note(keys)

    def note(self, keys: Mapping[int, SetKey]) -> None:
        """More tensorops, now written, use a set in each tile."""
        for tile, key in keys.items():
            if key not in self.used:
                self.used[key] = self._nothing
            self.used[key][:, tile] = [self.builder.raised[tile, flag] for flag in TENSOR_FLAGS]

    def _send(self, key: SetKey, buffer: StreamBuffer) -> None:
        label = f"stream{key.layer}.{key.chunk}"
        if key in self.layout.runs:
            free, channel = self.free(buffer), self.channel
            SplitSending(self.builder, self.layout, key, buffer.address, free, label, channel).write(self)
        elif key in self.layout.over_mesh:
            MeshSending(self.builder, self.layout, key, buffer.address, self.free(buffer), label).write(self)
        else:
            self._send_whole(label, key, buffer)

    def _send_whole(self, label: str, key: SetKey, buffer: StreamBuffer) -> None:
        """From data memory, or from one home tile, at once to all who need it."""
        builder, tiles = self.builder, self.layout.streams_to(key)
        home = self.layout.decisions[key].tile
        turn = builder.infeed_turn(self.channel) if home is None else 0
        wait = () if home is None else builder.turn(home, self.channel)
        rows = self._rows(buffer.address, self.layout.sets.rows_bytes(key))
        self._receive(label, key, self.free(buffer), rows, tiles)
        if home is None:
            for infeed in self._infeeds(label, key, turn):
                builder.infeed(infeed)
        else:
            kept = self._rows(self.layout.stay[key], self.layout.sets.rows_bytes(key))
            op = RingProduce(tiles=0, read=kept, to=tiles, channel=self.channel, wait=wait, layer=key.layer)
            builder.write(f"{label}.send", {home: op})
            builder.send(home, tiles, self.channel)

    def _receive(self, label: str, key: SetKey, free: Frees, rows: Traversal, tiles: int) -> None:
        by_wait = {
            wait: RingConsume(tiles=0, write=rows, channel=self.channel, wait=wait, produce="r", layer=key.layer)
            for wait in set(free)
        }
        consumes = {tile: by_wait[free[tile]] for tile in bits(tiles)}
        self.builder.write(f"{label}.receive", consumes)
        for tile in consumes:
            self.arrived[key, tile] = self.builder.count(tile, FLAGS[CONSUMERS[self.channel]])

    def free(self, buffer: StreamBuffer) -> Frees:
        """What each tile waits for until the bytes of a buffer are free: until its last tensorop is done that used what
        lies there, and until it has sent on what others get from there.
        """
        used = [self.used[other] for other in buffer.replaces if other in self.used]
        counts = np.maximum.reduce([self._nothing, *used]).T.tolist()
        passed_on = [self.passed_on[other] for other in buffer.replaces if other in self.passed_on]
        waits = {tuple(by_flag): self._waits(by_flag) for by_flag in counts}
        return [
            (*waits[tuple(by_flag)], *(watcher for of_set in passed_on for watcher in of_set.get(tile, ())))
            for tile, by_flag in enumerate(counts)
        ]

    def _waits(self, by_flag: Sequence[int]) -> tuple[Watcher, ...]:
        """For tensorops, until their flags have counted so far."""
        return tuple(self.builder.counted(flag, k) for flag, k in zip(TENSOR_FLAGS, by_flag, strict=True) if k)

    @property
    def channel(self) -> Channel:
        """The ring's last one: of two it is B, so that activations, on A, don't queue there behind parameters."""
        return channels_of(self.builder.topology)[-1]

    @property
    def _nothing(self) -> NDArray[np.int64]:
        return np.zeros((len(TENSOR_FLAGS), self.builder.topology.tiles), np.int64)

    def _infeeds(self, label: str, key: SetKey, turn: int) -> Iterator[Infeed]:
        """Once for all tiles, or a part for each of them; those of neighbours that follow each other in one."""
        row_bytes = self.layout.topology.wide_memory.row_bytes
        runs: list[list[DataRange]] = []
        for source in self._sources(key):
            if runs and runs[-1][-1].tiles << 1 == source.tiles:
                runs[-1].append(source)
            else:
                runs.append([source])
        for number, run in enumerate(runs):
            first = run[0]
            yield Infeed(
                source="data",
                rows=first.data.size // row_bytes,
                address=first.address,
                to=first.tiles,
                transfers=len(run),
                channel=self.channel,
                turn=turn,
                layer=key.layer,
                label=f"{label}.send{number}",
            )

    def _sources(self, key: SetKey) -> Iterator[DataRange]:
        """A set in data memory, for those who need it here: others may need an equal one."""
        to = self.layout.streams_to(key)
        return (replace(source, tiles=source.tiles & to) for source in self.layout.sources[key])

    def _rows(self, address: int, size_bytes: int) -> Traversal:
        row_bytes = self.layout.topology.wide_memory.row_bytes
        return wide_rows(address, size_bytes // row_bytes, row_bytes)
