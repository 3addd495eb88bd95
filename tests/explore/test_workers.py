"""Workers: every row once, whoever runs it and whatever ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.explore import fakes
from tests.explore.kill_sweeps import begin, kill, orphans, workers_of
from tests.soak import counts
from tilesim.errors import RunError
from tilesim.explore import workers
from tilesim.explore.row import Row
from tilesim.explore.store import Store
from tilesim.explore.sweeping import Group, alone, grouped

ROOT = Path(__file__).resolve().parent.parent.parent
MIB = 1 << 20


def rows_of(bench: fakes.FakeBench, count: int, tasks: int = 24, memory_bytes: int | None = None) -> list[Row]:
    """The rows of so many tasks, by key."""
    found = workers.rows(grouped(fakes.tasks(tasks)), bench, count, memory_bytes)
    return sorted((row for row, _ in found), key=lambda row: row["key"])


def runs(diary: Path) -> list[tuple[int, int]]:
    """Numbers, and the processes that they ran in."""
    return [(int(number), int(process)) for number, process in map(str.split, diary.read_text().splitlines())]


def test_one_worker_and_two_give_the_same_rows_as_none(tmp_path: Path) -> None:
    bench = fakes.FakeBench(seconds=0.02, refuses=frozenset({3}), diary=tmp_path / "diary")
    expected = [row for row, _ in alone([fakes.tasks(24)], fakes.FakeBench(refuses=frozenset({3})))]
    assert rows_of(bench, 1) == expected
    assert len({process for _, process in runs(tmp_path / "diary")}) == 1
    (tmp_path / "diary").unlink()
    assert rows_of(bench, 2) == expected
    assert len({process for _, process in runs(tmp_path / "diary")}) == 2


def test_a_point_that_ends_two_workers_is_a_row_with_the_reason(tmp_path: Path) -> None:
    bench = fakes.FakeBench(
        exits=frozenset({5}),
        kills=frozenset({6}),
        raises=frozenset({7}),
        eats_bytes={8: 3000 * MIB, 9: 10 * MIB},
        diary=tmp_path / "diary",
    )
    reasons = {row["key"][-1]: row["reason"] for row in rows_of(bench, 2, 12, 2000 * MIB) if row["status"] == "failed"}
    assert reasons == {
        "5": "the workers that ran it ended with exit status 3, and with exit status 3",
        "6": "the workers that ran it ended by SIGKILL, and by SIGKILL",
        "7": "the workers that ran it ended " + ", and ".join(2 * ["with exit status 1 (ValueError: odd)"]),
        "8": "too much",
    }
    assert Counter(number for number, _ in runs(tmp_path / "diary")) == Counter([*range(12), 5, 6, 7])


def test_a_large_group_is_shared(tmp_path: Path) -> None:
    bench = fakes.FakeBench(seconds=0.05, diary=tmp_path / "diary")
    together = [fakes.task(k, "one program") for k in range(40)]
    assert len([*workers.rows([together], bench, 2)]) == 40
    shares = Counter(process for _, process in runs(tmp_path / "diary"))
    assert len(shares) == 2
    assert min(shares.values()) >= 10


def test_tasks_of_a_program_stay_together(tmp_path: Path) -> None:
    bench = fakes.FakeBench(seconds=0.01, diary=tmp_path / "diary")
    groups = [[fakes.task(8 * group + k, str(group)) for k in range(8)] for group in range(6)]
    assert len([*workers.rows(groups, bench, 2)]) == 48
    homes = Counter(group for group, _ in {(number // 8, process) for number, process in runs(tmp_path / "diary")})
    assert sum(homes.values()) <= 6 + 2  # at the end, one may take half of what the other has left


def test_without_tasks_nobody_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "Popen", None)
    assert [*workers.rows([], fakes.FakeBench(), 2)] == []


def test_there_are_no_more_workers_than_tasks() -> None:
    started = list[int]()
    for _ in workers.rows(grouped(fakes.tasks(2)), fakes.FakeBench(seconds=0.2), 16):
        started.append(len(workers_of(os.getpid())))
    assert max(started) <= 2


def test_groups_are_taken_as_they_are_needed() -> None:
    taken = list[int]()

    def groups() -> Iterator[Group]:
        for k in range(1000):
            taken.append(k)
            yield [fakes.task(k)]

    rows = workers.rows(groups(), fakes.FakeBench(), 2)
    for _ in range(10):
        next(rows)
    assert len(taken) < 20
    running = workers_of(os.getpid())
    assert running
    rows.close()  # type: ignore[attr-defined]
    assert orphans(running) == 0


def test_a_pool_stays_warm_and_forgets_what_nobody_wants() -> None:
    with workers.Pool(fakes.FakeBench(seconds=0.01), 2) as pool:
        assert len([*pool.rows([fakes.tasks(8)])]) == 8
        first = workers_of(os.getpid())
        assert sorted(row["key"] for row, _ in pool.rows([fakes.tasks(8)])) == [task.key for task in fakes.tasks(8)]
        assert workers_of(os.getpid()) == first
        given_up = pool.rows([fakes.tasks(100)])
        next(given_up)
        given_up.close()  # type: ignore[attr-defined]
        assert [row for row, _ in pool.rows([[fakes.task(200)]])] == [fakes.row(200)]
        running = workers_of(os.getpid())
    assert orphans([*first, *running]) == 0


def test_workers_that_cannot_be_started_are_said() -> None:
    with pytest.raises(
        RunError, match=r"^no worker can be started with 1 MiB of memory: it ended with exit status \d+"
    ):
        rows_of(fakes.FakeBench(), 2, memory_bytes=MIB)


def test_a_worker_has_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "7")
    found = workers.rows([[fakes.task(1)]], fakes.EnvironmentBench(variable="OPENBLAS_NUM_THREADS"), 1)
    assert [row["reason"] for row, _ in found] == ["1"]


def test_a_script_that_guards_nothing_may_sweep(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from tests.explore import fakes\n"
        "from tilesim.explore import workers\n"
        "print(len([*workers.rows([fakes.tasks(4)], fakes.FakeBench(), 2)]))\n"
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
    assert 0 < len(store_rows(path)) < 150
    assert os.waitpid(begin(path), 0)[1] == 0
    assert store_rows(path) == [fakes.row(k) for k in range(150)]


def test_a_sweep_takes_over_from_one_that_dies(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    first = begin(path)
    started(path.with_suffix(".diary"), 5)
    second = begin(path)
    time.sleep(0.1)
    kill(first)
    os.waitpid(first, 0)
    assert os.waitpid(second, 0)[1] == 0
    assert store_rows(path) == [fakes.row(k) for k in range(150)]
    often = Counter(number for number, _ in runs(path.with_suffix(".diary")))
    assert sum(often.values()) <= 150 + 2 * workers.AHEAD  # what the dead one was at


@pytest.mark.parametrize("rounds", counts(10, 200))
def test_no_kill_loses_a_row(tmp_path: Path, rounds: int) -> None:
    words = [sys.executable, ROOT / "tests" / "explore" / "kill_sweeps.py", str(rounds), tmp_path]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    count = json.loads(done.stdout)
    assert {name: count[name] for name in ("lost", "wrong", "orphans", "differ", "left")} == dict.fromkeys(
        ("lost", "wrong", "orphans", "differ", "left"), 0
    )
    assert count["sweeps"] + count["workers"] >= rounds
