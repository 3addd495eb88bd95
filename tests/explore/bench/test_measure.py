"""Rows say of a run what its run.json says."""

from __future__ import annotations

import json
import pickle
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture
from typer.testing import CliRunner

import tilesim
from tilesim import api
from tilesim.cli import app
from tilesim.errors import HangError
from tilesim.explore.bench import measure
from tilesim.explore.bench.digests import arrays_digest
from tilesim.explore.bench.measure import Bench, measures
from tilesim.explore.bench.task import Task, tasks
from tilesim.explore.point import Point, PointOptions
from tilesim.explore.row import Measures, Row
from tilesim.network.graph import Network

WORKLOADS = tilesim.list_workloads()
FEW_CHIPS = ("pocket-2x1", "edge-1x1", "edge-2x2", "systolic-32")


@pytest.fixture(scope="module")
def networks() -> Mapping[str, Network]:
    return {name: tilesim.load_network(name) for name in WORKLOADS}


def rows(bench: Bench, points: Sequence[Point]) -> list[Row]:
    return [bench.row(task) for task in tasks(points, bench.networks)]


def run_json(row: Row, folder: Path) -> dict[str, Any]:
    """What the row's own command gives."""
    words = [*shlex.split(row["command"])[1:], "--quiet", "--out", str(folder)]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    document: dict[str, Any] = json.loads((folder / "run.json").read_text())
    return document


def measured(row: Row) -> Measures:
    assert row["status"] == "ran", row["reason"]
    assert row["measures"] is not None
    return row["measures"]


def must_add_up(found: Measures) -> None:
    """All cycles have a cause; those outside layers are without work, or no layer's."""
    cycles = found["cycles"]
    assert sum(found["breakdown"].values()) == pytest.approx(cycles, rel=1e-12)
    of_layers: Counter[str] = Counter()
    for layer in found["layers"]:
        of_layers.update(layer["breakdown"])
    for cause, of_all in found["breakdown"].items():
        assert of_layers[cause] <= of_all * (1 + 1e-12)
    assert {*of_layers} <= {*found["breakdown"]}
    outside = {cause for cause in found["breakdown"] if of_layers[cause] < found["breakdown"][cause] * (1 - 1e-12)}
    assert outside <= {"no work", "other"}
    assert sum(layer["energy_pj"] for layer in found["layers"]) <= found["energy_pj"] * (1 + 1e-12)
    assert found["bound_by"] == next(iter(found["breakdown"]), None)


def must_be_that_of(found: Mapping[str, Any], run: Mapping[str, Any]) -> None:
    """Each measure is a number of run.json."""
    for name in ("cycles", "load_cycles", "macs", "mac_utilisation", "latency_us", "throughput_per_second", "bound_by"):
        assert found[name] == run[name], name
    arrays = found["tiles"]
    assert found["energy_pj"] == run["energy"]["total_pj"]
    assert found["bytes"] == {bus: counts["carried"] for bus, counts in run["bytes"].items()}
    assert {cause: cycles * arrays for cause, cycles in found["breakdown"].items()} == pytest.approx(run["breakdown"])
    assert sum(run["breakdown"].values()) == run["cycles"] * arrays
    for layer, its, energy in zip(found["layers"], run["layers"], run["energy"]["layers"], strict=True):
        assert (layer["name"], layer["kind"], layer["tiles"]) == (its["name"], its["kind"], its["tiles"])
        assert (layer["parameters"], layer["energy_pj"]) == (its["parameters"], energy["total_pj"])
        assert {cause: cycles * arrays for cause, cycles in layer["breakdown"].items()} == pytest.approx(
            its["breakdown"]
        )


def must_be_right(point: Point, networks: Mapping[str, Network]) -> bool:
    """Whether the point could be run; if so, its row is that of a run done by hand."""
    [row] = rows(Bench(networks), [point])
    if row["measures"] is None:
        assert row["status"] == "refused"
        return False
    run = tilesim.simulate(tilesim.compile(networks[point.model], tilesim.load_topology(point.chip)))
    must_be_that_of(row["measures"], json.loads(run.json()))
    must_add_up(row["measures"])
    assert row["measures"]["outputs_sha256"] == arrays_digest(run.outputs)
    return True


@pytest.mark.parametrize("chip", FEW_CHIPS)
def test_rows_are_right(chip: str, networks: Mapping[str, Network]) -> None:
    assert sum(must_be_right(Point(model, chip), networks) for model in ("pocket", "digits", "example-conv")) >= 1


@pytest.mark.soak
@pytest.mark.parametrize(("model", "chip"), [*product(WORKLOADS, tilesim.list_topologies())])
def test_rows_of_everything_are_right(model: str, chip: str, networks: Mapping[str, Network]) -> None:
    assert must_be_right(Point(model, chip), networks) or chip in {"pocket-2x1", "ring-8", "systolic-4", "edge-1x1"}


@pytest.mark.parametrize(
    "point",
    [
        Point("digits", "edge-2x2", {"tile.lanes": 32, "ring.hop_cycles": 3}, PointOptions(partition="channel")),
        Point("digits", "edge-2x2", {"grid.rows": 1}, PointOptions(cache=False)),
        Point("digits", "edge-2x2", {}, PointOptions(inferences=3)),
        Point("pocket", "pocket-2x1", {}, PointOptions(partition="auto")),
        Point("digits", "systolic-32", {}, PointOptions(inferences=3)),
        Point("digits", "systolic-32", {}, PointOptions(schedule="lcm")),
        Point("digits", "systolic-32", {"clock_hz": 1000}, PointOptions(inferences=4, schedule="demand")),
    ],
)
def test_the_command_of_a_row_repeats_it(point: Point, networks: Mapping[str, Network], tmp_path: Path) -> None:
    [row] = rows(Bench(networks), [point])
    found, run = measured(row), run_json(row, tmp_path)
    must_be_that_of(found, run)
    must_add_up(found)
    with np.load(tmp_path / "outputs.npz") as outputs:
        assert found["outputs_sha256"] == arrays_digest([outputs[f"out{k}"] for k in range(len(outputs))])
    assert (row["network"], row["topology"]) == (run["network"], run["topology"])


def test_a_row_says_what_the_point_was(networks: Mapping[str, Network]) -> None:
    settings = {"tile.lanes": 32, "narrow_memory.size_bytes": "64 KiB"}
    [row] = rows(Bench(networks), [Point("digits", "edge-2x2", settings)])
    assert (row["network"], row["topology"], row["machine"]) == ("digits", "edge-2x2", "tiled")
    assert (row["chip"]["tile.lanes"], row["chip"]["narrow_memory.size_bytes"]) == (32, 65536)
    assert row["options"] == {"partition": "mixed", "cache": True, "inferences": 1, "schedule": ""}
    assert row["area"]["MAC arrays"] > 0
    assert row["reason"] == ""
    assert json.loads(json.dumps(row)) == row, "plain values, as a store keeps them"


REFUSED = [
    (Point("digits", "edge-2x2", {"tile.lanes": 48}), "--set tile.lanes=48: tile.lanes must be a power of two"),
    (Point("batching", "systolic-4"), "must fit the weight memory of systolic-4"),
    (Point("digits", "systolic-32", {}, PointOptions(partition="channel")), "partition must be left out"),
    (Point("digits", "edge-2x2", {}, PointOptions(schedule="lcm")), "must be a chip whose machine can run batches"),
    (
        Point("digits", "systolic-32", {}, PointOptions(schedule="last")),
        "schedule must be none, demand or lcm, not 'last'",
    ),
    (Point("digits", "edge-2x2", {}, PointOptions(partition="special")), "partition must be"),
    (Point("digits", "edge-2x2", {}, PointOptions(inferences=0)), "order must name programs"),
]


@pytest.mark.parametrize(("point", "reason"), REFUSED)
def test_what_can_not_be_is_a_row_with_its_sentence(point: Point, reason: str, networks: Mapping[str, Network]) -> None:
    [row] = rows(Bench(networks), [point])
    assert row["status"] == "refused"
    assert reason in row["reason"]
    assert row["measures"] is None
    assert row["command"] == point.command


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (HangError(["nobody sends", "all wait"]), "nobody sends\nall wait"),
        (MemoryError(), "memory"),
        (ZeroDivisionError("by\x1b zero"), "ZeroDivisionError: by"),
    ],
)
def test_a_run_that_can_not_go_on_is_a_row_too(
    error: Exception, reason: str, networks: Mapping[str, Network], monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_words: object) -> None:
        raise error

    bench, point = Bench(networks), Point("pocket", "pocket-2x1")
    with monkeypatch.context() as patch:
        patch.setattr(measure.api, "simulate", failing)
        [row] = rows(bench, [point])
    assert (row["status"], row["measures"]) == ("failed", None)
    assert reason in row["reason"]
    assert "\x1b" not in row["reason"]
    assert measured(rows(bench, [point])[0])["cycles"] > 0, "the bench goes on"


def _mixed() -> list[Point]:
    """Points that share programs, and points between them that do not, or can't be."""
    clocks = [Point("pocket", "pocket-2x1", {"clock_hz": 1000 * k, "ring.hop_cycles": k}) for k in (1, 2, 3)]
    turns = [Point("pocket", "pocket-2x1", {"clock_hz": 1000 * k}, PointOptions(inferences=2)) for k in (1, 2)]
    named = [Point("pocket", "pocket-2x1", {"clock_hz": 2000}, PointOptions(schedule="lcm"))]
    others = [Point("pocket", "edge-1x1"), Point("pocket", "pocket-2x1", {"tile.lanes": 3})]
    weights = [Point("pocket", "systolic-4", {"host.latency_cycles": cycles}) for cycles in (3, 9)]
    batches = [
        Point("pocket", "systolic-4", {"clock_hz": clock}, PointOptions(inferences=2)) for clock in (10**6, 10**9)
    ]
    return [*clocks, *turns, *named, *others, *weights, *batches]


def test_a_row_is_the_same_whatever_the_bench_ran_before(networks: Mapping[str, Network]) -> None:
    ready = list(tasks(_mixed(), networks))
    alone = {task.key: Bench(networks).row(task) for task in ready}
    assert [row["status"] for row in alone.values()].count("refused") == 2
    bench, rng = Bench(networks), np.random.default_rng(3)
    for _ in range(2):
        shuffled = [ready[k] for k in rng.permutation(len(ready))]
        assert {task.key: bench.row(task) for task in shuffled} == alone


def test_a_program_is_compiled_once_for_all_run_time_keys(
    networks: Mapping[str, Network], monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[str] = []
    compile_networks = api.compile_networks

    def counted(of: Sequence[Network], topology: tilesim.Topology, *words: Any, **more: Any) -> list[tilesim.Program]:
        compiled.append(topology.name)
        return compile_networks(of, topology, *words, **more)

    monkeypatch.setattr(measure.api, "compile_networks", counted)
    points = [Point("pocket", "pocket-2x1", {"clock_hz": 1000 * k, "ring.hop_cycles": k}) for k in range(1, 6)]
    found = rows(Bench(networks), points)
    assert len(compiled) == 1
    assert len({measured(row)["cycles"] for row in found}) == len({row["key"] for row in found}) == 5


@pytest.mark.benchmark(timer=process_time)
def test_what_a_row_costs_beside_its_run(networks: Mapping[str, Network], benchmark: BenchmarkFixture) -> None:
    """Where it is measured, ten milliseconds of processor time at most."""
    program = tilesim.compile(networks["digits"], tilesim.load_topology("edge-2x2"))
    run = tilesim.simulate(program)
    found = benchmark.pedantic(lambda: measures(program, run), rounds=5)
    assert found["cycles"] == run.cycles
    assert not benchmark.enabled or benchmark.stats.stats.min < 0.01


def test_a_bench_travels_without_its_program(networks: Mapping[str, Network]) -> None:
    bench, point = Bench({"digits": networks["digits"]}), Point("digits", "edge-1x2")
    [task] = tasks([point], networks)
    before = len(pickle.dumps(bench))
    row = bench.row(task)
    copied = pickle.dumps(bench)
    assert len(copied) == before
    again: Task = pickle.loads(pickle.dumps(task))  # noqa: S301  (the test wrote it)
    assert pickle.loads(copied).row(again) == row  # noqa: S301


def test_a_machine_from_outside_has_rows(
    networks: Mapping[str, Network], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(tilesim.MACHINES, "null", "tests.machines.null:Null")
    (tmp_path / "chip.yaml").write_text('machine: "null"\nname: nothing\n')
    points = [Point("pocket", str(tmp_path / "chip.yaml"), {"layer_cycles": n}) for n in (7, 8)]
    one, other = rows(Bench(networks), points)
    layers = len(networks["pocket"].nodes)
    assert (measured(one)["cycles"], measured(other)["cycles"]) == (7 * layers, 8 * layers)
    assert (one["area"], measured(one)["peak_bytes"], measured(one)["energy_pj"]) == ({}, {}, 0.0)
    must_add_up(measured(one))
    assert one["chip"] == {"clock_hz": 1_000_000, "layer_cycles": 7}
