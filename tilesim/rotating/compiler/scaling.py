"""Factors as the output unit has room for them: a multiplier of 32 bits and a shift of 8.

The rule ``wide`` has a factor of 64 bits. What it makes of sums rises with them, so it is known by the least sum of
each result: a factor of another rule with the same ones gives the same results.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.requantise import quantise_multiplier, requantise, wide_factor

Integers = NDArray[np.int32]
LEAST, MOST = -(1 << 31), (1 << 31) - 1
NEAR = (0, 1, -1, 2, -2)
"""Multipliers that are tried, from the nearest."""


class Scaling(NamedTuple):
    """A ``rule`` with factors for each channel, of which each is the least that it can be."""

    rule: str
    multiplier: Integers
    shift: Integers


def narrow(scaling: Scaling, results: tuple[int, int]) -> Scaling | None:
    """A scaling that has room, and makes the same of every sum, between the least and the most of ``results``; None if
    there is none.
    """
    if scaling.rule != "wide":
        return scaling
    pairs, channels = np.unique(np.stack([scaling.multiplier, scaling.shift]), axis=1, return_inverse=True)
    low, high = max(results[0], -1 << 16), min(results[1], 1 << 16)
    same = [_same(pair, low, high) for pair in pairs.T]
    if any(one is None for one in same):
        return None
    factors = np.array(same, np.int32)[channels.reshape(-1)]
    return Scaling("single", factors[:, 0].copy(), factors[:, 1].copy())


def _same(pair: Integers, low: int, high: int) -> tuple[int, int] | None:
    factor = float(wide_factor(pair[:1], pair[1:])[0])
    if not 0 < factor < 1:
        return None
    levels = np.arange(low + 1, high + 1)
    wanted = _least_sums("wide", int(pair[0]), int(pair[1]), levels)
    mantissa, shift = quantise_multiplier(factor)
    for more in NEAR:
        if mantissa + more <= MOST and (_least_sums("single", mantissa + more, shift, levels) == wanted).all():
            return mantissa + more, shift
    return None


def _least_sums(rule: str, multiplier: int, shift: int, levels: NDArray[Any]) -> NDArray[np.int64]:
    """The least sum that makes each of the ``levels`` or more, one beyond the most if none does."""
    low, high = np.full(levels.shape, LEAST, np.int64), np.full(levels.shape, MOST + 1, np.int64)
    factors = np.array([multiplier], np.int32), np.array([shift], np.int32)
    while (low < high).any():
        middle = (low + high) >> 1
        made = requantise(rule, np.minimum(middle, MOST).astype(np.int32), *factors) >= levels
        high, low = np.where(made, middle, high), np.where(made, low, np.minimum(middle + 1, high))
    return low
