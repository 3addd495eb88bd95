"""Which entries of the accumulators sums go to: round and round, so that those of one layer part can leave while the
next ones come.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilesim.systolic.topology import Topology


@dataclass
class AccumulatorRing:
    """The next free one of ``entries``."""

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
    if portions > 1 and most < vectors <= entries and -(-vectors // 2) < _tile_cycles(topology):
        most = entries
    most = max(multiple, most // multiple * multiple)
    parts = -(-vectors // most)
    length = -(-vectors // parts)
    return min(vectors, -(-length // multiple) * multiple)


def _tile_cycles(topology: Topology) -> int:
    return max(int(topology.weight_tile_cycles), topology.array.inputs)
