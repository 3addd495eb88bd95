"""The pictures of a sweep's points."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.patches import Rectangle

from tests.report.exploration.rows import row
from tests.report.figures.test_save import PNG, names, texts
from tilesim.explore.row import Row
from tilesim.report.figures.explore import save_exploration_figures
from tilesim.report.figures.explore_space import draw_fronts, draw_maps

LANES = (16, 32, 64)


@pytest.fixture(scope="module")
def points() -> list[Row]:
    """Of two networks, lanes, hops and memories; those of 16 lanes and 2 cycles a hop were refused."""
    return [
        row(network, chip={"tile.lanes": lanes, "ring.hop_cycles": hops, "wide_memory.size_bytes": size},
            status="refused" if lanes == 16 and hops == 2 else "ran")
        for network in ("kws", "vww") for lanes in LANES for hops in (1, 2) for size in (1 << 18, 1 << 19)
    ]  # fmt: skip


def test_each_network_has_a_map_and_its_fronts(points: list[Row], tmp_path: Path) -> None:
    made = save_exploration_figures(points, tmp_path)
    expected = names("map-kws", "fronts-kws", "map-vww", "fronts-vww")
    assert [path.name for path in made if path.name in expected] == expected
    assert all(path.read_bytes().startswith(PNG) for path in made if path.suffix == ".png")
    shown = texts(tmp_path / "map-kws.svg")
    for words in (
        "lowest latency, µs",
        "tile.lanes",
        "ring.hop_cycles",
        "whatever wide_memory.size_bytes",
        "none of its",
    ):
        assert words in shown
    shown = texts(tmp_path / "fronts-kws.svg")
    for words in ("area (proxy), mm²", "latency, µs", "dominated", "on the Pareto front"):
        assert words in shown


def test_a_cell_has_its_number_or_is_hatched(points: list[Row]) -> None:
    figure = draw_maps(points, "vww")
    assert figure
    axes = figure.axes[0]
    best: dict[object, float] = {}
    for each in points:
        if each["network"] == "vww" and each["measures"]:
            cell, latency_us = (
                (each["chip"]["tile.lanes"], each["chip"]["ring.hop_cycles"]),
                each["measures"]["latency_us"],
            )
            best[cell] = min(latency_us, best.get(cell, latency_us))
    assert sorted(float(text.get_text()) for text in axes.texts) == pytest.approx(sorted(best.values()), rel=1e-3)
    assert [patch.get_xy() for patch in axes.patches if isinstance(patch, Rectangle)] == [(-0.5, 0.5)]


def test_the_front_goes_through_the_points_that_nothing_beats(points: list[Row]) -> None:
    figure = draw_fronts(points, "kws")
    assert figure
    _, stairs, front = figure.axes[0].lines
    places, latencies = np.asarray(front.get_xdata()), np.asarray(front.get_ydata())
    assert len(latencies) == len(LANES)  # the fastest of each, the area of which is its own
    assert np.all(np.diff(places) > 0)
    assert np.all(np.diff(latencies) < 0)
    np.testing.assert_array_equal(latencies, stairs.get_ydata())


def test_what_did_not_run_or_does_not_differ_has_no_picture() -> None:
    assert draw_fronts([row(status="refused")], "net") is None
    assert draw_maps([row(), row()], "net") is None
    chips = [{"tile.lanes": lanes, "ring.hop_cycles": hops} for lanes in LANES for hops in (1, 2)]
    refused = [row(chip=chip, status="refused") for chip in chips]
    assert draw_maps(refused, "net") is None
