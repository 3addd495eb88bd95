"""A calibration as a document and as tables: every error, train apart from test, and what was fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from io import StringIO
from math import inf
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from tests.explore.stepped import row
from tilesim.explore.calibration.calibrate import Calibration, Fitted, Outcome
from tilesim.explore.calibration.cases import Case, Cases
from tilesim.explore.calibration.fitting import Determination, Fit
from tilesim.explore.calibration.keys import FittedKey
from tilesim.explore.calibration.table import Published, Use
from tilesim.explore.point import Point
from tilesim.report.calibration import CalibrationDocument, calibration_document
from tilesim.report.calibration_tables import calibration_tables, setting_words
from tilesim.report.document import invalid
from tilesim.report.terminal import print_on

POINTS: tuple[tuple[str, float, Use], ...] = (("a", 100, "train"), ("b - c", 50, "train"), ("d", 200, "test"))
KEYS = (FittedKey("ring.width_bytes", 8, "bytes", 1, powers=True), FittedKey("host.request_ns", 200, "ns", 1))


def outcome(number: int, *cycles: int | None) -> Outcome:
    model, value, use = POINTS[number]
    models = tuple(model.split(" - "))
    condition = {"topology": "chip", "clock_hz": "1 MHz", "partition": "spatial"} if number == 1 else {}
    published = Published(number + 2, models, condition, value, "us", use, "somebody" if number else "")
    case = Case(published, tuple(Point(each, "chip") for each in models), {})
    return Outcome(case, tuple(row(each, reason="" if each else "too\x1b large") for each in cycles))


def calibration(outcomes: Sequence[Outcome], fitted: Fitted | None = None) -> Calibration:
    left_out = (replace(outcomes[0].case.published, line=9),)
    return Calibration(
        Cases(Path("of/points.csv"), tuple(out.case for out in outcomes), {}, left_out), tuple(outcomes), fitted
    )


FOUND = (outcome(0, 110), outcome(1, 90, 50), outcome(2, 260))
FITTED = Fitted(
    KEYS,
    Fit((16, 150), np.array([0.01, -0.02]), np.zeros((2, 2)), 3, settled=True),
    (Determination(0.02, 0.021, ()), Determination(0.05, 1.5, (0,))),
    (outcome(0, 101), outcome(1, 99, 50), outcome(2, 190)),
)
ALONE, WITH = calibration_document(calibration(FOUND)), calibration_document(calibration(FOUND, FITTED))


def printed(document: CalibrationDocument) -> list[str]:
    console = Console(file=StringIO(), width=100)
    print_on(console, calibration_tables(document))
    assert isinstance(console.file, StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_the_document_has_every_error_train_apart_from_test() -> None:
    assert [*invalid(CalibrationDocument, ALONE, "calibration")] == []
    assert [(point["simulated"], point["error"]) for point in ALONE["points"]] == [
        (pytest.approx(110), pytest.approx(0.1)),
        (pytest.approx(40), pytest.approx(-0.2)),
        (pytest.approx(260), pytest.approx(0.3)),
    ]
    train, test = ALONE["errors"]
    assert (train["use"], train["points"], train["worst_line"]) == ("train", 2, 3)
    assert (train["mean"], train["worst"]) == (pytest.approx(0.15), pytest.approx(-0.2))
    assert (test["mean"], test["worst"], test["fitted_mean"]) == (pytest.approx(0.3), pytest.approx(0.3), None)
    assert ALONE["fit"] is None
    assert ALONE["left_out"] == 1


def test_of_a_fit_it_has_what_was_found_and_the_errors_then() -> None:
    assert [*invalid(CalibrationDocument, WITH, "calibration")] == []
    fit = WITH["fit"]
    assert fit is not None
    assert (fit["points"], fit["rounds"], fit["settled"]) == (2, 3, True)
    assert fit["settings"] == ["ring.width_bytes=16", "host.request_ns=150"]
    assert setting_words(fit) == "--set ring.width_bytes=16 --set host.request_ns=150"
    assert [(key["determined"], key["partners"]) for key in fit["keys"]] == [
        ("alone", []),
        ("together", ["ring.width_bytes"]),
    ]
    train, test = WITH["errors"]
    assert (train["fitted_mean"], train["fitted_worst"]) == (pytest.approx(0.015), pytest.approx(-0.02))
    assert (test["fitted_worst"], test["fitted_worst_line"]) == (pytest.approx(-0.05), 4)


def test_what_nothing_determines_is_none_in_json() -> None:
    odd = replace(FITTED, determinations=(Determination(inf, inf, ()), Determination(1.5, 1.5, ())))
    fit = calibration_document(calibration(FOUND, odd))["fit"]
    assert fit is not None
    assert [(key["determined"], key["alone"]) for key in fit["keys"]] == [("not", None), ("not", 1.5)]


def test_the_tables_of_points_alone() -> None:
    assert printed(ALONE) == [
        "points.csv: 3 points of chip; 1 of other chips left out",
        "",
        "model  condition          published  simulated   error    use",
        "a                            100 us        110  +10.0%  train",
        "b - c  clock_hz=1 MHz         50 us         40  -20.0%  train",
        "       partition=spatial",
        "d                            200 us        260  +30.0%   test",
        "",
        "       points  mean error   worst",
        "train       2       15.0%  -20.0%  b - c on chip",
        "test        1       30.0%  +30.0%  d on chip",
    ]


def test_the_tables_of_a_fit() -> None:
    lines = printed(WITH)
    assert lines[3].split() == ["a", "100", "us", "110", "+10.0%", "101", "+1.0%", "train"]
    assert lines[9:] == [
        "               points  mean error   worst",
        "train               2       15.0%  -20.0%  b - c on chip",
        "train, fitted       2        1.5%   -2.0%  b - c on chip",
        "test                1       30.0%  +30.0%  d on chip",
        "test, fitted        1        5.0%   -5.0%  d on chip",
        "",
        "Fitted to the train points",
        "key               chip  fitted   change  determined to",
        "ring.width_bytes     8      16  +100.0%  2.0%",
        "host.request_ns    200     150   -25.0%  only together with ring.width_bytes; alone 5.0%",
        "Determined to: raised by this, the train points move by 1 % in the mean square.",
        "As many keys as points, 2: what errors are left says nothing of the model.",
    ]


def test_without_test_points_it_is_said_that_nothing_is_known_elsewhere() -> None:
    lines = printed(calibration_document(calibration(FOUND[:2])))
    assert " ".join(" ".join(lines[-2:]).split()) == (
        "test 0 - - no points: how far the model is off elsewhere, this table does not say"
    )
    assert "no points: nothing can be fitted" in printed(calibration_document(calibration(FOUND[2:])))[-2]


def test_what_did_not_run_is_told_and_no_name_steers_a_terminal() -> None:
    document = calibration_document(calibration((FOUND[0], outcome(2, None))))
    assert document["errors"][1]["points"] == 0
    lines = printed(document)
    assert lines[4].split() == ["d", "200", "us", "-", "-", "test"]
    assert lines[-2:] == ["Did not run", "line 4, d: too\\x1b large"]


def test_a_fit_that_has_not_settled_says_so() -> None:
    going = replace(FITTED, fit=replace(FITTED.fit, rounds=8, settled=False))
    assert printed(calibration_document(calibration(FOUND, going)))[-1].startswith("After 8 rounds it had not settled")
