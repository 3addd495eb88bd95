"""A sweep: the points of it that have no row yet are run, and their rows kept."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import NamedTuple, TypeAlias

from tilesim.explore.bench.measure import Bench
from tilesim.explore.bench.task import Task
from tilesim.explore.row import Row
from tilesim.explore.rows.answers import FASTEST, Judge, Objective
from tilesim.explore.rows.store import Store

Group: TypeAlias = Sequence[Task]
"""Tasks of one program, which are best run one after the other in one place."""
LARGEST_GROUP = 64
MADE_AT_ONCE = 16
"""Tasks that are made while somebody waits for a group."""
MOST_WAITING = 4096
"""Tasks that are kept for the sake of others of their program, which may come."""
PATIENCE_SECONDS = 0.2
"""How long one waits before one looks again what another sweep has done."""
JUDGE = Judge()


class Timed(NamedTuple):
    """A row, and the processor time that it took."""

    row: Row
    seconds: float


Runner: TypeAlias = Callable[[Iterable[Group]], Iterator[Timed]]
"""Gives the rows of all tasks, in any order; it takes a group when there is somebody to run it."""


@dataclass(frozen=True)
class Progress:
    """How far a sweep is."""

    done: int
    """Points that have a row."""
    total: int
    """Points that there are, as far as that is known."""
    found: int
    """Points that had a row before, or that another sweep has run."""
    refused: int
    failed: int
    rate_per_second: float
    """Points that this sweep has run, a second."""
    seconds_left: float | None
    """At that rate; None before the first."""
    best: dict[str, Row]
    """The best row of each network, of those that count."""
    keys: Collection[str]
    """The keys of the points, in their order, as far as they are known."""
    objective: Objective = FASTEST
    """In which they are the best."""


def silent(_progress: Progress) -> None:
    pass


def sweep(
    tasks: Iterable[Task],
    store: Store,
    run: Runner,
    on_progress: Callable[[Progress], None] = silent,
    total: int = 0,
    judge: Judge = JUDGE,
) -> Progress:
    """Run the tasks that have no row in the store, and keep their rows there.

    What another sweep is at is left to it, and waited for; if that dies, it is run here.

    Args:
        tasks: the points, made one by one as they are needed; what is there twice runs once.
        store: where rows are kept.
        run: who runs them.
        on_progress: hears of each row.
        total: how many tasks there are at most, as long as not all are made.
        judge: says which rows are the best.

    Raises:
        RunError: the store cannot be written, or there is nobody to run a point.
    """
    going = _Sweep(store, run, on_progress, total, judge)
    try:
        left = going.through(going.distinct(tasks))
        while left:
            before, left = left, going.through(left)
            if len(left) == len(before):
                time.sleep(PATIENCE_SECONDS)
    finally:
        store.release()
    return going.progress()


def alone(groups: Iterable[Group], bench: Bench) -> Iterator[Timed]:
    """Run tasks in this process."""
    for group in groups:
        for task in group:
            yield timed(bench, task)


def timed(bench: Bench, task: Task) -> Timed:
    start = time.process_time()
    return Timed(bench.row(task), time.process_time() - start)


def grouped(tasks: Iterable[Task]) -> Iterator[Group]:
    """The tasks by programs, in the order of the first of each; they are made little by little."""
    source = iter(tasks)
    waiting: dict[str, list[Task]] = {}
    count = 0
    while True:
        for task in islice(source, min(MADE_AT_ONCE, MOST_WAITING - count)):
            waiting.setdefault(task.program, []).append(task)
            count += 1
        if not waiting:
            return
        program = next(iter(waiting))
        together = waiting.pop(program)
        if rest := together[LARGEST_GROUP:]:
            waiting[program] = rest
        count -= len(together) - len(rest)
        yield together[:LARGEST_GROUP]


class _Sweep:
    """A sweep that is going on, and what it has counted."""

    def __init__(
        self, store: Store, run: Runner, on_progress: Callable[[Progress], None], total: int, judge: Judge
    ) -> None:
        self._store, self._run, self._on_progress, self._total, self._judge = store, run, on_progress, total, judge
        self._keys: dict[str, None] = {}
        self._statuses: Counter[str] = Counter()
        self._best: dict[str, Row] = {}
        self._ran = 0
        self._start_seconds = time.monotonic()

    def distinct(self, tasks: Iterable[Task]) -> Iterator[Task]:
        """Each task once."""
        for task in tasks:
            if task.key not in self._keys:
                self._keys[task.key] = None
                yield task
        self._total = len(self._keys)

    def through(self, tasks: Iterable[Task]) -> list[Task]:
        """Run those of the tasks that have no row; those that another sweep is at are left."""
        left: list[Task] = []
        groups = self._claimed(grouped(self._unknown(tasks)), left)
        if first := next(groups, None):  # for nothing, no worker has to be woken
            for row, seconds in self._run(chain([first], groups)):
                self._store.add(row, seconds)
                self._ran += 1
                self._note(row)
        return left

    def progress(self) -> Progress:
        done, total = self._statuses.total(), max(self._total, len(self._keys))
        rate = self._ran / max(time.monotonic() - self._start_seconds, 1e-9)
        return Progress(
            done,
            total,
            done - self._ran,
            self._statuses["refused"],
            self._statuses["failed"],
            rate,
            (total - done) / rate if self._ran else None,
            dict(self._best),
            self._keys.keys(),
            self._judge.objective,
        )

    def _unknown(self, tasks: Iterable[Task]) -> Iterator[Task]:
        """Those without a row."""
        known = self._store.keys()
        for task in tasks:
            row = self._store.row(task.key) if task.key in known else None
            if row is None:
                yield task
            else:
                self._note(row)

    def _claimed(self, groups: Iterable[Group], left: list[Task]) -> Iterator[Group]:
        for group in groups:
            claimed = self._store.claim([task.key for task in group])
            left += (task for task in group if task.key not in claimed)
            if mine := [task for task in group if task.key in claimed]:
                yield mine

    def _note(self, row: Row) -> None:
        self._statuses[row["status"]] += 1
        if self._judge.prefers(row, self._best.get(row["network"])):
            self._best[row["network"]] = row
        self._on_progress(self.progress())
