"""Sets of tiles as rows of an array, where there are many."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray


def tile_rows(bitmaps: Iterable[int], tiles: int) -> NDArray[np.bool_]:
    """For each bitmap a row that says of each of so many tiles whether it is in it."""
    every, size = (1 << tiles) - 1, -(-tiles // 8)
    content = b"".join((bitmap & every).to_bytes(size, "little") for bitmap in bitmaps)
    parts = np.frombuffer(content, np.uint8).reshape(-1, size)
    return np.unpackbits(parts, axis=1, count=tiles, bitorder="little").view(np.bool_)
