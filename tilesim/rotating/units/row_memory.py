"""A RAM of rows, and who uses its port in which cycle."""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import Literal

import numpy as np

from tilesim.sim.core.memory import Bytes


class RowMemory:
    """Rows of bytes of each sample, (samples, rows, row bytes), zero at first.

    Units say in which cycles they ``read`` and ``write``, those of higher priority first; the array is told afterwards
    which cycles were not its own. With one port an access keeps all others out, with two a read only reads, and a write
    only writes. So whoever comes earlier may meet somebody whom they would have missed: a faster host, a shorter
    latency or more buffers can make a program slower, by few cycles.
    """

    def __init__(self, name: str, rows: int, row_bytes: int, ports: Literal["single", "dual"], samples: int) -> None:
        self.name = name
        self.rows: Bytes = np.zeros((samples, rows, row_bytes), np.uint8)
        self._reads: list[int] = []
        self._writes: list[int] = self._reads if ports == "single" else []

    def row(self, number: int) -> Bytes:
        """(samples, row bytes), a view."""
        return self.rows[:, number]

    def use_for_reading(self, cycle: int) -> None:
        insort(self._reads, cycle)

    def use_for_writing(self, cycle: int) -> None:
        insort(self._writes, cycle)

    def may_read(self, cycle: int) -> bool:
        """Whether nobody has said that they use what a read in ``cycle`` needs."""
        return not _has(self._reads, cycle)

    def may_write(self, cycle: int) -> bool:
        return not _has(self._writes, cycle)

    def kept_from_reading(self, begin: int, end: int) -> list[int]:
        """The cycles from ``begin`` up to ``end`` in which others use what a read needs."""
        if not self._reads or self._reads[-1] < begin:
            return []
        return self._reads[bisect_left(self._reads, begin) : bisect_left(self._reads, end)]


def _has(cycles: list[int], cycle: int) -> bool:
    place = bisect_left(cycles, cycle)
    return place < len(cycles) and cycles[place] == cycle
