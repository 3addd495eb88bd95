"""The chips that come with tilesim against what is published of a chip that can be bought: nothing is set by hand."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.scripts import ROOT
from tilesim.cli import app
from tilesim.explore.api import Crew, opened
from tilesim.explore.bench.measure import Bench
from tilesim.explore.calibration.calibrate import calibrated
from tilesim.explore.calibration.cases import read_cases
from tilesim.explore.calibration.table import Published, read_table
from tilesim.explore.sensitivity import sweeping
from tilesim.shipped import CALIBRATION, located, names, shipped

TABLE = shipped("workloads") / CALIBRATION / "coral.csv"
PAGE = ROOT / "tilesim" / "guide" / "calibrate.md"
MOST: Mapping[str, float] = {"mobilenet_v1": 0.06, "vgg19 - vgg16": 0.05, "fc_64x64": 0.10, "vgg16": 0.06}
"""How far each model may be off."""


def errors(folder: Path, wanted: Callable[[str], bool]) -> dict[int, float | None]:
    """Those of the points whose models are wanted, by their lines."""
    lines = TABLE.read_text().splitlines()
    kept = [line if line.startswith("model,") or wanted(line.partition(",")[0]) else f"# {line}" for line in lines]
    table = folder / "coral.csv"
    table.write_text("\n".join(kept))
    cases = read_cases(table)
    with opened(None) as store, Crew(1).hired(cases.networks) as crew:
        found = calibrated(cases, [], sweeping(store, Bench(cases.networks), crew))
    return {outcome.case.published.line: outcome.error for outcome in found.outcomes}


def points() -> list[Published]:
    faults: list[object] = []
    found = read_table(TABLE, faults)  # type: ignore[arg-type]
    assert not faults
    return found


def test_the_table_has_the_published_points_and_no_others() -> None:
    assert [(point.model, point.condition["topology"], point.value, point.unit, point.use) for point in points()] == [
        ("mobilenet_v1", "coral-usb", 2.45, "ms", "train"),
        ("mobilenet_v1", "coral-usb", 3.96, "ms", "train"),
        ("fc_64x64", "coral-usb", 200, "us", "train"),
        ("vgg19 - vgg16", "coral-usb", 12, "ms", "train"),
        ("vgg19 - vgg16", "coral-pcie", 14, "ms", "train"),
        ("vgg16", "coral-usb", 296, "ms", "test"),
        ("vgg16", "coral-pcie", 343, "ms", "test"),
    ]
    assert all(point.source for point in points())
    assert [point.condition.get("clock_hz") for point in points()] == [None, "250 MHz", *[None] * 5]
    assert {point.condition["partition"] for point in points()} == {"spatial"}, "the vendor's own cut"


def test_its_networks_have_names_and_are_not_listed() -> None:
    assert located("fc_64x64", "workloads") == TABLE.with_name("fc_64x64.yaml")
    assert "fc_64x64" not in names("workloads")


def test_a_small_fully_connected_layer(tmp_path: Path) -> None:
    [error] = errors(tmp_path, lambda model: model == "fc_64x64").values()
    assert error is not None
    assert abs(error) < MOST["fc_64x64"]


@pytest.mark.slow
def test_mobilenet_at_two_clocks(tmp_path: Path) -> None:
    found = errors(tmp_path, lambda model: model == "mobilenet_v1")
    assert len(found) == 2
    assert all(error is not None and abs(error) < MOST["mobilenet_v1"] for error in found.values())


@pytest.mark.soak
def test_all_of_the_table_is_what_the_guide_shows() -> None:
    """VGG takes minutes, four times."""
    result = CliRunner(env={"COLUMNS": "80"}).invoke(app, ["calibrate", "--workers", "2", "-q"])
    [shown] = re.findall(
        r"^```text\n(coral\.csv: .*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    assert [line.rstrip() for line in result.stdout.splitlines()] == shown.splitlines()


def test_what_the_guide_shows_is_near_enough() -> None:
    """The test above holds that the guide shows what comes out."""
    [shown] = re.findall(
        r"^```text\n(coral\.csv: .*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    found = [
        (point.model, re.findall(r"([+-][\d.]+)%", line))
        for point in points()
        for line in shown.splitlines()
        if re.match(rf"{point.model} .*{point.condition['topology']}.* {point.value:,.4g} {point.unit} ", line)
    ]
    assert len(found) == len(points())
    assert all(len(each) == 1 and abs(float(each[0])) / 100 < MOST[model] for model, each in found)
