"""A sweep of real models: the same rows whoever runs them, as fast as the machine has cores, and sums that add up."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

import pytest

from tests.explore.dask_processes import dask_cluster
from tilesim import api
from tilesim.explore.bench.measure import Bench
from tilesim.explore.bench.task import tasks
from tilesim.explore.design.space import axis, space
from tilesim.explore.point import Point
from tilesim.explore.row import Row
from tilesim.explore.rows import export
from tilesim.explore.rows.store import Store
from tilesim.explore.running import cluster, workers
from tilesim.explore.running.sweeping import Runner, sweep
from tilesim.network.graph import Network

MODELS = ("mlperf_kws_dscnn", "mlperf_resnet8", "mlperf_vww_mnv1")
GRIDS, LANES = "grid=1x1,1x2,2x2,2x4,4x4,4x8,8x8", "tile.lanes=2^3..2^6"
MEMORIES = ("narrow_memory.size_bytes=128 KiB,192 KiB,256 KiB", "wide_memory.size_bytes=2^17,2^18,2^19,2^20")
LONGEST_SECONDS = 12 * 60
LEAST_EFFICIENCY = 0.8


def points(models: Path, names: tuple[str, ...] = MODELS) -> list[Point]:
    """Of every model on every chip."""
    files = [str(models / name / "model.tflite") for name in names]
    return [*space(files, ["edge-4x4"], [axis(word) for word in (GRIDS, LANES, *MEMORIES)]).points()]


def loaded(chosen: list[Point]) -> dict[str, Network]:
    """The networks of points, by model."""
    return {model: api.load_network(model) for model in {point.model for point in chosen}}


def swept(path: Path, chosen: list[Point], networks: dict[str, Network], run: Runner) -> tuple[list[Row], float]:
    """The rows of points, and how many seconds they took."""
    start = time.perf_counter()
    with Store(path) as store:
        sweep(tasks(chosen, networks), store, run)
        return store.rows(), time.perf_counter() - start


def assert_sums(rows: list[Row]) -> None:
    """Every row that ran: its breakdown is its cycles, and its layers have no more of them."""
    for row in rows:
        if measures := row["measures"]:
            assert sum(measures["breakdown"].values()) == pytest.approx(measures["cycles"], rel=1e-9)
            of_layers = sum(sum(layer["breakdown"].values()) for layer in measures["layers"])
            assert of_layers <= measures["cycles"] * (1 + 1e-9)


def both(tmp_path: Path, chosen: list[Point]) -> tuple[list[Row], float, float]:
    """The rows, and the seconds that one worker took, and two."""
    networks = loaded(chosen)
    run = partial(workers.rows, bench=Bench(networks))
    one, alone_seconds = swept(tmp_path / "one.db", chosen, networks, partial(run, count=1))
    two, together_seconds = swept(tmp_path / "two.db", chosen, networks, partial(run, count=2))
    assert export.csv(one) == export.csv(two)
    assert export.json(one) == export.json(two)
    assert_sums(one)
    return one, alone_seconds, together_seconds


def test_some_points_give_the_same_export_for_one_worker_and_two(models: Path, tmp_path: Path) -> None:
    small = [point for point in points(models, MODELS[:1]) if point.settings["grid.columns"] != 8][::60]
    impossible = replace(small[0], settings={**small[0].settings, "tile.lanes": 1 << 9})
    rows, *_ = both(tmp_path, [*small, impossible])
    assert Counter(row["status"] for row in rows) == {"ran": len(small), "refused": 1}


@pytest.mark.soak
def test_a_thousand_points_take_twelve_minutes_and_two_workers_half_of_what_one_takes(
    models: Path, tmp_path: Path
) -> None:
    rows, alone_seconds, together_seconds = both(tmp_path, [*islice(points(models), 1000)])
    ran = sum(row["status"] == "ran" for row in rows)
    efficiency = alone_seconds / together_seconds / 2
    print(
        f"{len(rows)} points, {ran} ran: {alone_seconds:.0f} s alone, {together_seconds:.0f} s by two: {efficiency:.0%}"
    )
    assert len(rows) == 1000
    assert {row["status"] for row in rows} <= {"ran", "refused"}
    assert together_seconds <= LONGEST_SECONDS
    assert efficiency >= LEAST_EFFICIENCY


@pytest.mark.soak
def test_a_cluster_gives_the_export_of_two_local_workers_for_a_thousand_points(models: Path, tmp_path: Path) -> None:
    chosen = [*islice(points(models), 1000)]
    networks = loaded(chosen)
    bench = Bench(networks)
    here, _ = swept(tmp_path / "here.db", chosen, networks, partial(workers.rows, bench=bench, count=2))
    (tmp_path / "cluster").mkdir()
    with dask_cluster(tmp_path / "cluster") as processes:
        run = partial(cluster.rows, bench=bench, scheduler=str(processes.file))
        there, seconds = swept(tmp_path / "there.db", chosen, networks, run)
    print(f"{len(there)} points on a cluster of two workers: {seconds:.0f} s")
    assert len(there) == 1000
    assert export.csv(there) == export.csv(here)
    assert export.json(there) == export.json(here)
