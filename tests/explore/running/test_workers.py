"""Workers: every row once, whoever runs it and whatever ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from tests.explore import fakes
from tests.explore.kill_sweeps import POINTS, begin, kill, orphans, told_by, workers_of
from tests.soak import counts
from tilesim.errors import RunError
from tilesim.explore.row import Row
from tilesim.explore.rows.store import Store
from tilesim.explore.running import workers
from tilesim.explore.running.sweeping import Group, alone, grouped

ROOT = Path(__file__).resolve().parents[3]
MIB = 1 << 20


DEADLY = fakes.FakeBench(
    seconds=0.01,
    exits=frozenset({1005}),
    kills=frozenset({1006}),
    raises=frozenset({1007}),
    eats_bytes={1008: 3000 * MIB, 1009: 10 * MIB},
    refuses=frozenset({3}),
)
"""It runs numbers below a thousand without accident."""


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[workers.WorkerPool]:
    """Two warm workers."""
    bench = replace(DEADLY, diary=tmp_path_factory.mktemp("pool") / "diary")
    with workers.WorkerPool(bench, 2, 2000 * MIB) as made:
        yield made


@pytest.fixture
def diary(pool: workers.WorkerPool) -> Path:
    """What the pool's workers write, from now on, when both are ready."""
    path = pool._bench.diary
    path.write_text("")
    while len({process for _, process in runs(path)}) < 2:
        assert len(keys(pool, [fakes.tasks(4)])) == 4
    path.write_text("")
    return path


def keys(pool: workers.WorkerPool, groups: Iterable[Group]) -> list[str]:
    """The keys of the rows that come."""
    return [row["key"] for row, _ in pool.rows(groups)]


def runs(diary: Path) -> list[tuple[int, int]]:
    """Numbers, and the processes that they ran in."""
    return [(int(number), int(process)) for number, process in map(str.split, diary.read_text().splitlines())]


def test_one_worker_and_two_give_the_same_rows_as_none(pool: workers.WorkerPool, diary: Path) -> None:
    expected = [row for row, _ in alone([fakes.tasks(24)], DEADLY)]
    by_one = [row for row, _ in workers.rows([fakes.tasks(24)], DEADLY, 1)]
    by_two = [row for row, _ in pool.rows(grouped(fakes.tasks(24)))]
    assert by_one == expected
    assert sorted(by_two, key=lambda row: row["key"]) == expected
    assert len({process for _, process in runs(diary)}) == 2


def test_a_point_that_ends_two_workers_is_a_row_with_the_reason(pool: workers.WorkerPool, diary: Path) -> None:
    numbers = range(1000, 1012)
    found = [row for row, _ in pool.rows([[fakes.task(number) for number in numbers]])]
    assert len(found) == 12
    assert {int(row["key"], 16): row["reason"] for row in found if row["status"] == "failed"} == {
        1005: "the workers that ran it ended with exit status 3, and with exit status 3",
        1006: "the workers that ran it ended by SIGKILL, and by SIGKILL",
        1007: "the workers that ran it ended " + ", and ".join(2 * ["with exit status 1 (ValueError: odd)"]),
        1008: "too much",
    }
    assert Counter(number for number, _ in runs(diary)) == Counter([*numbers, 1005, 1006, 1007])


def test_a_large_group_is_shared(pool: workers.WorkerPool, diary: Path) -> None:
    assert len(keys(pool, [[fakes.task(k, "one program") for k in range(40)]])) == 40
    shares = Counter(process for _, process in runs(diary))
    assert len(shares) == 2
    assert min(shares.values()) >= 5


def test_tasks_of_a_program_stay_together(pool: workers.WorkerPool, diary: Path) -> None:
    groups = [[fakes.task(8 * group + k, str(group)) for k in range(8)] for group in range(6)]
    assert len(keys(pool, groups)) == 48
    homes = {(number // 8, process) for number, process in runs(diary)}
    assert len(homes) <= 6 + 2  # at the end, one may take half of what the other has left


def test_groups_are_taken_as_they_are_needed(pool: workers.WorkerPool) -> None:
    taken = list[int]()

    def groups() -> Iterator[Group]:
        for k in range(1000):
            taken.append(k)
            yield [fakes.task(k)]

    for _ in islice(pool.rows(groups()), 10):
        pass
    assert len(taken) < 20


def test_workers_stay_for_the_next_sweep_and_forget_what_nobody_wants(pool: workers.WorkerPool, diary: Path) -> None:
    before = workers_of(os.getpid())
    assert sorted(keys(pool, [fakes.tasks(8)])) == [task.key for task in fakes.tasks(8)]
    assert {process for _, process in runs(diary)} <= {*before}
    given_up = pool.rows([fakes.tasks(100)])
    next(given_up)
    given_up.close()  # type: ignore[attr-defined]
    assert orphans(before) == 0
    assert keys(pool, [[fakes.task(200)]]) == [fakes.row(200)["key"]]


def test_without_tasks_nobody_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "Popen", None)
    assert [*workers.rows([], fakes.FakeBench(), 2)] == []


def test_there_are_no_more_workers_than_tasks() -> None:
    before = {*workers_of(os.getpid())}
    for _ in workers.rows(grouped(fakes.tasks(2)), fakes.FakeBench(seconds=0.1), 16):
        assert 1 <= len({*workers_of(os.getpid())} - before) <= 2


def test_workers_that_cannot_be_started_are_said() -> None:
    with pytest.raises(
        RunError, match=r"^no worker can be started with 1 MiB of memory: it ended with exit status \d+"
    ):
        next(workers.rows([fakes.tasks(2)], fakes.FakeBench(), 2, MIB))


def test_where_there_is_no_room_for_a_process_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/none")
    with pytest.raises(RunError, match=r"^no worker can be started: No such file or directory$"):
        next(workers.rows([fakes.tasks(2)], fakes.FakeBench(), 2))


def test_a_worker_has_its_part_of_the_memory_but_enough() -> None:
    assert workers.fair_memory_bytes(1) > 2 * workers.fair_memory_bytes(3) > 2 * workers.LEAST_BYTES
    assert workers.fair_memory_bytes(1 << 20) == workers.LEAST_BYTES


def test_a_worker_has_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "7")
    found = workers.rows([[fakes.task(1)]], fakes.EnvironmentBench(variable="OPENBLAS_NUM_THREADS"), 1)
    assert [row["reason"] for row, _ in found] == ["1"]


def test_a_script_that_guards_nothing_may_sweep(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from tests.explore import fakes\n"
        "from tilesim.explore.running import workers\n"
        "print(len([*workers.rows([fakes.tasks(4)], fakes.FakeBench(), 1)]))\n"
    )
    done = subprocess.run(
        [sys.executable, script],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("4\n", "")


def store_rows(path: Path) -> list[Row]:
    with Store(path, reading=True) as store:
        return store.rows()


def started(diary: Path, least: int) -> None:
    """Wait until so many points have begun."""
    until = time.monotonic() + 60
    while time.monotonic() < until and not (diary.exists() and len(diary.read_bytes().splitlines()) >= least):
        time.sleep(0.01)


def test_an_interrupt_ends_all_and_leaves_a_store_that_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    process = begin(path)
    started(path.with_suffix(".diary"), 5)
    running = workers_of(process)
    os.killpg(process, signal.SIGINT)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 130
    assert len(running) == 2
    assert orphans(running) == 0
    assert 0 < len(store_rows(path)) < POINTS
    assert os.waitpid(begin(path), 0)[1] == 0
    assert store_rows(path) == [fakes.row(k) for k in range(POINTS)]


def test_two_sweeps_at_once_run_nothing_twice(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    both = [begin(path, 1), begin(path, 1)]
    assert [os.waitpid(process, 0)[1] for process in both] == [0, 0]
    assert Counter(number for number, _ in runs(path.with_suffix(".diary"))) == Counter(range(POINTS))


def test_a_worker_whose_sweep_is_killed_does_not_end_its_point(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    process = begin(path, 1, seconds=100)
    started(path.with_suffix(".diary"), 1)
    running = workers_of(process)
    kill(process)
    os.waitpid(process, 0)
    assert len(running) == 1
    assert orphans(running) == 0


def test_a_sweep_takes_over_from_one_that_dies(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    first = begin(path)
    started(path.with_suffix(".diary"), 5)
    second = begin(path)
    time.sleep(0.1)
    kill(first)
    os.waitpid(first, 0)
    assert os.waitpid(second, 0)[1] == 0
    assert store_rows(path) == [fakes.row(k) for k in range(POINTS)]
    often = Counter(number for number, _ in runs(path.with_suffix(".diary")))
    assert sum(often.values()) <= POINTS + 2 * workers.AHEAD  # what the dead one was at


@pytest.mark.parametrize("rounds", counts(4, 200))
def test_no_kill_loses_a_row(tmp_path: Path, rounds: int) -> None:
    count = told_by("kill_sweeps.py", rounds, tmp_path)
    assert {count[name] for name in ("lost", "wrong", "orphans", "differ", "left")} == {0}
    assert count["sweeps"] + count["workers"] >= rounds
