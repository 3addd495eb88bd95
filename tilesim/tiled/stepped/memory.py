"""A memory's bytes, and the ports through which a tile's units reach them."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tilesim.errors import AccessError
from tilesim.tiled.topology import Topology

Bytes = NDArray[np.uint8]


class Touch(NamedTuple):
    """Bytes of a memory that were read or written, in a ``cycle`` of the section, which who hears of it adds."""

    memory: str
    address: int
    width_bytes: int
    writes: bool
    cycle: int = 0


Hear = Callable[[Touch], None]


class Memory:
    """``size_bytes`` of storage, zero at first; ``hear`` is told of every access."""

    hear: Hear | None = None

    def __init__(self, name: str, size_bytes: int) -> None:
        self.name = name
        self._bytes = np.zeros(size_bytes, np.uint8)

    def told_to(self, name: str, hear: Hear) -> Memory:
        """The same bytes, with somebody who hears of accesses to the memory ``name``."""
        seen = copy(self)
        seen.name, seen.hear = name, hear
        return seen

    def read(self, address: int, width_bytes: int) -> Bytes:
        self._check(address, width_bytes)
        if self.hear is not None:
            self.hear(Touch(self.name, address, width_bytes, writes=False))
        return self._bytes[address : address + width_bytes].copy()

    def write(self, address: int, data: Bytes) -> None:
        self._check(address, len(data))
        if self.hear is not None:
            self.hear(Touch(self.name, address, len(data), writes=True))
        self._bytes[address : address + len(data)] = data

    def _check(self, address: int, width_bytes: int) -> None:
        if address < 0 or address + width_bytes > len(self._bytes):
            raise AccessError(f"{self.name} must be accessed below {len(self._bytes)}, not at {address}")


class Port:
    """``capacity`` accesses a cycle. Who asks first in a cycle gets one: units are asked by their priority."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._taken = 0

    @property
    def free(self) -> bool:
        return self._taken < self.capacity

    def take(self) -> bool:
        """Take an access, if one is left; whether it was."""
        granted = self.free
        self._taken += granted
        return granted

    def commit(self) -> None:
        """The cycle ends."""
        self._taken = 0


class Memories:
    """A tile's memories. Wide memory has one port for reads and writes (or two), narrow memory one of each."""

    def __init__(self, tile: int, topology: Topology) -> None:
        self.narrow = Memory(f"chip.tile{tile}.narrow", topology.narrow_memory.size_bytes)
        self.wide = Memory(f"chip.tile{tile}.wide", topology.wide_memory.size_bytes)
        self.word_bytes = topology.narrow_memory.word_bytes
        self.row_bytes = topology.wide_memory.row_bytes
        self.sums_bytes = 4 * topology.tile.lanes
        self.wide_port = Port(topology.wide_memory.ports)
        self.narrow_read = Port(1)
        self.narrow_write = Port(1)

    def told_to(self, hear: Hear) -> Memories:
        """The same memories and ports, with somebody who hears of accesses."""
        seen = copy(self)
        seen.narrow, seen.wide = self.narrow.told_to("narrow", hear), self.wide.told_to("wide", hear)
        return seen

    def commit(self) -> None:
        """The cycle ends."""
        self.wide_port.commit()
        self.narrow_read.commit()
        self.narrow_write.commit()
