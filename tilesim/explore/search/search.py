"""Search: the best points of a space, found by Optuna with far fewer runs than there are points."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec

from tilesim.errors import InputError
from tilesim.explore.bench.digests import digest
from tilesim.explore.bench.task import Task
from tilesim.explore.conditions.expression import Expression
from tilesim.explore.conditions.violation import violation
from tilesim.explore.design.space import Space
from tilesim.explore.row import Row
from tilesim.explore.rows.answers import Objective, best, late, named_values
from tilesim.explore.rows.store import Store
from tilesim.explore.running.sweeping import Progress, Runner, silent, sweep
from tilesim.explore.search.places import Places
from tilesim.explore.search.sampler import SETTINGS, Outcome, Sampler
from tilesim.explore.search.study_file import StudyFile
from tilesim.network.graph import Network

AT_ONCE = 8
"""Points of a round, which is heard of together."""
DID_NOT_RUN = 10.0
"""By how much a point that did not run violates what it must: more than one that did."""
SUFFIX = ".optuna"
"""Of the file beside a store that has the studies of its searches."""


def must_have_optuna() -> None:
    """Raises InputError where it is not installed."""
    if find_spec("optuna") is None:
        raise InputError("searches are made by Optuna, which is not installed: pip install tilesim[sweep]")


def search(
    space: Space,
    networks: Mapping[str, Network],
    store: Store,
    run: Runner,
    count: int,
    objectives: Sequence[Objective],
    seed: int = 0,
    on_progress: Callable[[Progress], None] = silent,
) -> Progress:
    """Look at ``count`` points of a space, chosen by what came of those before; those without a row in the store run.

    What ``space.where`` says of keys and options keeps points from being looked at; what it says of measures, the best
    must fulfil. Points that can't run count as those that fulfil least. What Optuna heard is kept in ``STORE.optuna``:
    the same search goes on where it was, with a larger ``count`` too.

    The points are the same whatever runs them, how fast, and however often it was killed.

    Args:
        space: where to look.
        networks: the network of each of its models.
        store: where rows are kept.
        run: who runs points; it is asked once a round, of at most :data:`AT_ONCE` points.
        count: how many points to look at, at most.
        objectives: what is to be small, or large; of several, the Pareto front is looked for.
        seed: of what is random.
        on_progress: hears of each row.

    Returns:
        How it ended; ``keys`` are those of the points, and ``best`` has the best by ``objectives`` of each network.

    Raises:
        InputError: Optuna is not there, ``STORE.optuna`` is no file of its, a condition can't be worked out, no
            point is found for which those of keys and options hold and whose chip can be.
        RunError: a file cannot be written, or there is nobody to run a point.
    """
    must_have_optuna()
    places = Places(space, networks)
    maximise = [objective.maximise for objective in objectives]
    sampler = Sampler(places.dimensions, maximise, seed, places.task)
    going = _Search(store, run, count, on_progress, objectives, late(space.where))
    name = digest(places.digest, [tuple(objective) for objective in objectives], seed, AT_ONCE, SETTINGS)
    with StudyFile(store.path.with_name(store.path.name + SUFFIX), name, maximise) as kept:
        number = 0
        while not going.is_over:
            told = kept.round(number)
            choices = sampler.ask(AT_ONCE) if told is None else sampler.recall(told)
            outcomes = going.outcomes([task for choice in choices if (task := places.task(choice))])
            if told is None and len(outcomes) == len(choices):
                kept.add(number, sampler.tell(outcomes))
            number += 1
    if not going.progress.keys:
        reasons = places.refusals[:1] or ["its conditions hold for none that was drawn"]
        raise InputError(f"the space has no point to look at: {reason}" for reason in reasons)
    return going.progress


class _Search:
    """A search that is going on, and what it has counted."""

    def __init__(
        self,
        store: Store,
        run: Runner,
        count: int,
        on_progress: Callable[[Progress], None],
        objectives: Sequence[Objective],
        conditions: Sequence[Expression],
    ) -> None:
        self._store, self._run, self._on_progress = store, run, on_progress
        self._objectives, self._conditions = objectives, conditions
        self._start_seconds = time.monotonic()
        self._best: dict[str, Row] = {}
        self.is_over = count < 1
        """Whether as many points were looked at as there are to be, or as there are."""
        self.progress = Progress(0, count, 0, 0, 0, 0.0, None, {}, [])

    def outcomes(self, tasks: Sequence[Task]) -> list[Outcome]:
        """What comes of a round, but of no more points than are left."""
        before = self.progress
        tasks = tasks[: before.total - len(before.keys)]
        ended = sweep(tasks, self._store, self._run, lambda now: self._on_progress(self._together(before, now)))
        rows = self._store.rows([task.key for task in tasks])
        outcomes = [self._outcome(row) for row in rows]
        fit = [row for row, outcome in zip(rows, outcomes, strict=True) if outcome.is_feasible]
        ranked = best([*self._best.values(), *fit], self._objectives)
        self._best = {row["network"]: row for row in reversed(ranked)}
        self.progress = self._together(before, ended)
        self.is_over = len(tasks) < AT_ONCE or len(self.progress.keys) == before.total
        return outcomes

    def _together(self, before: Progress, now: Progress) -> Progress:
        """How far the search is, from how far it was before a round and how far that is."""
        done, found = before.done + now.done, before.found + now.found
        rate = (done - found) / max(time.monotonic() - self._start_seconds, 1e-9)
        return Progress(
            done,
            before.total,
            found,
            before.refused + now.refused,
            before.failed + now.failed,
            rate,
            (before.total - done) / rate if rate else None,
            self._best,
            [*before.keys, *now.keys],
            self._objectives[0],
        )

    def _outcome(self, row: Row) -> Outcome:
        values = named_values(row)
        measured = [values.get(objective.measure) for objective in self._objectives]
        numbers = tuple(float(value) for value in measured if isinstance(value, int | float))
        if row["measures"] is None or len(numbers) < len(measured):
            return Outcome((), {"runs": DID_NOT_RUN})
        absent = dict.fromkeys(name for condition in self._conditions for name in condition.names)
        missed = [violation(condition.term, {**absent, **values}) for condition in self._conditions]
        return Outcome(numbers, {condition.text: by for condition, by in zip(self._conditions, missed, strict=True)})
