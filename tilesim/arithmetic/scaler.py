"""Requantisation with known parameters, prepared once: floating sums become bytes in a few passes, and no rounding is
left to chance.

:func:`tilesim.arithmetic.requantise.requantise` is the rule; what is here gives the same bytes, or says that it can't.

The rules ``double`` and ``single`` take a product of two integers, ``sum * mantissa``, whose unit is 2**-(31 + right)
of an output step. In such units all that they decide is on which side of a threshold the product lies, and all
thresholds are whole numbers of units. With y the exact quotient:

- ``single`` is floor(y + 1/2);
- ``double`` rounds first to 2**-right, half up, then to 1, half away from zero, which comes to floor(y + 1/2 + e) for
  y >= 0 and ceil(y - 1/2 - e) for y < 0, where e = 2**-(right + 1) and where, below 0, exact whole numbers go up by 1.

Half a unit more moves no product over a threshold, and leaves none on one. All terms are multiples of half a unit, so
that float64 holds products and sums exactly while they stay within 2**53 of those; that is made sure of for every sum
that the clamp doesn't decide, and beyond, multiplication and addition in floating point are still monotonic.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from tilesim.arithmetic.matmul import FLOAT32_EXACT, FLOAT64_EXACT
from tilesim.arithmetic.requantise import BELOW_HALF, wide_factor

BLOCK_ELEMENTS = 1 << 15
"""Elements handled at once: the float64 intermediates of a block stay in the processor's cache."""
CLAMPED = 512
"""More steps than any clamp of bytes leaves, the output's zero point taken off."""
DEEPEST = 12
"""The largest shift to the right whose half units float64 holds up to :data:`CLAMPED` steps."""

Floats = NDArray[np.float32] | NDArray[np.float64]
Doubles = NDArray[np.float64]


class Scaler(Struct, frozen=True, dict=True):
    """Turns sums (..., n) into output bytes: ``steps`` makes of a block, and of ``terms``, (n,) or (1,) each, the whole
    numbers within ``limits`` to which ``zero``, a byte, is added.
    """

    steps: Callable[..., NDArray[Any]]
    limits: tuple[float, float]
    zero: np.uint8
    terms: tuple[NDArray[Any], ...]

    @cached_property
    def _scale(self) -> Callable[[Floats], NDArray[Any]]:
        return partial(self.steps, *self.limits, *self.terms)

    def part(self, first: int, end: int) -> Scaler:
        """The same for the columns ``first`` to ``end`` alone."""
        return replace(self, terms=tuple(term[first:end] for term in self.terms))

    def __call__(self, sums: Floats) -> NDArray[np.uint8]:
        """Output bytes of whole numbers held in float32 or float64, whose last axis is that of the parameters."""
        if sums.size <= BLOCK_ELEMENTS:
            out = self._scale(sums).astype(np.uint8)
            return np.add(out, self.zero, out=out)
        rows = sums.reshape(-1, sums.shape[-1])
        out = np.empty(rows.shape, np.uint8)
        step = max(1, BLOCK_ELEMENTS // rows.shape[1])
        for start in range(0, len(rows), step):
            into = out[start : start + step]
            np.copyto(into, self._scale(rows[start : start + step]), casting="unsafe")
            np.add(into, self.zero, out=into)
        return out.reshape(sums.shape)


def scaler(
    rule: str,
    sums_bound: int,
    offsets: NDArray[np.int64],
    multiplier: NDArray[np.int32],
    shift: NDArray[np.int32],
    zero_point: int,
    clamp: tuple[int, ...],
) -> Scaler | None:
    """What requantises sums by fixed parameters, or None where it is not known to be exact.

    Args:
        rule: of :func:`~tilesim.arithmetic.requantise.requantise`.
        sums_bound: largest magnitude of a sum, all of which their type holds exactly.
        offsets: int64 (n,) or (1,), added to the sums before they are scaled, such as biases.
        multiplier: as :func:`~tilesim.arithmetic.requantise.requantise` takes it.
        shift: likewise.
        zero_point: of the output, added after scaling.
        clamp: smallest and largest output.
    """
    low, high = clamp
    limits, zero = (float(low - zero_point), float(high - zero_point)), np.uint8(zero_point % 256)
    if not 0 <= high - low <= 255 or max(map(abs, limits)) > 255:
        return None
    if rule in {"float", "wide"}:
        factor = multiplier.view(np.float32) if rule == "float" else wide_factor(multiplier, shift)
        largest = sums_bound + int(np.abs(offsets).max())
        if largest >= 1 << 31 or not np.isfinite(factor).all():
            return None
        # for float the sums with their offsets are rounded to float32 once, if at all
        start = offsets.astype(np.float32 if rule == "float" and largest <= FLOAT32_EXACT else np.float64)
        return Scaler(_float if rule == "float" else _wide, limits, zero, (start, factor))
    if rule in {"double", "single"} and _holds(sums_bound, offsets, multiplier, shift):
        return _in_units(rule, offsets, multiplier, shift, limits, zero)
    return None


def _in_units(
    rule: str,
    offsets: NDArray[np.int64],
    multiplier: NDArray[np.int32],
    shift: NDArray[np.int32],
    limits: tuple[float, float],
    zero: np.uint8,
) -> Scaler:
    right = -shift.astype(np.int64)
    factor = np.ldexp(multiplier.astype(np.float64), -31 - right)
    start = offsets * factor + np.ldexp(1.0, -32 - right)
    away = 0.5 + np.ldexp(1.0, -1 - right)
    low, high = limits
    if rule == "single":  # steps are counted from the clamp's lower end, so that none that stays is below 0
        return Scaler(_floor, (0.0, high - low), np.uint8((int(zero) + int(low)) % 256), (factor, start + (0.5 - low)))
    if low >= 0:  # what is below 0 needs no care where the clamp lifts it to 0 or more
        return Scaler(_floor, limits, zero, (factor, start + away))
    return Scaler(_double, limits, zero, (factor, start, away))


def _holds(
    sums_bound: int, offsets: NDArray[np.int64], multiplier: NDArray[np.int32], shift: NDArray[np.int32]
) -> bool:
    """Whether float64 holds, in half units, all that decides."""
    if multiplier.min() < 0 or shift.min() < -DEEPEST or shift.max() > -1:
        return False
    mantissa, offset = multiplier.astype(np.float64), np.abs(offsets).astype(np.float64)
    clamped = np.ldexp(float(CLAMPED), 32 - shift.astype(np.int64))  # in half units
    deciding = np.minimum(sums_bound, offset + clamped / (2 * np.maximum(mantissa, 1)) + 1)
    fits = (deciding * mantissa <= FLOAT64_EXACT) & (2 * offset * mantissa + 0.6 * clamped <= FLOAT64_EXACT)
    return bool(fits.all() and sums_bound + offset.max() < 1 << 31)


def _floor(lowest: float, highest: float, factor: Doubles, start: Doubles, sums: Floats) -> Doubles:
    """The bytes made of it lose its fractions: what the clamp leaves is at 0 or more."""
    steps = _product(factor, start, sums)
    return steps.clip(lowest, highest, out=steps)


def _double(
    lowest: float, highest: float, factor: Doubles, start: Doubles, away: Doubles, sums: Floats
) -> NDArray[np.int32]:
    steps = _product(factor, start, sums)
    np.add(steps, np.copysign(away, steps), out=steps)
    steps.clip(lowest, highest, out=steps)
    return steps.astype(np.int32)


def _product(factor: Doubles, start: Doubles, sums: Floats) -> Doubles:
    steps = sums.astype(np.float64)
    np.multiply(steps, factor, out=steps)
    np.add(steps, start, out=steps)
    return steps


def _float(
    lowest: float, highest: float, start: NDArray[Any], factor: NDArray[np.float32], sums: Floats
) -> NDArray[np.int32]:
    steps: NDArray[np.float32] = np.add(sums, start).astype(np.float32, copy=False)
    with np.errstate(over="ignore"):
        np.multiply(steps, factor, out=steps)
    steps.clip(lowest, highest, out=steps)
    np.rint(steps, out=steps)
    return steps.astype(np.int32)


def _wide(lowest: float, highest: float, start: Doubles, factor: Doubles, sums: Floats) -> NDArray[np.int32]:
    steps: Doubles = np.add(sums, start, dtype=np.float64)
    with np.errstate(over="ignore"):
        np.multiply(steps, factor, out=steps)
    steps.clip(lowest, highest, out=steps)
    np.add(steps, np.copysign(BELOW_HALF, steps), out=steps)
    return steps.astype(np.int32)
