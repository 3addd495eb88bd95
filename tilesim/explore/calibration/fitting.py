"""Least squares with few runs: which values of keys bring points nearest, and how well these say what the values are.

Source: C. F. Gauss, for steps to where errors would vanish if they went on as their slopes say; how a step is cut until
it helps, and when to end, is an assumption.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, log
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilesim.explore.calibration.keys import FittedKey, Number

Reals: TypeAlias = NDArray[np.float64]
Values: TypeAlias = tuple[Number, ...]
"""One a key."""
Evaluate: TypeAlias = Callable[[Sequence[Values]], Sequence[Reals | None]]
"""The relative error of each point with each of several values; None where they can't be."""

PROBES = (1.05, 1 / 1.05, 2.0, 0.5)
"""What a key is multiplied by to see what it does: the next is tried where the chip refuses, or nothing changes."""
MOST_ROUNDS = 8
LONGEST_STEP = log(4)
"""By how much a key is changed in a round, at most: up to four times, or a quarter."""
SHRINK = (1.0, 0.5, 0.25, 0.125)
"""Parts of a step that are tried until one helps."""
SETTLED = 1e-3
"""A round that changes no key by more than this part of it is the last."""
BETTER = 1e-6
"""By what part of itself the sum of squares must fall for a step to count."""
NEARLY_SAME = 0.02
"""Two directions of which the weaker has less than this part of the stronger's effect are one, for a step."""
NOTICED = 0.01
"""A key is said to be determined to the change that moves the points by so much of their values, in the mean square."""
UNDETERMINED = log(2)
"""A key that may be doubled before that is not determined."""
CORRELATED = 0.5
"""Two keys make up for each other where their estimates hang together by at least this."""


@dataclass(frozen=True)
class Fit:
    """What least squares have found."""

    values: Values
    errors: Reals
    """Of each point, relative."""
    slopes: Reals
    """By how much each key moves each point's error, a unit of its logarithm: (points, keys)."""
    rounds: int
    settled: bool
    """Whether it ended by itself."""


@dataclass(frozen=True)
class Determination:
    """How well points determine a key: relative changes that move them noticeably (:data:`NOTICED`); inf: none does."""

    alone: float
    """Nothing else changing."""
    together: float
    """The other keys making up for it as far as they can."""
    partners: tuple[int, ...]
    """The keys that do."""

    @property
    def kind(self) -> Literal["alone", "together", "not"]:
        """Whether it is determined: by itself, only together with others, or not."""
        if self.alone > _change(UNDETERMINED):
            return "not"
        return "together" if self.together > _change(UNDETERMINED) else "alone"


def fit(keys: Sequence[FittedKey], start: Values, evaluate: Evaluate) -> Fit | None:
    """The values near ``start`` for which the sum of the squares of the points' errors is smallest; None where the
    start itself can't be.
    """
    [errors] = evaluate([start])
    if errors is None:
        return None
    values = start
    for done in range(1, MOST_ROUNDS + 1):
        slopes = _slopes(keys, values, errors, evaluate)
        found = _stepped(keys, values, errors, _step(keys, values, errors, slopes), evaluate)
        if found is None:
            return Fit(values, errors, slopes, done, settled=True)
        before, (values, errors) = values, found
        if max(abs(log(new / old)) for new, old in zip(values, before, strict=True)) < SETTLED:
            return Fit(values, errors, slopes, done, settled=True)
    return Fit(values, errors, slopes, MOST_ROUNDS, settled=False)


def determinations(slopes: Reals) -> list[Determination]:
    """How well each key is determined, by the curvature of the sum of squares where it is smallest.

    Of n points and slopes J, a key alone changes by e^x - 1 with x = NOTICED sqrt(n) / |J_k|, and with the others
    making up for it by x = NOTICED sqrt(n (J^T J)^-1_kk).
    """
    norms = np.linalg.norm(slopes, axis=0)
    noticed = NOTICED * np.sqrt(len(slopes))
    alone = np.divide(noticed, norms, out=np.full(len(norms), inf), where=norms > 0)
    active = [k for k in range(len(norms)) if alone[k] <= UNDETERMINED]
    covariance = _covariance(slopes[:, active] / norms[active])
    together = alone.copy()
    partners: dict[int, tuple[int, ...]] = {}
    spread = np.sqrt(np.diag(covariance))
    for place, k in enumerate(active):
        together[k] = alone[k] * spread[place]
        hang = np.abs(covariance[place]) / (spread[place] * spread)
        partners[k] = tuple(other for other, by in zip(active, hang, strict=True) if other != k and by >= CORRELATED)
    return [Determination(_change(alone[k]), _change(together[k]), partners.get(k, ())) for k in range(len(norms))]


def _covariance(unit: Reals) -> Reals:
    """(J^T J)^-1 of slopes of length 1; very large, not infinite, along what they do not determine."""
    _, sizes, turned = np.linalg.svd(unit, full_matrices=True)
    every = np.zeros(unit.shape[1])
    every[: len(sizes)] = sizes
    scaled = turned / np.maximum(every, 1e-9)[:, None]
    return np.asarray(scaled.T @ scaled)


def _change(step: float) -> float:
    """A step of a logarithm as a relative change upwards."""
    return float(np.expm1(step)) if step < 700 else inf


def _slopes(keys: Sequence[FittedKey], values: Values, errors: Reals, evaluate: Evaluate) -> Reals:
    """By the first of :data:`PROBES` that does something; 0 where none does."""
    slopes = np.zeros((len(errors), len(keys)))
    for factor in PROBES:
        near = {k: key.beside(values[k], factor) for k, key in enumerate(keys) if not slopes[:, k].any()}
        beside = {k: value for k, value in near.items() if value != values[k]}
        tried = [(*values[:k], value, *values[k + 1 :]) for k, value in beside.items()]
        for (k, value), found in zip(beside.items(), evaluate(tried), strict=True):
            if found is not None:
                slopes[:, k] = (found - errors) / log(value / values[k])
    return slopes


def _step(keys: Sequence[FittedKey], values: Values, errors: Reals, slopes: Reals) -> Reals:
    """The step of the logarithms that would bring the errors nearest to 0, were they as the slopes say; that of the
    other keys alone, where some are to move by less than to the next value that they may have.
    """
    step = _solved(slopes, errors)
    moves = [there != value for there, value in zip(_moved(keys, values, step), values, strict=True)]
    return step if all(moves) else _solved(slopes * moves, errors)


def _solved(slopes: Reals, errors: Reals) -> Reals:
    norms = np.linalg.norm(slopes, axis=0)
    scale = np.where(norms > 0, norms, 1)
    step, *_ = np.linalg.lstsq(slopes / scale, -errors, rcond=NEARLY_SAME)
    return np.clip(step / scale, -LONGEST_STEP, LONGEST_STEP)


def _moved(keys: Sequence[FittedKey], values: Values, step: Reals) -> Values:
    """Where a step leads, to values that the keys may have."""
    each = zip(keys, values, np.exp(step).tolist(), strict=True)
    return tuple(key.nearest(value * factor) for key, value, factor in each)


def _stepped(
    keys: Sequence[FittedKey], values: Values, errors: Reals, step: Reals, evaluate: Evaluate
) -> tuple[Values, Reals] | None:
    """The longest part of a step that helps; None if none does, or none leads to other values."""
    for part in SHRINK:
        there = _moved(keys, values, part * step)
        if there == values:
            return None
        [found] = evaluate([there])
        if found is not None and found @ found < (errors @ errors) * (1 - BETTER):
            return there, found
    return None
