"""What points are judged by."""

from __future__ import annotations

import numpy as np
import pytest

from tests.report.exploration.rows import row, rows
from tilesim.explore.point import PointOptions
from tilesim.report.exploration.measures import costs, judged, shown_in, space_measures
from tilesim.report.exploration.points import MEASURES, Measure, measured


def test_there_is_a_measure_for_each_bus_memory_and_cause_that_any_row_has() -> None:
    found = [row(status="refused"), row(grid=(2, 2))]
    measures = {each.name: each for each in space_measures(found)}
    assert measures["bytes.ring"].words == "bytes on ring"
    assert measured(found, measures["bytes.ring"])[1] == 4 * 4096
    assert measured(found, measures["peak_bytes.wide memory"])[1] == 205_000
    shares = [measured(found, each)[1] for name, each in measures.items() if name.startswith("share.")]
    assert sum(shares) == pytest.approx(1, rel=1e-12)


def test_what_a_run_does_not_have_is_not_a_number() -> None:
    found = rows(2)
    assert found[0]["measures"]
    del found[0]["measures"]["bytes"]["mesh"]
    measure = next(each for each in space_measures(found) if each.name == "bytes.mesh")
    assert np.isnan(measured(found, measure)).tolist() == [True, False]


def test_energy_an_inference_is_told_where_runs_are_of_several() -> None:
    one, four = row(), row(options=PointOptions(inferences=4))
    assert "inference_energy_pj" not in {each.name for each in space_measures([one])}
    assert "throughput_per_second" not in {each.name for each in judged([one])}
    found = {each.name: measured([one, four], each) for each in judged([one, four])}
    assert found["inference_energy_pj"].tolist() == [found["energy_pj"][0], found["energy_pj"][1] / 4]
    assert "throughput_per_second" in found
    assert one["measures"]
    product = one["measures"]["energy_pj"] * one["measures"]["latency_us"] / 1e6
    assert found["energy_delay"][0] == pytest.approx(product, rel=1e-12)


def test_costs_are_less_where_a_point_is_better() -> None:
    found = rows(5)
    latency, use = (next(each for each in MEASURES if each.name == name) for name in ("latency_us", "mac_utilisation"))
    by_point = costs(found, [latency, use])
    np.testing.assert_array_equal(by_point, np.stack([measured(found, latency), -measured(found, use)], axis=1))


@pytest.mark.parametrize(
    ("name", "unit", "values", "shown"),
    [
        ("energy_pj", "pJ", [5.0, 999.0, np.nan], ("pJ", 1.0)),
        ("energy_pj", "pJ", [2e6, 3e6, 1.0], ("µJ", 1e-6)),
        ("latency_us", "µs", [1500.0], ("ms", 1e-3)),
        ("latency_us", "µs", [1e12], ("s", 1e-6)),
        ("latency_us", "µs", [np.nan], ("µs", 1.0)),
        ("mac_utilisation", "", [0.5], ("%", 100.0)),
        ("share.port", "", [0.5], ("%", 100.0)),
        ("area_mm2", "mm²", [5e6], ("mm²", 1.0)),
    ],
)
def test_numbers_show_in_units_that_fit_half_of_them(
    name: str, unit: str, values: list[float], shown: tuple[str, float]
) -> None:
    found, factor = shown_in(Measure(name, name, unit, lambda _, measures: measures["cycles"]), np.array(values))
    assert (found, factor) == (shown[0], pytest.approx(shown[1]))


def test_a_count_of_cycles_needs_no_unit() -> None:
    assert shown_in(next(each for each in MEASURES if each.name == "cycles"), np.array([5.0])) == ("", 1.0)
