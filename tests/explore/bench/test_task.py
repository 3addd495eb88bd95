"""Points become tasks: with their chips, and keys that tell exactly what decides a row."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from time import process_time

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import tilesim
from tilesim.errors import InputError
from tilesim.explore.bench.digests import PACKAGE
from tilesim.explore.bench.task import Task, chip_values, tasks
from tilesim.explore.point import Point, PointOptions, Value
from tilesim.network.graph import Network

DIGITS = Point("digits", "edge-2x2")


@pytest.fixture(scope="module")
def networks() -> Mapping[str, Network]:
    return {name: tilesim.load_network(name) for name in ("digits", "pocket")}


def one(point: Point, networks: Mapping[str, Network]) -> Task:
    [task] = tasks([point], networks)
    return task


@pytest.mark.parametrize(
    "other",
    [
        Point("digits", "edge-2x2", {"grid.rows": 2, "grid.columns": 2}),
        Point("digits", "edge-2x2", {"tile.lanes": 64}),
        Point("digits", "edge-2x2", {"narrow_memory.size_bytes": "192 KiB", "clock_hz": "500 MHz"}),
        Point("digits", str(PACKAGE.parent / "topologies" / "edge-2x2.yaml")),
        Point("digits", "edge-2x2", {"description": "the same in other words"}),
    ],
)
def test_a_chip_that_is_spelt_in_another_way_is_the_same(other: Point, networks: Mapping[str, Network]) -> None:
    ours, theirs = one(DIGITS, networks), one(other, networks)
    assert (ours.key, ours.program) == (theirs.key, theirs.program)


def test_a_copy_of_a_chip_is_the_same_and_one_of_another_name_is_not(
    tmp_path: Path, networks: Mapping[str, Network]
) -> None:
    text = (PACKAGE.parent / "topologies" / "edge-2x2.yaml").read_text()
    (tmp_path / "copy.yaml").write_text(text + "\n# a remark\n")
    (tmp_path / "other.yaml").write_text(text.replace("name: edge-2x2", "name: other"))
    ours, copy, other = (
        one(Point("digits", chip), networks)
        for chip in ("edge-2x2", str(tmp_path / "copy.yaml"), str(tmp_path / "other.yaml"))
    )
    assert copy.key == ours.key != other.key
    assert other.topology is not None
    assert other.topology.name == "other"


@pytest.mark.parametrize(
    "other",
    [
        Point("pocket", "edge-2x2"),
        Point("digits", "edge-1x2"),
        Point("digits", "edge-2x2", {"tile.lanes": 32}),
        Point("digits", "edge-2x2", {"ring.hop_cycles": 2}),
        Point("digits", "edge-2x2", {"clock_hz": 1}),
        Point("digits", "edge-2x2", options=PointOptions(partition="channel")),
        Point("digits", "edge-2x2", options=PointOptions(cache=False)),
        Point("digits", "edge-2x2", options=PointOptions(inferences=2)),
        Point("digits", "edge-2x2", options=PointOptions(schedule="lcm")),
    ],
)
def test_whatever_can_decide_a_row_is_in_its_key(other: Point, networks: Mapping[str, Network]) -> None:
    assert one(DIGITS, networks).key != one(other, networks).key


def test_the_name_of_the_network_is_in_the_key(networks: Mapping[str, Network]) -> None:
    swapped = {"digits": networks["pocket"], "pocket": networks["digits"]}
    assert one(DIGITS, networks).key == one(Point("pocket", "edge-2x2"), swapped).key != one(DIGITS, swapped).key


SHARED = [
    ("edge-2x2", {"clock_hz": 1}, PointOptions(), True),
    ("edge-2x2", {"ring.hop_cycles": 3, "host.latency_cycles": 9}, PointOptions(cache=False), True),
    ("edge-2x2", {"clock_hz": 1}, PointOptions(partition="channel"), True),
    ("edge-2x2", {"clock_hz": 1}, PointOptions(inferences=3), True),
    ("edge-2x2", {"clock_hz": 1}, PointOptions(partition="auto"), False),
    ("edge-2x2", {"tile.lanes": 32}, PointOptions(), False),
    ("edge-2x2", {"ring.queue": "shared"}, PointOptions(), False),
    ("systolic-32", {"host.latency_cycles": 9}, PointOptions(), True),
    ("systolic-32", {"weight_memory.clock_hz": 1000}, PointOptions(), False),
    ("systolic-32", {"host.latency_cycles": 9}, PointOptions(inferences=2), False),
    ("systolic-32", {"clock_hz": 1000}, PointOptions(schedule="demand"), False),
    ("systolic-32", {"weight_fifo.tiles": 2}, PointOptions(), False),
]


@pytest.mark.parametrize(("chip", "settings", "options", "shared"), SHARED)
def test_programs_are_shared_where_they_are_the_same(
    chip: str, settings: Mapping[str, Value], options: PointOptions, shared: bool, networks: Mapping[str, Network]
) -> None:
    """Those that are chosen by trying out are not: what is fastest may change with any key."""
    ours, theirs = (one(Point("digits", chip, changes, options), networks) for changes in ({}, settings))
    assert (ours.program == theirs.program) == shared
    assert ours.key != theirs.key


def test_tasks_of_other_networks_and_options_share_nothing(networks: Mapping[str, Network]) -> None:
    options = [
        PointOptions(),
        PointOptions(cache=False),
        PointOptions(partition="channel"),
        PointOptions(schedule="lcm"),
    ]
    points = [Point(model, "edge-2x2", {}, each) for model in networks for each in options]
    assert len({task.program for task in tasks(points, networks)}) == len(points)
    again, several = (one(Point("digits", "edge-2x2", {}, PointOptions(inferences=n)), networks) for n in (1, 4))
    assert again.program == several.program, "tiles run the same program again and again"


def test_a_chip_that_can_not_be_is_a_task_with_the_reason(networks: Mapping[str, Network]) -> None:
    points = [
        Point("digits", "edge-2x2", {"tile.lanes": 48}),
        Point("digits", "edge-2x2", {"tile.lines": 4}),
        Point("digits", "edge-2x9"),
    ]
    first, second, third = tasks(points, networks)
    assert all(task.topology is None for task in (first, second, third))
    assert first.reason == "--set tile.lanes=48: tile.lanes must be a power of two, not 48"
    assert "did you mean 'tile.lanes'?" in second.reason
    assert third.reason.startswith("edge-2x9: there is no such topology")
    assert len({first.key, second.key, third.key}) == 3


def test_points_that_are_not_wanted_are_left_out(networks: Mapping[str, Network]) -> None:
    """By keys that nobody has set, too; of a chip that can't be by those that it would have."""
    points = [Point("digits", "edge-2x2", {"tile.lanes": lanes}) for lanes in (16, 32, 48, 64, 96)]

    def small(values: Mapping[str, Value]) -> bool:
        lanes, rows = values["tile.lanes"], values["grid.rows"]
        assert isinstance(lanes, int)
        assert isinstance(rows, int)
        assert values["partition"] == "mixed"
        return lanes * rows <= 96

    wanted = list(tasks(points, networks, small))
    assert [task.point.settings["tile.lanes"] for task in wanted] == [16, 32, 48]
    assert [task.topology is None for task in wanted] == [False, False, True]


def test_what_can_not_be_asked_is_said_or_else_kept(networks: Mapping[str, Network]) -> None:
    def hard(values: Mapping[str, Value]) -> bool:
        raise InputError(f"{values['partition']}: no")

    [kept] = tasks([Point("digits", "edge-2x2", {"tile.lanes": 48})], networks, hard)
    assert kept.reason
    with pytest.raises(InputError, match="mixed: no"):
        list(tasks([DIGITS], networks, hard))


def test_values_of_a_chip_are_all_but_its_names() -> None:
    values = chip_values(tilesim.load_topology("pocket-2x1"))
    assert values["grid.rows"] == 2
    assert values["ring.queue"] == "split"
    assert not {"name", "machine", "description"} & {*values}


def test_keys_are_the_same_in_every_process(networks: Mapping[str, Network]) -> None:
    code = (
        "import tilesim; from tilesim.explore.bench.task import *\n"
        "networks = {'digits': tilesim.load_network('digits')}\n"
        "[task] = tasks([Point('digits', 'edge-2x2', {'tile.lanes': 32})], networks); print(task.key, task.program)"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    task = one(Point("digits", "edge-2x2", {"tile.lanes": 32}), networks)
    assert ran.stdout.split() == [task.key, task.program]


@pytest.mark.benchmark(timer=process_time)
def test_what_a_task_costs(networks: Mapping[str, Network], benchmark: BenchmarkFixture) -> None:
    """Where it is measured, two milliseconds of processor time at most."""
    points = [Point("digits", "edge-8x8", {"clock_hz": 1000 + k, "tile.lanes": 32}) for k in range(50)]
    found = benchmark.pedantic(lambda: [*tasks(points, networks)], rounds=5)
    assert len({task.key for task in found}) == len(points)
    assert not benchmark.enabled or benchmark.stats.stats.min < 0.002 * len(points)
