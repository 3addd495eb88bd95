"""The points of a table, run; and again with keys fitted to those that are there to train with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tilesim.errors import CapacityError, InputError, RunError
from tilesim.explore.bench.task import tasks
from tilesim.explore.calibration.cases import Case, Cases
from tilesim.explore.calibration.fitting import Determination, Fit, Reals, Values, determinations, fit
from tilesim.explore.calibration.keys import FittedKey
from tilesim.explore.calibration.table import CYCLES, PER_SECOND
from tilesim.explore.point import Point, Value
from tilesim.explore.row import Row
from tilesim.explore.sensitivity import Runner
from tilesim.units import SECOND_UNITS

Changes = Mapping[str, Value]
"""Keys of the chip that are set otherwise."""


@dataclass(frozen=True)
class Outcome:
    """What came of a published point."""

    case: Case
    rows: tuple[Row, ...]
    """One a model."""

    @property
    def value(self) -> float | None:
        """In the unit of the published one; None if it did not run."""
        amounts = (_amount(row, self.case.published.unit) for row in self.rows)
        there = [amount for amount in amounts if amount is not None]
        return there[0] - sum(there[1:]) if len(there) == len(self.rows) else None

    @property
    def error(self) -> float | None:
        """By what part of the published value it is above that."""
        return None if self.value is None else self.value / self.case.published.value - 1

    @property
    def reason(self) -> str:
        """Why it did not run; empty if it did."""
        return "; ".join(row["reason"] for row in self.rows if row["measures"] is None)


@dataclass(frozen=True)
class Fitted:
    """Keys, what was found for them, and what the points are with that."""

    keys: tuple[FittedKey, ...]
    fit: Fit
    determinations: tuple[Determination, ...]
    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True)
class Calibration:
    """The points of a table as the chips have them, and with what was fitted, if anything was."""

    cases: Cases
    outcomes: tuple[Outcome, ...]
    fitted: Fitted | None = None


def calibrated(cases: Cases, keys: Sequence[FittedKey], run: Runner) -> Calibration:
    """Run the points of a table, and fit keys to those that are there to train with.

    Args:
        cases: the points; of one chip, if keys are fitted.
        keys: what is fitted; nothing, if there are none.
        run: who runs tasks; it is called for all points, and then for each round of a fit.

    Raises:
        InputError: no point could run, or, if keys are fitted, not all to train with.
        RunError: the same of runs that can't go on.
    """
    outcomes = _outcomes(cases, [{}], run)[0]
    train = [outcome for outcome in outcomes if outcome.case.published.use == "train"]
    missing = [outcome for outcome in (train if keys else outcomes) if outcome.value is None]
    if missing and (keys or len(missing) == len(outcomes)):
        kind = RunError if any(row["status"] == "failed" for out in missing for row in out.rows) else CapacityError
        raise kind(list(dict.fromkeys(_why(cases, outcome) for outcome in missing)))
    if not keys:
        return Calibration(cases, outcomes)
    return Calibration(cases, outcomes, _fitted(cases, keys, run))


def _why(cases: Cases, outcome: Outcome) -> str:
    return f"{cases.where(outcome.case)}: does not run: {'; '.join(outcome.reason.splitlines())}"


def _fitted(cases: Cases, keys: Sequence[FittedKey], run: Runner) -> Fitted:
    train = replace(cases, every=tuple(case for case in cases.every if case.published.use == "train"))

    def evaluate(tried: Sequence[Values]) -> list[Reals | None]:
        return [_errors(found) for found in _outcomes(train, [_changes(keys, values) for values in tried], run)]

    found = fit(keys, tuple(key.value for key in keys), evaluate)
    if found is None:
        raise InputError(f"{cases.table}: must have points that run, to train with")
    [after] = _outcomes(cases, [_changes(keys, found.values)], run)
    return Fitted(tuple(keys), found, tuple(determinations(found.slopes)), after)


def _changes(keys: Sequence[FittedKey], values: Values) -> Changes:
    return {key.key: value for key, value in zip(keys, values, strict=True)}


def _errors(outcomes: Sequence[Outcome]) -> Reals | None:
    errors = [outcome.error for outcome in outcomes]
    return None if None in errors else np.array(errors, np.float64)


def _outcomes(cases: Cases, chips: Sequence[Changes], run: Runner) -> list[tuple[Outcome, ...]]:
    """What comes of every point, with each of several changes of the chip; all that has to run does so at once."""
    points = [_changed(point, changes) for changes in chips for case in cases.every for point in case.points]
    if not points:
        return []
    wanted = [*tasks(points, cases.networks)]
    rows = {row["key"]: row for row in run(wanted)}
    ran = iter([rows[task.key] for task in wanted])
    return [tuple(_outcome(case, ran) for case in cases.every) for _ in chips]


def _outcome(case: Case, rows: Iterator[Row]) -> Outcome:
    return Outcome(case, tuple(next(rows) for _ in case.points))


def _changed(point: Point, changes: Changes) -> Point:
    return replace(point, settings={**point.settings, **changes}) if changes else point


def _amount(row: Row, unit: str) -> float | None:
    """What a run gave, in a unit of published values; None if it did not end. Times are latencies of one inference, of
    several the first's.
    """
    measures = row["measures"]
    if measures is None:
        return None
    if unit == PER_SECOND:
        return measures["throughput_per_second"]
    seconds = measures["latency_us"] / 1e6
    return float(round(seconds * int(row["chip"]["clock_hz"]))) if unit == CYCLES else seconds / SECOND_UNITS[unit]
