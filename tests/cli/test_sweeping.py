"""What is said of a sweep that goes on, and of one that is interrupted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.explore import fakes
from tilesim.cli.sweeping import amount, duration, following, how_far
from tilesim.explore.rows.answers import Objective
from tilesim.explore.running.sweeping import Progress


def so_far(done: int, seconds_left: float | None = 72.4, failed: int = 0) -> Progress:
    return Progress(done, 2000, 5, 3, failed, 12.3456, seconds_left, {"kws": fakes.row(500_000)}, ())


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "0 s"),
        (41.6, "42 s"),
        (60, "1 min 0 s"),
        (200, "3 min 20 s"),
        (7500, "2 h 5 min"),
        (1e7, "2,777 h 46 min"),
    ],
)
def test_durations(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_how_far_it_is() -> None:
    words = "1,234 of 2,000 points, 12.3 a second, 1 min 12 s left, 3 refused, best kws 1 ms"
    assert how_far(so_far(1234)) == words
    assert how_far(so_far(0, None, failed=2)) == "0 of 2,000 points, 3 refused, 2 failed, best kws 1 ms"


def test_the_best_is_told_by_what_is_looked_for() -> None:
    energy = replace(so_far(1234), objective=Objective("energy_pj", maximise=True))
    assert how_far(energy).rpartition(", ")[2] == "best kws 71.4 nJ"


@pytest.mark.parametrize(
    ("measure", "words"),
    [
        ("latency_us", "1 ms"),
        ("energy_pj", "71.4 nJ"),
        ("area_mm2", "0.50 mm2"),
        ("throughput_per_second", "1,000 inferences a second"),
        ("mac_utilisation", "0.0% of MACs in use"),
        ("bytes.ring", "bytes.ring 1.43 MiB"),
        ("cycles", "cycles 500,000"),
        ("breakdown.no_work", "breakdown.no_work 0"),
        ("bytes.mesh", "-"),
    ],
)
def test_amounts_have_units(measure: str, words: str) -> None:
    assert amount(fakes.row(500_000), measure) == words


@pytest.mark.parametrize(
    ("store", "words"),
    [
        (Path("rows.sqlite"), "40 of 2,000 points are in rows.sqlite; the same command goes on"),
        (None, "40 of 2,000 points have run; --store FILE would have kept them"),
    ],
)
def test_an_interruption_says_what_is_kept(capsys: pytest.CaptureFixture[str], store: Path | None, words: str) -> None:
    def interrupted() -> None:
        with following(2000, store, quiet=True) as follow:
            follow(so_far(39))
            follow(so_far(40))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert capsys.readouterr().err == f"{words}\n"
