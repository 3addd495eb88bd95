"""Sweeps: what runs, once, and what others run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.explore import fakes
from tilesim.errors import RunError
from tilesim.explore.conditions.expression import expression
from tilesim.explore.rows.answers import Judge, Objective
from tilesim.explore.rows.store import Store
from tilesim.explore.running.sweeping import LARGEST_GROUP, Group, Progress, Timed, alone, grouped, sweep


def ran(diary: Path) -> Counter[int]:
    """How often each number ran."""
    return Counter(int(line.split()[0]) for line in diary.read_text().splitlines())


def test_each_point_runs_once_and_what_is_there_does_not(tmp_path: Path) -> None:
    bench = fakes.FakeBench(refuses=frozenset({3}), diary=tmp_path / "diary")
    seen: list[Progress] = []
    with Store(tmp_path / "store.db") as store:
        first = sweep(fakes.tasks(5), store, partial(alone, bench=bench))
        twice = [*fakes.tasks(8), fakes.task(7, "spelt otherwise")]
        last = sweep(twice, store, partial(alone, bench=bench), seen.append, total=9)
        assert store.rows() == [fakes.row(k, *(["refused", "too small"] if k == 3 else [])) for k in range(8)]
    assert ran(tmp_path / "diary") == Counter(range(8))
    assert (first.done, first.total, first.found, first.refused, first.failed) == (5, 5, 0, 1, 0)
    assert (last.done, last.total, last.found, last.refused, last.failed) == (8, 8, 5, 1, 0)
    assert [progress.done for progress in seen] == [*range(1, 9)]
    assert (seen[0].total, seen[0].seconds_left) == (9, None)
    assert last.rate_per_second > 0
    assert last.seconds_left == 0
    assert last.best == {"net": fakes.row(0)}
    assert sorted(last.keys) == [f"{k:08x}" for k in range(8)]


def test_the_best_is_by_what_is_judged_and_only_of_what_counts(tmp_path: Path) -> None:
    judge = Judge(Objective("cycles", maximise=True), [expression("bytes.ring < 15")])
    bench = fakes.FakeBench(refuses=frozenset({4}))
    seen: list[Progress] = []
    with Store(tmp_path / "store.db") as store:
        sweep(fakes.tasks(8), store, partial(alone, bench=bench), seen.append, judge=judge)
    assert [progress.best["net"] for progress in seen] == [fakes.row(k) for k in (0, 0, 1, 2, 3, 3, 3, 3)]
    assert seen[-1].objective == judge.objective


def test_what_is_written_stays_when_a_runner_cannot_go_on(tmp_path: Path) -> None:
    def breaking(groups: Iterable[Group]) -> Iterator[Timed]:
        for count, timed in enumerate(alone(groups, fakes.FakeBench())):
            if count == 3:
                raise RunError("nobody runs it")
            yield timed

    with Store(tmp_path / "store.db") as store:
        with pytest.raises(RunError, match="nobody runs it"):
            sweep(fakes.tasks(9), store, breaking)
        assert len(store.keys()) == 3
        assert sweep(fakes.tasks(9), store, partial(alone, bench=fakes.FakeBench())).done == 9


def test_two_sweeps_at_once_share_the_points(tmp_path: Path) -> None:
    bench = fakes.FakeBench(seconds=0.002, diary=tmp_path / "diary")
    shares = list[int]()

    def take_part() -> None:
        with Store(tmp_path / "store.db") as store:
            progress = sweep(fakes.tasks(200), store, partial(alone, bench=bench))
            assert (progress.done, progress.total) == (200, 200)
            shares.append(progress.done - progress.found)

    sweeps = [Thread(target=take_part) for _ in range(3)]
    for thread in sweeps:
        thread.start()
    for thread in sweeps:
        thread.join()
    assert ran(tmp_path / "diary") == Counter(range(200))
    assert sum(shares) == 200
    assert min(shares) > 0
    with Store(tmp_path / "store.db") as store:
        assert store.rows() == [fakes.row(k) for k in range(200)]


@given(st.lists(st.integers(0, 20), max_size=300))
def test_groups_are_all_tasks_by_program(programs: list[int]) -> None:
    tasks = [fakes.task(k, str(program)) for k, program in enumerate(programs)]
    groups = [*grouped(tasks)]
    assert sorted(task.key for group in groups for task in group) == [task.key for task in tasks]
    assert all(len({task.program for task in group}) == 1 <= len(group) <= LARGEST_GROUP for group in groups)


def test_tasks_are_made_as_they_are_needed() -> None:
    made = list[int]()

    def slowly() -> Iterator[fakes.Task]:
        for k in range(100_000):
            made.append(k)
            yield fakes.task(k, str(k))

    groups = grouped(slowly())
    next(groups)
    assert len(made) < 100
    for _ in range(1000):
        next(groups)
    assert len(made) < 6000
