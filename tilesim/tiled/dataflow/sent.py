"""What left a memory for the mesh or the ring, until somebody takes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tilesim.sim.core.memory import Bytes
from tilesim.tiled.isa.model.fields import bits


class Sent:
    """By instruction, [tiles, samples, bytes]: registers and links on the way hold it."""

    def __init__(self, samples: int) -> None:
        self.samples = samples
        self._data: dict[int, Bytes] = {}
        self._rows: dict[int, Mapping[int, int]] = {}
        self._by_mask: dict[int, Mapping[int, int]] = {}

    def put(self, place: int, mask: int, tiles: Sequence[int], first: int, count: int, data: Bytes) -> None:
        """Accesses from ``first`` on of the instruction at ``place``, which makes ``count`` of them on each tile of a
        ``mask``, have read ``data``, (tiles × samples, accesses, bytes).
        """
        start, size = first * data.shape[2], count * data.shape[2]
        data = data.reshape(len(tiles), self.samples, -1)
        if place not in self._data:
            self._rows[place] = self._rows_of(mask)
            if (len(tiles), data.shape[2]) == (len(self._rows[place]), size):
                self._data[place] = data
                return
            self._data[place] = np.zeros((len(self._rows[place]), self.samples, size), np.uint8)
        numbers = [self._rows[place][tile] for tile in tiles]
        self._data[place][numbers, :, start : start + data.shape[2]] = data

    def of(self, place: int, tiles: Sequence[int]) -> Bytes:
        """What the instruction has sent from some tiles, [tiles, samples, bytes]; to be read only."""
        data, numbers = self._data[place], [self._rows[place][tile] for tile in tiles]
        first, count = numbers[0], len(numbers)
        return data[first : first + count] if numbers == [*range(first, first + count)] else data[numbers]

    def _rows_of(self, mask: int) -> Mapping[int, int]:
        """The row of each tile of a mask, of which there are few."""
        if mask not in self._by_mask:
            self._by_mask[mask] = {tile: row for row, tile in enumerate(bits(mask))}
        return self._by_mask[mask]
