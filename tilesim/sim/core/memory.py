"""A memory's bytes."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cache
from mmap import ACCESS_COPY, mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.errors import AccessError

Bytes = NDArray[np.uint8]


class Places:
    """Addresses of accesses of ``width_bytes`` each, in order, in the form in which memories are read and written."""

    def __init__(self, addresses: NDArray[np.int64], width_bytes: int) -> None:
        self.width_bytes = width_bytes
        self.lowest, self.end = (int(addresses.min()), int(addresses.max()) + width_bytes) if addresses.size else (0, 0)
        aligned = int(np.bitwise_or.reduce(addresses, axis=None)) | width_bytes
        self.unit_bytes = aligned & -aligned
        self.shape = addresses.shape
        first, several = addresses.reshape(-1) // self.unit_bytes, width_bytes // self.unit_bytes
        units = first if several == 1 else (first[:, None] + np.arange(several)).reshape(-1)
        in_one_run = units.size > 0 and bool((units[1:] - units[:-1] == 1).all())
        if in_one_run:
            self.unit_bytes = 1
        self.where: slice | NDArray[np.int64] = slice(self.lowest, self.end) if in_one_run else units
        """The units; in one run, if they are one, of bytes."""

    def __len__(self) -> int:
        return int(self.shape[0])

    def part(self, first: int, end: int) -> Places:
        """The accesses ``first`` to ``end`` of a list of them."""
        if end - first == self.shape[0]:
            return self
        several, part = self.width_bytes // self.unit_bytes, copy(self)
        first_unit, end_unit = first * several, end * several
        if isinstance(self.where, slice):
            part.where = slice(self.where.start + first_unit, self.where.start + end_unit)
        else:
            part.where = self.where[first_unit:end_unit]
        part.shape = (end - first,)
        return part


class Memory:
    """``size_bytes`` of storage for each sample of a run, zero at first, or the ``content`` that is given.

    Several inputs may travel at once: sample s of the run lives in row s of ``bytes``, an array of (samples, size)
    uint8. Content in several ``blocks`` has the samples of one after those of the other.
    """

    def __init__(self, name: str, size_bytes: int, samples: int = 1, content: Sequence[Bytes] = ()) -> None:
        self.name = name
        self.size_bytes = size_bytes
        self.blocks: Sequence[Bytes] = content or [zeros(samples, size_bytes)]
        self.samples = sum(len(block) for block in self.blocks)
        self._in_units: dict[int, list[NDArray[Any]]] = {}

    @property
    def bytes(self) -> Bytes:
        """Of a memory in one block."""
        [content] = self.blocks
        return content

    def check(self, first: int, end: int) -> None:
        """Refuse addresses from ``first`` up to ``end`` that the memory does not have."""
        if first < 0 or end > self.size_bytes:
            raise AccessError(f"{self.name} has bytes 0 to {self.size_bytes - 1}, not {first} to {end - 1}")

    def row(self, address: int, width_bytes: int) -> Bytes:
        """Read at one address: (samples, width_bytes), a copy."""
        self.check(address, address + width_bytes)
        return np.concatenate([block[:, address : address + width_bytes] for block in self.blocks])

    def write_row(self, address: int, row: Bytes) -> None:
        """Write (samples, width_bytes) at one address."""
        end = address + row.shape[1]
        self.check(address, end)
        self.bytes[:, address:end] = row

    def read(self, places: Places) -> Bytes:
        """What is at each of the places: (samples, *their shape, their width)."""
        packed, where = self._packed(places), places.where
        if isinstance(where, slice):
            parts = [block[:, where] for block in packed]
            words = parts[0].copy() if len(parts) == 1 else np.concatenate(parts)
        else:
            parts = [block.take(where, axis=1) for block in packed]
            words = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return words.view(np.uint8).reshape(len(words), *places.shape, places.width_bytes)

    def write(self, places: Places, words: Bytes) -> None:
        """Write (samples, *shape of the places, their width) bytes; of two words at one address the later stays."""
        data = np.ascontiguousarray(words).reshape(len(words), -1).view(_word_type(places.unit_bytes))
        first = 0
        for block in self._packed(places):
            block[:, places.where] = data if len(data) == 1 else data[first : first + len(block)]
            first += len(block)

    def copy(self, places: Places, target: Memory, to: Places) -> None:
        """Write what is at some places to those of a target, whose content is in like blocks."""
        source, goal = places.where, to.where
        if not (isinstance(source, slice) and isinstance(goal, slice)):
            target.write(to, self.read(places))
            return
        self.check(places.lowest, places.end)
        target.check(to.lowest, to.end)
        for block, other in zip(self.blocks, target.blocks, strict=True):
            other[:, goal] = block[:, source]

    def words(self, addresses: NDArray[np.int64], width_bytes: int) -> Bytes:
        """Read ``width_bytes`` at each address: (samples, *addresses.shape, width_bytes)."""
        return self.read(Places(addresses, width_bytes))

    def operands(self, addresses: NDArray[np.int64], width_bytes: int) -> Bytes:
        """Read like :meth:`words`; one sample stands for all where all samples read the same bytes."""
        words = self.words(addresses, width_bytes)
        return words[:1] if (words == words[:1]).all() else words

    def write_words(self, addresses: NDArray[np.int64], words: Bytes) -> None:
        """Write (samples, addresses, width_bytes); of two words at one address the later stays."""
        self.write(Places(addresses, words.shape[-1]), words)

    def _packed(self, places: Places) -> list[NDArray[Any]]:
        """All bytes of each block, in the units of the places."""
        self.check(places.lowest, places.end)
        unit_bytes = places.unit_bytes
        if unit_bytes not in self._in_units:
            whole = self.size_bytes - self.size_bytes % unit_bytes
            self._in_units[unit_bytes] = [block[:, :whole].view(_word_type(unit_bytes)) for block in self.blocks]
        return self._in_units[unit_bytes]


def joined(parts: Sequence[Bytes]) -> Bytes:
    """Parts, (samples or 1, rows or bytes, ...) each, one after the other; what is there once is all samples'."""
    if len(parts) == 1:
        return parts[0]
    samples = max(len(part) for part in parts)
    return np.concatenate([np.broadcast_to(part, (samples, *part.shape[1:])) for part in parts], axis=1)


def zeros(samples: int, size_bytes: int) -> Bytes:
    """Pages straight from the system: they take neither time nor space before they are used, as most never are."""
    try:
        content = mmap(-1, samples * size_bytes, access=ACCESS_COPY)
    except OSError:
        raise MemoryError(f"a chip's memory of {size_bytes} bytes is there for each of {samples} samples") from None
    return np.frombuffer(content, np.uint8).reshape(samples, size_bytes)


@cache
def _word_type(width_bytes: int) -> np.dtype[np.generic]:
    """A type that NumPy moves whole words with."""
    return np.dtype(f"u{width_bytes}" if width_bytes in (1, 2, 4, 8) else f"V{width_bytes}")
