"""What of the memories beside maps a program takes: where parameters stay, and which entries sums go to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.systolic.topology import Topology


@dataclass
class Storage:
    """Parameters, which the host brings first: bytes from address 0 on; what is kept twice is there once."""

    parts: list[NDArray[np.uint8]] = field(default_factory=list)
    size_bytes: int = 0
    _known: dict[bytes, int] = field(default_factory=dict)

    def keep(self, values: NDArray[Any]) -> int:
        """The address of some numbers."""
        data = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
        key = data.tobytes()
        if key not in self._known:
            self._known[key] = self.size_bytes
            self.parts.append(data)
            self.size_bytes += data.size
        return self._known[key]

    def data(self) -> NDArray[np.uint8]:
        """All of it."""
        return np.concatenate(self.parts) if self.parts else np.zeros(0, np.uint8)


@dataclass
class AccumulatorRing:
    """The next free one of ``entries``: round and round, so that the sums of one layer part can leave while the next
    ones come.
    """

    entries: int
    next: int = 0

    def take(self, vectors: int) -> int:
        """The first of so many entries in a row."""
        first = self.next if self.next + vectors <= self.entries else 0
        self.next = first + vectors
        return first


def chunk(vectors: int, portions: int, multiple: int, topology: Topology) -> int:
    """How many vectors make sums together: a multiple of ``multiple``.

    At most half of the entries, so that one half can leave while the other fills. What has several portions fetches
    all of them again for each half: it takes all entries if half of them last for less than a tile takes to come.
    """
    entries = topology.accumulators.entries
    most = entries // 2
    tile_cycles = max(int(topology.weight_tile_cycles), topology.array.inputs)
    if portions > 1 and most < vectors <= entries and -(-vectors // 2) < tile_cycles:
        most = entries
    most = max(multiple, most // multiple * multiple)
    parts = -(-vectors // most)
    length = -(-vectors // parts)
    return min(vectors, -(-length // multiple) * multiple)
