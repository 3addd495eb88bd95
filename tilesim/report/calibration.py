"""A calibration as a document: every published point with what the model makes of it, train apart from test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isinf
from typing import Literal

from typing_extensions import TypedDict  # of typing's own, pydantic reads that of Python 3.12 and later only

from tilesim.explore.calibration.calibrate import Calibration, Fitted, Outcome
from tilesim.explore.calibration.table import USES, Use
from tilesim.explore.point import Value

SCHEMA = "tilesim.calibration/1"


class CalibrationPoint(TypedDict):
    """A published point."""

    line: int
    """Its line in the table."""
    model: str
    """What was run; two with a minus between if their difference is published."""
    topology: str
    """The chip's name."""
    condition: str
    """What else holds for it."""
    value: float
    """What is published."""
    unit: str
    """Of all values of the point."""
    use: Use
    """Whether keys may be fitted to it (``train``), or it is only compared with (``test``)."""
    source: str
    """Who says so; empty if the table does not tell."""
    simulated: float | None
    """What the chip makes of it; None if it did not run."""
    error: float | None
    """By what part of the published value that is too much: 0.01 is 1 % too long, or too fast."""
    fitted: float | None
    """What the chip makes of it with what was fitted; None if nothing was."""
    fitted_error: float | None
    """As ``error``."""
    reason: str
    """Why it did not run; empty if it did."""
    commands: list[str]
    """What repeats it: one a model."""


class CalibrationErrors(TypedDict):
    """The errors of the points of a use, as far as they ran."""

    use: Use
    points: int
    """How many ran."""
    mean: float | None
    """The mean of the errors, each without its sign; None of no points."""
    worst: float | None
    """The largest error, with its sign."""
    worst_line: int | None
    """The line of the point that has it."""
    fitted_mean: float | None
    """As ``mean``, with what was fitted."""
    fitted_worst: float | None
    """As ``worst``, with what was fitted."""
    fitted_worst_line: int | None
    """As ``worst_line``."""


class CalibratedKey(TypedDict):
    """A key that was fitted, and how well the points determine it."""

    key: str
    meaning: str
    """What it says."""
    value: Value
    """The chip's."""
    fitted: Value
    """What brings the points to train with nearest."""
    determined: Literal["alone", "together", "not"]
    """By the points; only together with other keys; or not by these points: it may be doubled, and they hardly move."""
    alone: float | None
    """By what part it may be raised, nothing else changing, before the points move by 1 % in the mean square; None: by
    any.
    """
    together: float | None
    """The same if the other keys make up for it as far as they can."""
    partners: list[str]
    """Those that do."""


class CalibrationFit(TypedDict):
    """What was fitted."""

    keys: list[CalibratedKey]
    points: int
    """How many points it was fitted to."""
    rounds: int
    settled: bool
    """Whether it ended by itself; else the rounds were at their end."""
    settings: list[str]
    """The keys as ``--set`` takes them."""


class CalibrationDocument(TypedDict):
    """Published points against simulated ones."""

    schema: str
    """``tilesim.calibration/1``."""
    table: str
    """The file of the points."""
    points: list[CalibrationPoint]
    """In the order of the table."""
    errors: list[CalibrationErrors]
    """Of the points to train with, then of those to test with."""
    left_out: int
    """Points of other chips."""
    fit: CalibrationFit | None
    """None if nothing was fitted."""


def calibration_document(found: Calibration) -> CalibrationDocument:
    """A calibration in plain values."""
    fitted = found.fitted
    after: Sequence[Outcome | None] = fitted.outcomes if fitted else [None] * len(found.outcomes)
    points = [_point(before, then) for before, then in zip(found.outcomes, after, strict=True)]
    return {
        "schema": SCHEMA,
        "table": str(found.cases.table),
        "points": points,
        "errors": [_errors(use, [point for point in points if point["use"] == use]) for use in USES],
        "left_out": len(found.cases.left_out),
        "fit": _fit(fitted) if fitted else None,
    }


def _point(before: Outcome, after: Outcome | None) -> CalibrationPoint:
    published = before.case.published
    return {
        "line": published.line,
        "model": published.model,
        "topology": before.rows[0]["topology"],
        "condition": published.spelt,
        "value": published.value,
        "unit": published.unit,
        "use": published.use,
        "source": published.source,
        "simulated": before.value,
        "error": before.error,
        "fitted": after.value if after else None,
        "fitted_error": after.error if after else None,
        "reason": before.reason,
        "commands": [row["command"] for row in before.rows],
    }


def _errors(use: Use, points: Sequence[CalibrationPoint]) -> CalibrationErrors:
    before = [(point["error"], point["line"]) for point in points]
    after = [(point["fitted_error"], point["line"]) for point in points]
    mean, worst, line = _mean_and_worst(before)
    fitted_mean, fitted_worst, fitted_line = _mean_and_worst(after)
    return {
        "use": use,
        "points": sum(error is not None for error, _ in before),
        "mean": mean,
        "worst": worst,
        "worst_line": line,
        "fitted_mean": fitted_mean,
        "fitted_worst": fitted_worst,
        "fitted_worst_line": fitted_line,
    }


def _mean_and_worst(errors: Sequence[tuple[float | None, int]]) -> tuple[float | None, float | None, int | None]:
    """Of the errors that there are, with their lines."""
    there = [(error, line) for error, line in errors if error is not None]
    if not there:
        return None, None, None
    worst, line = max(there, key=lambda pair: abs(pair[0]))
    return sum(abs(error) for error, _ in there) / len(there), worst, line


def _fit(fitted: Fitted) -> CalibrationFit:
    keys = [*_keys(fitted)]
    return {
        "keys": keys,
        "points": len(fitted.fit.errors),
        "rounds": fitted.fit.rounds,
        "settled": fitted.fit.settled,
        "settings": [f"{key['key']}={key['fitted']}" for key in keys],
    }


def _keys(fitted: Fitted) -> Iterator[CalibratedKey]:
    for key, value, known in zip(fitted.keys, fitted.fit.values, fitted.determinations, strict=True):
        yield {
            "key": key.key,
            "meaning": key.meaning,
            "value": key.value,
            "fitted": value,
            "determined": known.kind,
            "alone": None if isinf(known.alone) else known.alone,
            "together": None if isinf(known.together) else known.together,
            "partners": [fitted.keys[k].key for k in known.partners],
        }
