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
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
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
Scale = Callable[[Floats, NDArray[np.uint8]], None]


@dataclass(frozen=True)
class Scaler:
    """Turns sums (..., n) into output bytes; ``make(*terms)`` makes what does it for a block, into given bytes, of the
    terms, (n,) or (1,) each.
    """

    make: Callable[..., Scale]
    terms: tuple[NDArray[Any], ...]

    @cached_property
    def scale(self) -> Scale:
        return self.make(*self.terms)

    def part(self, first: int, end: int) -> Scaler:
        """The same for the columns ``first`` to ``end`` alone."""
        return Scaler(self.make, tuple(term[first:end] for term in self.terms))

    def __call__(self, sums: Floats) -> NDArray[np.uint8]:
        """Output bytes of whole numbers held in float32 or float64, whose last axis is that of the parameters."""
        out = np.empty(sums.shape, np.uint8)
        if sums.size <= BLOCK_ELEMENTS:
            self.scale(sums, out)
            return out
        rows, into = sums.reshape(-1, sums.shape[-1]), out.reshape(-1, sums.shape[-1])
        step = max(1, BLOCK_ELEMENTS // rows.shape[1])
        for start in range(0, len(rows), step):
            self.scale(rows[start : start + step], into[start : start + step])
        return out


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
    if not 0 <= high - low <= 255 or max(abs(low - zero_point), abs(high - zero_point)) > 255:
        return None
    if rule == "float":
        return _real(sums_bound, offsets, multiplier.view(np.float32), zero_point, low, high)
    if rule == "wide":
        return _wide(sums_bound, offsets, wide_factor(multiplier, shift), zero_point, low, high)
    if rule not in _AWAY or not _holds(sums_bound, offsets, multiplier, shift):
        return None
    right = -shift.astype(np.int64)
    factor = np.ldexp(multiplier.astype(np.float64), -31 - right)
    half_unit = np.ldexp(1.0, -32 - right)
    start = offsets * factor + half_unit
    return _AWAY[rule](factor, start, 0.5 + np.ldexp(1.0, -1 - right), zero_point, low, high)


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


def _double(
    factor: NDArray[Any], start: NDArray[Any], away: NDArray[Any], zero_point: int, low: int, high: int
) -> Scaler:
    """What is below 0 needs no care where the clamp lifts it to 0 or more."""
    lowest, highest, zero = float(low - zero_point), float(high - zero_point), np.uint8(zero_point % 256)
    if lowest >= 0:
        return _floor(factor, start + away, lowest, highest, zero)

    def make(factor: NDArray[Any], start: NDArray[Any], away: NDArray[Any]) -> Scale:
        def scale(sums: Floats, out: NDArray[np.uint8]) -> None:
            steps = sums.astype(np.float64)
            np.multiply(steps, factor, out=steps)
            np.add(steps, start, out=steps)
            np.add(steps, np.copysign(away, steps), out=steps)
            steps.clip(lowest, highest, out=steps)
            np.copyto(out, steps.astype(np.int32), casting="unsafe")
            np.add(out, zero, out=out)

        return scale

    return Scaler(make, (factor, start, away))


def _single(
    factor: NDArray[Any], start: NDArray[Any], _away: NDArray[Any], zero_point: int, low: int, high: int
) -> Scaler:
    """Steps are counted from the clamp's lower end, so that none that stays is below 0."""
    lift = float(low - zero_point)
    return _floor(factor, start + (0.5 - lift), 0.0, float(high - low), np.uint8(low % 256))


def _floor(factor: NDArray[Any], start: NDArray[Any], lowest: float, highest: float, zero: np.uint8) -> Scaler:
    """The steps below, of what the clamp leaves at 0 or more."""

    def make(factor: NDArray[Any], start: NDArray[Any]) -> Scale:
        def scale(sums: Floats, out: NDArray[np.uint8]) -> None:
            steps = sums.astype(np.float64)
            np.multiply(steps, factor, out=steps)
            np.add(steps, start, out=steps)
            steps.clip(lowest, highest, out=steps)
            np.copyto(out, steps, casting="unsafe")
            np.add(out, zero, out=out)

        return scale

    return Scaler(make, (factor, start))


def _real(
    sums_bound: int, offsets: NDArray[np.int64], factor: NDArray[np.float32], zero_point: int, low: int, high: int
) -> Scaler | None:
    """The sums with their offsets are rounded to float32 once, if at all; the rest is the rule itself."""
    largest = sums_bound + int(np.abs(offsets).max())
    if largest >= 1 << 31 or not np.isfinite(factor).all():
        return None
    start: NDArray[Any] = offsets.astype(np.float32 if largest <= FLOAT32_EXACT else np.float64)
    lowest, highest = np.float32(low - zero_point), np.float32(high - zero_point)
    zero = np.uint8(zero_point % 256)

    def make(start: NDArray[Any], factor: NDArray[np.float32]) -> Scale:
        def scale(sums: Floats, out: NDArray[np.uint8]) -> None:
            steps = np.add(sums, start).astype(np.float32, copy=False)
            with np.errstate(over="ignore"):
                np.multiply(steps, factor, out=steps)
            steps.clip(lowest, highest, out=steps)
            np.rint(steps, out=steps)
            np.copyto(out, steps.astype(np.int32), casting="unsafe")
            np.add(out, zero, out=out)

        return scale

    return Scaler(make, (start, factor))


def _wide(
    sums_bound: int, offsets: NDArray[np.int64], factor: NDArray[np.float64], zero_point: int, low: int, high: int
) -> Scaler | None:
    """The rule itself; float64 holds the sums with their offsets."""
    if sums_bound + int(np.abs(offsets).max()) >= 1 << 31 or not np.isfinite(factor).all():
        return None
    lowest, highest, zero = float(low - zero_point), float(high - zero_point), np.uint8(zero_point % 256)

    def make(start: NDArray[Any], factor: NDArray[np.float64]) -> Scale:
        def scale(sums: Floats, out: NDArray[np.uint8]) -> None:
            steps = sums.astype(np.float64)
            np.add(steps, start, out=steps)
            with np.errstate(over="ignore"):
                np.multiply(steps, factor, out=steps)
            steps.clip(lowest, highest, out=steps)
            np.add(steps, np.copysign(BELOW_HALF, steps), out=steps)
            np.copyto(out, steps.astype(np.int32), casting="unsafe")
            np.add(out, zero, out=out)

        return scale

    return Scaler(make, (offsets.astype(np.float64), factor))


_AWAY = {"double": _double, "single": _single}
