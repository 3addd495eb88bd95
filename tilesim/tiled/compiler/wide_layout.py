"""What lies where in wide memory: the reserve, the parameters, and rows through which activations come and go."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.errors import CapacityError
from tilesim.tiled.compiler.rows import wide_rows
from tilesim.tiled.isa.fields import Traversal
from tilesim.tiled.isa.instructions import Infeed, Instruction, RingConsume
from tilesim.tiled.isa.program import DataSegment, Region
from tilesim.tiled.topology import Topology
from tilesim.units import format_bytes

Bytes = NDArray[np.uint8]


class WideLayout:
    """Wide memory of ``tiles`` (a bitmap), filled from the bottom: first all parameters, then all staging rows."""

    def __init__(self, network: str, topology: Topology, tiles: int) -> None:
        self._network = network
        self._topology = topology
        self._tiles = tiles
        self._row_bytes = topology.wide_memory.row_bytes
        self._start = self._end = topology.wide_memory.reserve_bytes
        self._chunks: list[Bytes] = []
        self.regions: list[Region] = []

    def keep(self, layer: str, data: NDArray[Any]) -> int:
        """A place for some of a layer's parameters, whole rows; its address.

        Raises:
            CapacityError: they do not fit.
        """
        raw = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
        self._chunks.append(np.pad(raw, (0, -raw.size % self._row_bytes)))
        return self._take(f"parameters of layer {layer}", "parameters", self._chunks[-1].size)

    def stage(self, name: str, rows: int) -> Traversal:
        """Rows for a tensor that crosses the ring.

        Raises:
            CapacityError: they do not fit.
        """
        address = self._take(f"tensor {name} on its way over the ring", "staging", rows * self._row_bytes)
        return wide_rows(address, rows, self._row_bytes)

    def load(self) -> tuple[Instruction, ...]:
        """The program that brings the parameters here from data memory."""
        rows = sum(chunk.size for chunk in self._chunks) // self._row_bytes
        if not rows:
            return ()
        target = wide_rows(self._start, rows, self._row_bytes)
        return (
            RingConsume(tiles=self._tiles, write=target, produce="r", label="keep_parameters"),
            Infeed(source="data", rows=rows, to=self._tiles, label="send_parameters"),
        )

    def data(self) -> tuple[DataSegment, ...]:
        """The parameters as they stand in data memory."""
        return (DataSegment("parameters", 0, np.concatenate(self._chunks)),) if self._chunks else ()

    def _take(self, what: str, region: str, size: int) -> int:
        capacity = self._topology.wide_memory.size_bytes
        if self._end + size > capacity:
            raise CapacityError(
                f"{self._network}: {what} must fit the wide memory of {self._topology.name}: {format_bytes(size)} are "
                f"needed, {format_bytes(capacity - self._end)} of {format_bytes(capacity)} are free"
            )
        address, self._end = self._end, self._end + size
        self._add_region(region, address, size)
        return address

    def _add_region(self, name: str, address: int, size: int) -> None:
        """The load program writes all parameters in one go, so that they are one region."""
        last = self.regions[-1] if self.regions else None
        if name == "parameters" and last is not None:
            address, size = last.address, last.bytes + size
            self.regions.pop()
        self.regions.append(Region(name, "wide", self._tiles, address, size))
