"""Published points are run as `tilesim run` runs them; keys are fitted to those to train with, and to no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.explore.calibration.calibrated import calibration, measured
from tilesim.errors import CapacityError
from tilesim.shipped import shipped

POINTS = (
    "pocket,,225,us,train",
    "pocket,clock_hz=2 MHz,0.1,ms,train",
    "pocket,host.latency_cycles=50,1000,cycles,test",
    "pocket,inferences=3,4000,inferences/s,test",
)


def test_each_point_is_a_run_in_its_own_unit(tmp_path: Path) -> None:
    found = calibration(tmp_path, POINTS)
    cycles = measured("pocket").cycles
    late = measured("pocket", host__latency_cycles=50).cycles
    one, fast, waiting, several = (outcome.value for outcome in found.outcomes)
    assert (one, waiting) == (cycles, late), "a cycle of 1 MHz is a microsecond"
    assert fast == pytest.approx(cycles / 2 / 1000)
    assert several == pytest.approx(found.outcomes[3].rows[0]["measures"]["throughput_per_second"])  # type: ignore[index]
    assert found.outcomes[0].error == pytest.approx(cycles / 225 - 1)
    assert found.fitted is None


def test_a_difference_is_that_of_two_runs(tmp_path: Path) -> None:
    found = calibration(tmp_path, ["digits - pocket,,1,ms,train"], chip="edge-1x1")
    [outcome] = found.outcomes
    both = [row["measures"] for row in outcome.rows]
    assert outcome.value == pytest.approx((both[0]["latency_us"] - both[1]["latency_us"]) / 1000)  # type: ignore[index]


def test_two_keys_that_made_the_points_are_found_and_test_points_have_no_say(tmp_path: Path) -> None:
    """The test points are far off, and stay so."""
    true = {"host__latency_cycles": 40, "clock_hz": 2_000_000}
    lines = [
        f"pocket,ring.hop_cycles={n},{measured('pocket', **true, ring__hop_cycles=n).statistics['latency_us']},us,train"
        for n in (1, 5, 9)
    ]
    mine = tmp_path / "mine.yaml"
    text = (shipped("topologies") / "pocket-2x1.yaml").read_text()
    mine.write_text(text.replace("host: {", "host: {latency_cycles: 9, "))
    keys = ("host.latency_cycles", "clock_hz")
    found = calibration(tmp_path, [*lines, "pocket,ring.hop_cycles=2,1,us,test"], *keys, chip=str(mine))
    assert found.fitted is not None
    assert found.fitted.keys[0].value == 9
    assert found.fitted.fit.values == pytest.approx((40, 2_000_000), rel=0.03)
    assert [each.kind for each in found.fitted.determinations] == ["alone", "alone"]
    assert (found.fitted.outcomes[-1].error or 0) > 50


def test_cycles_do_not_determine_the_clock(tmp_path: Path) -> None:
    found = calibration(tmp_path, ["pocket,,200,cycles,train"], "clock_hz")
    assert found.fitted is not None
    assert found.fitted.fit.values == (1_000_000,)
    assert found.fitted.determinations[0].kind == "not"


def test_a_clock_is_fitted(tmp_path: Path) -> None:
    """To times of a chip whose clock is another: the test point, of which it knows nothing, comes right as well."""
    lines = [
        f"pocket,host.latency_cycles={n},{measured('pocket', host__latency_cycles=n).cycles / 3},us,{use}"
        for n, use in ((1, "train"), (100, "train"), (300, "test"))
    ]
    found = calibration(tmp_path, lines, "clock_hz")
    assert found.fitted is not None
    assert found.fitted.fit.values[0] == pytest.approx(3_000_000, rel=2e-3)
    assert found.fitted.determinations[0].kind == "alone"
    assert found.fitted.determinations[0].alone == pytest.approx(0.01, rel=0.1), "a percent of the clock is one of time"
    assert [outcome.error for outcome in found.outcomes] == pytest.approx([2.0] * 3)
    assert [outcome.error for outcome in found.fitted.outcomes] == pytest.approx([0.0] * 3, abs=3e-3)


def test_a_point_that_does_not_run_says_why_and_the_others_stay(tmp_path: Path) -> None:
    found = calibration(tmp_path, ["pocket,,225,us,train", "digits,,1,us,train"])
    assert [outcome.value is None for outcome in found.outcomes] == [False, True]
    assert "pocket-2x1" in found.outcomes[1].reason
    assert found.outcomes[1].error is None


def test_nothing_is_fitted_to_what_does_not_run(tmp_path: Path) -> None:
    with pytest.raises(CapacityError) as caught:
        calibration(tmp_path, ["pocket,,225,us,train", "digits,,1,us,train"], "clock_hz")
    assert [fault.partition(": does not run: ")[0] for fault in caught.value.faults] == [f"{tmp_path}/points.csv:3"]
    with pytest.raises(CapacityError):
        calibration(tmp_path, ["digits,,1,us,train"])
