"""What lies where in wide memory: the reserve, the parameters, and rows through which activations come and go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.errors import CapacityError
from tilesim.tiled.compiler.rows import wide_rows
from tilesim.tiled.isa.instructions import Infeed, Instruction, RingConsume
from tilesim.tiled.isa.program import DataSegment, Region
from tilesim.tiled.topology import Topology
from tilesim.units import format_bytes

Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class Parameters:
    """A layer's ``weights`` or ``parameters``. Titles may repeat; the layer's number tells."""

    layer: int
    title: str
    part: str


@dataclass(frozen=True)
class _Chunk:
    """Parameters that lie at ``address`` in each of ``tiles`` (a bitmap)."""

    tiles: int
    address: int
    data: Bytes

    def continues(self, other: _Chunk) -> bool:
        return self.tiles == other.tiles and self.address == other.address + other.data.size


class WideLayout:
    """The tiles' wide memories, filled from the bottom, alike in all tiles: first all parameters, then all staging
    rows. Tiles with different parts of a layer's parameters have them at the same addresses.
    """

    def __init__(self, network: str, topology: Topology) -> None:
        self._network = network
        self._topology = topology
        self._row_bytes = topology.wide_memory.row_bytes
        self._end = topology.wide_memory.reserve_bytes
        self._places: dict[Parameters, tuple[int, int]] = {}
        self._chunks: dict[tuple[Parameters, int], _Chunk] = {}
        self._staging: list[Region] = []

    def keep(self, what: Parameters, tiles: int, make: Callable[[], NDArray[Any]]) -> int:
        """The address of a layer's parameters for some tiles, whole rows; other tiles' come to the same address, the
        longest first.

        Raises:
            CapacityError: they do not fit.
        """
        if (what, tiles) not in self._chunks:
            raw = np.ascontiguousarray(make()).reshape(-1).view(np.uint8)
            data = np.pad(raw, (0, -raw.size % self._row_bytes))
            if what not in self._places:
                self._places[what] = (self._take(f"parameters of layer {what.title}", data.size), data.size)
            address, size = self._places[what]
            if data.size > size:
                raise AssertionError(f"{what}: {data.size} bytes after only {size}")
            self._chunks[what, tiles] = _Chunk(tiles, address, data)
        return self._places[what][0]

    def stage(self, name: str, rows: int, tiles: int) -> int:
        """The address of rows for a tensor that crosses the ring.

        Raises:
            CapacityError: they do not fit.
        """
        size = rows * self._row_bytes
        address = self._take(f"tensor {name} on its way over the ring", size)
        self._staging.append(Region("staging", "wide", tiles, address, size))
        return address

    def load(self) -> tuple[Instruction, ...]:
        """The program that brings the parameters here from data memory: once to all tiles that want the same."""
        found: list[Instruction] = []
        position = 0
        for number, chunk in enumerate(self._joined()):
            rows = chunk.data.size // self._row_bytes
            target = wide_rows(chunk.address, rows, self._row_bytes)
            name = f"parameters{number}"
            found.append(RingConsume(tiles=chunk.tiles, write=target, produce="r", label=f"{name}.receive"))
            found.append(Infeed(source="data", rows=rows, address=position, to=chunk.tiles, label=f"{name}.send"))
            position += chunk.data.size
        return tuple(found)

    def data(self) -> tuple[DataSegment, ...]:
        """The parameters as they stand in data memory.

        Raises:
            CapacityError: they do not fit.
        """
        chunks = self._joined()
        size, capacity = sum(chunk.data.size for chunk in chunks), self._topology.data_memory.size_bytes
        if size > capacity:
            raise CapacityError(
                f"{self._network}: its parameters must fit the data memory of {self._topology.name}: "
                f"{format_bytes(size)} are needed, of {format_bytes(capacity)}"
            )
        return (DataSegment("parameters", 0, np.concatenate([chunk.data for chunk in chunks])),) if chunks else ()

    def regions(self) -> list[Region]:
        parameters = [
            Region("parameters", "wide", chunk.tiles, chunk.address, chunk.data.size) for chunk in self._joined()
        ]
        return [*parameters, *self._staging]

    def _joined(self) -> list[_Chunk]:
        """What goes to the same tiles at addresses that follow each other, in one."""
        return _join(list(self._chunks.values()))

    def _take(self, what: str, size: int) -> int:
        capacity = self._topology.wide_memory.size_bytes
        if self._end + size > capacity:
            raise CapacityError(
                f"{self._network}: {what} must fit the wide memory of {self._topology.name}: {format_bytes(size)} are "
                f"needed, {format_bytes(capacity - self._end)} of {format_bytes(capacity)} are free"
            )
        address, self._end = self._end, self._end + size
        return address


def _join(chunks: list[_Chunk]) -> list[_Chunk]:
    runs: list[list[_Chunk]] = []
    for chunk in chunks:
        last = runs[-1][-1] if runs else None
        if last is not None and chunk.continues(last):
            runs[-1].append(chunk)
        else:
            runs.append([chunk])
    return [_Chunk(run[0].tiles, run[0].address, np.concatenate([chunk.data for chunk in run])) for run in runs]
