"""Who must have sent how much for what instructions take over the ring and the mesh."""

from __future__ import annotations

import numpy as np

from tilesim.ragged import ranges
from tilesim.tiled.flat.tables import Numbers

COLUMNS = ("place", "tile", "own", "sender", "its_tile", "row", "count", "taken_bytes", "sent_bytes")
"""An instruction takes on a tile, as its iterations from ``own`` on, those of a sender on its tile from ``row`` on,
``count`` at most; of so many bytes each.
"""
ALL = 1 << 40
"""More iterations than an instruction has."""


class Senders:
    """Who sends what others take: rows of :data:`COLUMNS`, on a chip of so many ``tiles``."""

    def __init__(self, rows: Numbers, tiles: int) -> None:
        self.tiles = tiles
        keys = rows[:, 0] * tiles + rows[:, 1]
        order = np.argsort(keys, kind="stable")
        self._keys = keys[order]
        self.rows = rows[order]
        """By instruction and tile."""
        self._takers = {*rows[:, 0].tolist()}

    def needs(self, place: Numbers, tile: Numbers, end: Numbers) -> Numbers:
        """What must have been sent for the iterations of instructions on tiles up to an ``end``, all (n,): of which of
        these, a sender, its tile, and up to which iteration, a row each.
        """
        keys = place * self.tiles + tile
        first = np.searchsorted(self._keys, keys)
        counts = np.searchsorted(self._keys, keys, "right") - first
        which = np.repeat(np.arange(len(keys)), counts)
        rows = ranges(first, counts)
        _, _, own, sender, its_tile, row, count, taken_bytes, sent_bytes = self.rows[rows].T
        takes = end[which] - own
        last = row - np.minimum(count, takes) * taken_bytes // -sent_bytes
        needs: Numbers = np.stack([which, sender, its_tile, last], axis=1)[takes > 0]
        return needs

    def needs_of(self, place: int, tile: int, end: int) -> list[list[int]]:
        """The same of one instruction on a tile: a sender, its tile, and up to which iteration, each."""
        if place not in self._takers:
            return []
        needs: list[list[int]] = self.needs(*np.array([[place], [tile], [end]]))[:, 1:].tolist()
        return needs
