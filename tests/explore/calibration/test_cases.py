"""What each published point runs: its models on its chip, under its condition."""

from __future__ import annotations

from pathlib import Path

import pytest

import tilesim
from tilesim.errors import InputError
from tilesim.explore.calibration.cases import Cases, read_cases
from tilesim.explore.point import PointOptions, Value

TITLES = "model,condition,value,unit,use\n"


def read(tmp_path: Path, lines: str, chip: str = "", **settings: Value) -> Cases:
    path = tmp_path / "points.csv"
    path.write_text(TITLES + lines)
    return read_cases(path, chip, {key.replace("__", "."): value for key, value in settings.items()})


def faults_of(tmp_path: Path, lines: str, chip: str = "", **settings: Value) -> list[str]:
    with pytest.raises(InputError) as caught:
        read(tmp_path, lines, chip, **settings)
    return [fault.removeprefix(f"{tmp_path}/") for fault in caught.value.faults]


def test_a_condition_sets_keys_and_options(tmp_path: Path) -> None:
    line = "digits,clock_hz=1 MHz;grid=1x2; partition=spatial;inferences=3;cache=off,1,us,train"
    [case] = read(tmp_path, line, "edge-2x2", ring__hop_cycles="2", clock_hz="3 MHz").every
    [point] = case.points
    assert (point.model, point.chip) == ("digits", "edge-2x2")
    assert point.settings == {"ring.hop_cycles": "2", "clock_hz": "1 MHz", "grid.rows": 1, "grid.columns": 2}
    assert point.options == PointOptions("spatial", cache=False, inferences=3)
    assert case.base == {"ring.hop_cycles": "2", "clock_hz": "3 MHz"}


def test_of_a_difference_both_models_run(tmp_path: Path) -> None:
    made = read(tmp_path, "digits - pocket,clock_hz=1 MHz,1,us,train", "edge-1x1")
    [case] = made.every
    assert [point.model for point in case.points] == ["digits", "pocket"]
    assert case.points[0].settings == case.points[1].settings == {"clock_hz": "1 MHz"}
    assert [*made.networks] == ["digits", "pocket"]


def test_points_name_their_chips(tmp_path: Path) -> None:
    lines = "digits,topology=edge-1x1,1,us,train\ndigits,topology=edge-2x2,1,us,train\n"
    assert read(tmp_path, lines).chips == ("edge-1x1", "edge-2x2")
    alone = read(tmp_path, f"{lines}digits,,1,us,test\npocket,,1,us,test", "edge-1x1")
    assert [case.published.line for case in alone.every] == [2, 4, 5]
    assert [point.line for point in alone.left_out] == [3]
    assert list(alone.networks) == ["digits", "pocket"]


def test_a_chip_of_ones_own_is_the_one_that_it_is_called_after(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("machine: tiled\nname: edge-1x1\n")
    [case] = read(tmp_path, "digits,topology=edge-1x1,1,us,train", str(mine)).every
    assert case.chip == str(mine)
    assert tilesim.load_topology(case.chip).name == "edge-1x1"


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (
            "digits,topology=edge-1x1;clock_hx=1,1,us,train",
            "condition clock_hx: must be a key of edge-1x1, not 'clock_hx'",
        ),
        (
            "digits,topology=edge-1x1;tile.lanes=48,1,us,train",
            "condition tile.lanes=48: tile.lanes must be a power of two",
        ),
        (
            "digits,topology=edge-1x1;partition=x,1,us,train",
            "condition partition: must be spatial, channel, auto or mixed",
        ),
        ("digits,topology=edge-1x1;inferences=1..3,1,us,train", "condition inferences: must have one value, not 3"),
        (
            "digits,topology=edge-1x1;machine=tiled,1,us,train",
            "condition machine: must be left out; name a chip of the",
        ),
        (
            "digits,topology=edge-1x1;schedule=lcm,1,us,train",
            "condition schedule: applies to chips that can run batches",
        ),
        ("digit,topology=edge-1x1,1,us,train", "digit: there is no such workload; did you mean digits?"),
        ("digits,,1,us,train", "condition must have topology=CHIP, or --topology name one for all that have none"),
    ],
)
def test_what_a_point_cannot_be_is_said_with_its_line(tmp_path: Path, line: str, fault: str) -> None:
    [found] = faults_of(tmp_path, line)
    assert found.startswith(f"points.csv:2: {fault}")


def test_all_faults_are_told_in_the_order_of_lines_and_those_of_chips_once(tmp_path: Path) -> None:
    lines = (
        "digits,topology=edge-1x1;x=1,1,kg,train\nnone,topology=edge-0,1,us,train\nmore,topology=edge-0,0,us,train\n"
    )
    found = faults_of(tmp_path, lines)
    assert [fault.partition(": ")[0] for fault in found] == [*(f"points.csv:{n}" for n in (2, 2, 3, 4, 4)), "edge-0"]


def test_settings_and_chips_without_points_are_refused(tmp_path: Path) -> None:
    assert faults_of(tmp_path, "digits,,1,us,train", "edge-1x1", tile__lane=3)[0].startswith(
        "settings tile.lane: must be"
    )
    assert faults_of(tmp_path, "digits,topology=edge-1x1,1,us,train\n", "edge-2x2") == [
        "points.csv: must have a point of edge-2x2, not only of edge-1x1"
    ]
