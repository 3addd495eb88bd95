"""A ring consumer's byte filter: packs what it keeps of a stream of rows into rows."""

from __future__ import annotations

import numpy as np

from tilesim.tiled.isa.model.fields import ByteFilter
from tilesim.tiled.stepped.memory import Bytes


class ByteFilterUnit:
    """Takes rows one after the other and packs the bytes that ``kept`` keeps of them into ``rows`` rows.

    The last row need not be full: it is complete, with zeros, once the stream has brought the last byte that is kept.
    """

    def __init__(self, kept: ByteFilter, rows: int, row_bytes: int) -> None:
        self.rows_to_take = kept.rows
        self._kept = kept
        self._rows_to_pack = rows
        self._row_bytes = row_bytes
        self._taken = 0
        self._packed = np.zeros(0, np.uint8)
        self._all_bytes = kept.kept(kept.rows * row_bytes)

    @property
    def owes(self) -> int:
        """Rows that are complete and not yet fetched."""
        return self._complete(self._taken)

    def completes(self) -> bool:
        """Whether the next row of the stream makes a row complete."""
        return self._complete(self._taken + 1) > 0

    def _complete(self, taken: int) -> int:
        kept_bytes = self._kept.kept(taken * self._row_bytes)
        fetched_bytes = self._kept.kept(self._taken * self._row_bytes) - len(self._packed)
        complete = (kept_bytes - fetched_bytes) // self._row_bytes
        if kept_bytes == self._all_bytes and kept_bytes - fetched_bytes > complete * self._row_bytes:
            complete += 1
        return min(complete, self._rows_to_pack)

    def take(self, row: Bytes) -> None:
        """The next row of the stream."""
        place = np.arange(self._row_bytes) + self._taken * self._row_bytes - self._kept.first
        keeps = (place >= 0) & (place % (self._kept.keep + self._kept.gap) < self._kept.keep)
        self._packed = np.concatenate([self._packed, row[keeps]])
        self._taken += 1
        self.rows_to_take -= 1

    def fetch(self) -> Bytes:
        """The first row that is complete."""
        self._rows_to_pack -= 1
        row = np.zeros(self._row_bytes, np.uint8)
        part, self._packed = self._packed[: self._row_bytes], self._packed[self._row_bytes :]
        row[: len(part)] = part
        return row
