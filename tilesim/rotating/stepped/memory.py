"""The RAMs and their ports."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tilesim.errors import AccessError

Bytes = NDArray[np.uint8]
Words = NDArray[np.int64]
"""Words of a row, as numbers from 0 on, whatever their sign."""


class Ram:
    """Rows of bytes, zero at first. Who asks first in a cycle gets its port: units are asked by their priority.

    Timing: a read sees the rows as they are at the start of the cycle, a write is seen from the next one on. With a
    ``single`` port there is one access a cycle, with ``dual`` ones a read and a write.
    """

    def __init__(self, name: str, rows: int, row_bytes: int, ports: Literal["single", "dual"]) -> None:
        self.name = name
        self.rows: Bytes = np.zeros((rows, row_bytes), np.uint8)
        self._shares = ports == "dual"
        self._is_read = False
        self._write: tuple[int, Bytes] | None = None

    @property
    def can_read(self) -> bool:
        return not self._is_read and (self._shares or self._write is None)

    @property
    def can_write(self) -> bool:
        return self._write is None and (self._shares or not self._is_read)

    @property
    def is_written(self) -> bool:
        """Whether somebody has written a row in this cycle."""
        return self._write is not None

    def read(self, row: int) -> Bytes:
        """Take the port and read a row."""
        assert self.can_read
        self._is_read = True
        return self.peek(row)

    def peek(self, row: int) -> Bytes:
        """A row, without a port."""
        self._check(row)
        return np.array(self.rows[row])

    def write(self, row: int, data: Bytes) -> None:
        """Take the port and write a row."""
        assert self.can_write
        self._check(row)
        self._write = (row, data)

    def commit(self) -> None:
        """The cycle ends."""
        if self._write is not None:
            row, data = self._write
            self.rows[row] = data
        self._is_read, self._write = False, None

    def _check(self, row: int) -> None:
        if not 0 <= row < len(self.rows):
            raise AccessError(f"{self.name} must be accessed at a row from 0 to {len(self.rows) - 1}, not {row}")


def words_of(row: Bytes, word_bits: int) -> Words:
    """The words of a row, without their sign."""
    return row.view(_word(word_bits)).astype(np.int64)


def bytes_of(words: Words, word_bits: int) -> Bytes:
    """The row of such words; of a word that is longer, its lowest bits."""
    return (words & ((1 << word_bits) - 1)).astype(_word(word_bits)).view(np.uint8)


def with_sign(words: Words, word_bits: int) -> Words:
    """The words as numbers below and above zero."""
    half = 1 << (word_bits - 1)
    return np.asarray((words & ((1 << word_bits) - 1)) - 2 * (words & half))


def _word(word_bits: int) -> np.dtype[Any]:
    return np.dtype("<u2" if word_bits == 16 else "u1")
