"""A ring consumer's byte filter: packs what it keeps of a stream of rows into rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tilesim.sim.core.memory import Bytes
from tilesim.tiled.isa.model.fields import ByteFilter


class ByteFilterUnit:
    """The bytes that are kept and not yet in a complete row; rows beyond ``rows`` are dropped."""

    def __init__(self, kept: ByteFilter, rows: int, samples: int, row_bytes: int) -> None:
        self._kept = kept
        self._rows = rows
        self._row_bytes = row_bytes
        self._taken = 0
        self._loose: Bytes = np.zeros((samples, 0), np.uint8)

    def take(self, row: Bytes) -> None:
        """The next row of the stream, (samples or 1, row bytes)."""
        if self._rows:
            picked = row if self._kept.whole else row[:, self._places()]
            both = [self._loose, np.broadcast_to(picked, (len(self._loose), picked.shape[1]))]
            self._loose = np.concatenate(both, axis=1) if self._loose.size else both[1]
        self._taken += 1

    def packed(self) -> Bytes:
        """The next row, (samples, row bytes), ending in zeros if it is not full."""
        row, self._loose = self._loose[:, : self._row_bytes], self._loose[:, self._row_bytes :]
        self._rows -= 1
        short = self._row_bytes - row.shape[1]
        return np.pad(row, [(0, 0), (0, short)]) if short else row

    def _places(self) -> NDArray[np.bool_]:
        """Which bytes of the next row of the stream are kept."""
        offsets = np.arange(self._row_bytes) + self._taken * self._row_bytes - self._kept.first
        places: NDArray[np.bool_] = (offsets >= 0) & (offsets % (self._kept.keep + self._kept.gap) < self._kept.keep)
        return places
