"""Make the data of ``workloads/rotating/claim.tasm``, ``claim.npz`` beside it: rows of words as the claim has them.

Input and filters are formulas, so that others can repeat them. A weight stands P times, in each block of its filter; a
block meets another channel than its neighbour does, so weights of a row differ in their channel.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.files import write_npz

HERE = Path(__file__).resolve().parent.parent / "workloads" / "rotating" / "claim.npz"
Array = NDArray[Any]
UNITS, BLOCK = 8, 4
"""N and B of the claim."""
SIZE, FILTER, CHANNELS, FILTERS = 3, 2, 2, 2
"""H and W, R and S, C, F."""
BLOCKS = UNITS // BLOCK
OUTPUTS = SIZE - FILTER + 1
"""P and Q."""


def inputs() -> Array:
    """(H, W, C)"""
    y, x, c = np.ogrid[:SIZE, :SIZE, :CHANNELS]
    return np.asarray((7 * y + 3 * x + 5 * c + 1) % 13 - 6)


def filters() -> Array:
    """(F, R, S, C)"""
    f, r, s, c = np.ogrid[:FILTERS, :FILTER, :FILTER, :CHANNELS]
    return np.asarray((5 * f + 3 * r + 2 * s + 7 * c + 2) % 11 - 5)


def lines() -> Array:
    """The rows (H, N) of the data RAM: a block a channel."""
    rows = np.zeros((SIZE, BLOCKS, BLOCK), np.int8)
    rows[:, :, :SIZE] = inputs().transpose(0, 2, 1)
    return rows.reshape(SIZE, UNITS)


def weights() -> Array:
    """The rows (R x C x S, N) of the weight RAM, in the order in which steps read them.

    Words rotate upwards. So block g has met block g - c after c times B words, and the last column comes first.
    """
    rows = np.zeros((FILTER, CHANNELS, FILTER, UNITS), np.int8)
    for r, step, column, g in np.ndindex(FILTER, CHANNELS, FILTER, FILTERS):
        weight = filters()[g, r, FILTER - 1 - column, (g - step) % BLOCKS]
        places = FILTER - 1 + g * BLOCK + np.arange(OUTPUTS)
        rows[r, step, column, places] = weight
    return rows.reshape(-1, UNITS)


def parameters() -> Array:
    """The rows (9, N) of bias 0, multiplier 2**30 and shift 1, byte by byte: sums stay as they are."""
    one = np.array([0, 1 << 30], "<i4").tobytes() + bytes([1])
    return np.repeat(np.frombuffer(one, np.uint8)[:, None], UNITS, axis=1)


def segments() -> dict[str, NDArray[np.uint8]]:
    """What the program's data are, by name."""
    rows = {"input": lines(), "weights": weights(), "parameters": parameters()}
    return {name: np.ascontiguousarray(words).view(np.uint8).reshape(-1) for name, words in rows.items()}


if __name__ == "__main__":
    write_npz(HERE, segments())
