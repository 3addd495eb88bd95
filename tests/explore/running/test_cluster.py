"""A Dask cluster runs tasks as workers of this machine do, whatever dies: with a real scheduler and real workers."""

from __future__ import annotations

import json
import pickle
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.explore import fakes
from tests.explore.dask_processes import Processes, dask_cluster
from tests.explore.kill_sweeps import told_by
from tests.soak import counts
from tilesim import api
from tilesim.errors import InputError, RunError
from tilesim.explore.bench.measure import Bench
from tilesim.explore.bench.task import tasks
from tilesim.explore.design.space import space
from tilesim.explore.row import Row
from tilesim.explore.rows import export
from tilesim.explore.rows.store import Store
from tilesim.explore.running import cluster, workers
from tilesim.explore.running.sweeping import Group, Progress, Runner, grouped, sweep


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    """A cluster of two workers, whom no test harms."""
    with dask_cluster(tmp_path_factory.mktemp("cluster")) as processes:
        yield processes


def rows_of(bench: fakes.FakeBench, scheduler: str, count: int = 24) -> list[Row]:
    found = cluster.rows(grouped(fakes.tasks(count)), bench, scheduler)
    return sorted((row for row, _ in found), key=lambda row: row["key"])


def test_the_export_is_that_of_one_local_worker(two: Processes, tmp_path: Path) -> None:
    models = ["digits"]
    wanted = space(models, ["edge-2x2"], {"grid": "1x1,1x2", "tile.lanes": "16,32", "cache": "on,off"})
    networks = {model: api.load_network(model) for model in models}
    bench = Bench(networks)
    runners: list[Runner] = [
        partial(workers.rows, bench=bench, count=1),
        partial(cluster.rows, bench=bench, scheduler=str(two.file)),
    ]
    texts = []
    for number, run in enumerate(runners):
        with Store(tmp_path / f"{number}.db") as store:
            progress = sweep(tasks(wanted.points(), networks), store, run)
            assert (progress.done, progress.total, progress.failed) == (8, 8, 0)
            texts.append(export.json(store.rows()))
    assert texts[0] == texts[1]


def test_every_task_has_its_row_and_both_work(two: Processes, tmp_path: Path) -> None:
    bench = fakes.FakeBench(seconds=0.01, refuses=frozenset({3}), diary=tmp_path / "diary")
    expected = [fakes.row(k, "refused", "too small") if k == 3 else fakes.row(k) for k in range(24)]
    address = json.loads(two.file.read_text())["address"]
    assert rows_of(bench, address) == expected
    assert len({line.split()[1] for line in (tmp_path / "diary").read_text().splitlines()}) == 2


def test_tasks_of_a_program_stay_together_and_a_large_group_is_shared(two: Processes, tmp_path: Path) -> None:
    bench = fakes.FakeBench(seconds=0.01, diary=tmp_path / "diary")
    groups = [[fakes.task(8 * group + k, str(group)) for k in range(8)] for group in range(6)]
    assert len([*cluster.rows(groups, bench, str(two.file))]) == 48
    ran = [tuple(map(int, line.split())) for line in (tmp_path / "diary").read_text().splitlines()]
    assert len({(number // 8, process) for number, process in ran}) <= 6 + 4
    assert len([*cluster.rows([fakes.tasks(40)], bench, str(two.file))]) == 40
    shared = [line.split()[1] for line in (tmp_path / "diary").read_text().splitlines()[48:]]
    assert len(set(shared)) == 2


def test_a_connection_serves_one_sweep_after_the_other(two: Processes) -> None:
    with cluster.Cluster(fakes.FakeBench(), str(two.file)) as connection:
        first = [row for row, _ in connection.rows([fakes.tasks(3)])]
        assert [*connection.rows([])] == []
        second = [row for row, _ in connection.rows([fakes.tasks(5)])]
    assert (len(first), len(second)) == (3, 5)


def test_groups_are_taken_as_they_are_needed_and_what_is_queued_is_taken_back(two: Processes) -> None:
    taken = list[int]()

    def groups() -> Iterator[Group]:
        for k in range(1000):
            taken.append(k)
            yield [fakes.task(k)]

    with cluster.Cluster(fakes.FakeBench(seconds=0.02), str(two.file)) as connection:
        rows = connection.rows(groups())
        for _ in range(6):
            next(rows)
        rows.close()  # type: ignore[attr-defined]
        assert len(taken) < 12
        assert not connection._running
    assert len(rows_of(fakes.FakeBench(), str(two.file), 4)) == 4


def test_a_worker_that_dies_costs_a_retry_and_a_scheduler_that_goes_leaves_what_is_written(tmp_path: Path) -> None:
    with dask_cluster(tmp_path) as processes, Store(tmp_path / "store.db") as store:
        bench = fakes.FakeBench(seconds=0.02)
        doomed = {10: processes.workers[0], 60: processes.scheduler}

        def kill_in_time(progress: Progress) -> None:
            if progress.done in doomed:
                doomed[progress.done].send_signal(signal.SIGKILL)

        run = partial(cluster.rows, bench=bench, scheduler=str(processes.file))
        with pytest.raises(RunError, match=r"scheduler\.json: the scheduler is gone"):
            sweep(fakes.tasks(200), store, run, kill_in_time)
        rows = store.rows()
    assert 60 <= len(rows) < 200
    assert rows == [fakes.row(int(row["key"], 16)) for row in rows]


def test_a_point_that_kills_its_workers_is_a_row_and_the_others_go_on_until_no_worker_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with dask_cluster(tmp_path, 3, deaths=1) as processes:
        # The first to die has a piece of several tasks, the second the one that kills, alone.
        rows = rows_of(fakes.FakeBench(kills=frozenset({5})), str(processes.file), 12)
        reason = "it ended 1 worker, with nothing else on them"
        assert rows == [fakes.row(k, "failed", reason) if k == 5 else fakes.row(k) for k in range(12)]
        monkeypatch.setattr(cluster, "PATIENCE_SECONDS", 0.5)
        with pytest.raises(RunError, match="the scheduler has had no worker for 0 s"):
            rows_of(fakes.FakeBench(exits=frozenset({5})), str(processes.file), 400)
        with pytest.raises(InputError, match=r"must have workers: dask worker \S+ --nthreads 1 starts one"):
            rows_of(fakes.FakeBench(), str(processes.file))


def test_a_worker_with_other_sources_or_another_python_is_refused(
    two: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = cluster.SharedBench(pickle.dumps(fakes.FakeBench()))
    with pytest.raises(
        InputError, match="a worker that has come must have the same tilesim as here: its sources differ"
    ):
        cluster.run_piece(bench, fakes.tasks(1), "other")
    monkeypatch.setattr(cluster, "sources_digest", lambda: "other")
    with pytest.raises(InputError, match=r"the worker tcp://\S+, as 1 others, must have the same tilesim as here"):
        rows_of(fakes.FakeBench(), str(two.file))
    ours, theirs = ("digest", "3.11"), ("another", "3.12")
    assert [*cluster.strange(theirs, ours)] == ["must have Python 3.11, as here, not 3.12"]


@pytest.mark.parametrize(
    ("scheduler", "fault"),
    [
        ("tcp://127.0.0.1:1", "tcp://127.0.0.1:1: no scheduler of Dask answers"),
        ("tls://127.0.0.1:1", "tls://127.0.0.1:1: no scheduler of Dask answers"),
        ("odd://x", "odd://x: no scheduler of Dask answers"),
        ("host:8786", "host:8786: must be the address of a scheduler, such as tcp://host:8786, or its scheduler file"),
        ("odd.json", "odd.json: must be a scheduler file, as dask scheduler --scheduler-file writes it"),
        (".", "must be a file"),
    ],
)
def test_where_no_scheduler_is_that_is_said(
    scheduler: str, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 0.2)
    Path("odd.json").write_text("[]")
    with pytest.raises(InputError) as error:
        rows_of(fakes.FakeBench(), scheduler)
    assert fault in str(error.value)


def test_without_tasks_no_scheduler_is_asked() -> None:
    assert rows_of(fakes.FakeBench(), "tcp://127.0.0.1:1", 0) == []


def test_without_dask_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "find_spec", lambda _name: None)
    with pytest.raises(InputError, match=r"pip install tilesim\[sweep\]"):
        rows_of(fakes.FakeBench(), "tcp://127.0.0.1:1")


@pytest.mark.parametrize("rounds", counts(3, 200))
def test_no_kill_loses_a_row(tmp_path: Path, rounds: int) -> None:
    count = told_by("kill_dask_sweeps.py", rounds, tmp_path)
    assert (count["lost"], count["wrong"], count["differ"], count["left"]) == (0, 0, 0, 0)
    assert count["sweeps"] + count["workers"] >= rounds
