"""A memory's bytes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tilesim.errors import AccessError

Bytes = NDArray[np.uint8]


class Memory:
    """``size_bytes`` of storage for each sample of a run, zero at first.

    Several inputs may travel at once: sample s of the run lives in row s of ``bytes``, an array of (samples, size)
    uint8.
    """

    def __init__(self, name: str, size_bytes: int, samples: int = 1) -> None:
        self.name = name
        self.bytes: Bytes = np.zeros((samples, size_bytes), np.uint8)

    @property
    def size_bytes(self) -> int:
        return int(self.bytes.shape[1])

    def check(self, first: int, end: int) -> None:
        """Refuse addresses from ``first`` up to ``end`` that the memory does not have."""
        if first < 0 or end > self.size_bytes:
            raise AccessError(f"{self.name} has bytes 0 to {self.size_bytes - 1}, not {first} to {end - 1}")

    def row(self, address: int, width_bytes: int) -> Bytes:
        """Read at one address: (samples, width_bytes), a copy."""
        self.check(address, address + width_bytes)
        return self.bytes[:, address : address + width_bytes].copy()

    def write_row(self, address: int, row: Bytes) -> None:
        """Write (samples, width_bytes) at one address."""
        self.check(address, address + row.shape[1])
        self.bytes[:, address : address + row.shape[1]] = row

    def words(self, addresses: NDArray[np.int64], width_bytes: int) -> Bytes:
        """Read ``width_bytes`` at each address: (samples, *addresses.shape, width_bytes)."""
        packed, places = self._places(addresses, width_bytes)
        return np.take(packed, places, axis=1).view(np.uint8)

    def operands(self, addresses: NDArray[np.int64], width_bytes: int) -> Bytes:
        """Read like :meth:`words`; one sample stands for all where all samples read the same bytes."""
        found = self.words(addresses, width_bytes)
        return found[:1] if (found == found[:1]).all() else found

    def write_words(self, addresses: NDArray[np.int64], words: Bytes) -> None:
        """Write (samples, addresses, width_bytes); of two words at one address the later stays."""
        packed, places = self._places(addresses, words.shape[-1])
        packed[:, places] = np.ascontiguousarray(words).view(packed.dtype)

    def _places(self, addresses: NDArray[np.int64], width_bytes: int) -> tuple[NDArray[np.generic], NDArray[np.int64]]:
        """All bytes in the largest units that everything is aligned to, and which units each address stands for."""
        self.check(int(addresses.min()), int(addresses.max()) + width_bytes)
        aligned = int(np.bitwise_or.reduce(addresses, axis=None)) | width_bytes | self.size_bytes
        unit = aligned & -aligned
        places = addresses[..., None] // unit + np.arange(width_bytes // unit)
        return self.bytes.view(_word_type(unit)), places


def _word_type(width_bytes: int) -> np.dtype[np.generic]:
    """A type that NumPy moves whole words with."""
    return np.dtype(f"u{width_bytes}" if width_bytes in (1, 2, 4, 8) else f"V{width_bytes}")
