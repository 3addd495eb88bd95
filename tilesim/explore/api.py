"""The public call of sweeps, and what the command line of sweeps is made of."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from tilesim import api
from tilesim.api.arguments import checked
from tilesim.budgets import MOST_SEARCHED_POINTS
from tilesim.errors import kept, refuse
from tilesim.explore.bench.measure import Bench
from tilesim.explore.bench.task import tasks
from tilesim.explore.conditions.names import EVERY, unmeasured
from tilesim.explore.design.space import Space, measures_on, space
from tilesim.explore.point import Value
from tilesim.explore.rows.answers import FASTEST, Judge, Objective, early, hold, late, narrowed
from tilesim.explore.rows.export import Cell, flat_rows
from tilesim.explore.rows.store import Store
from tilesim.explore.running.sweeping import Progress, Runner, silent
from tilesim.explore.running.sweeping import sweep as run_tasks
from tilesim.network.graph import Network

STORE = "sweep.sqlite"
"""What a store is called that nobody keeps."""


@dataclass(frozen=True)
class Crew:
    """Who runs the points of a sweep."""

    workers: int | None = None
    """Processes; None: one a core."""
    memory_bytes: int | None = None
    """What each of them may take; None: its part of what there is."""
    scheduler: str | None = None
    """The address or the file of a Dask cluster's scheduler, whose workers run them instead."""

    def runner(self, networks: Mapping[str, Network]) -> Runner:
        """What runs groups of tasks."""
        bench = Bench(networks)
        if self.scheduler is not None:
            from tilesim.explore.running import cluster

            return partial(cluster.rows, bench=bench, scheduler=self.scheduler)
        from tilesim.explore.running import workers

        return partial(workers.rows, bench=bench, count=self.workers or cores(), memory_bytes=self.memory_bytes)

    @contextmanager
    def hired(self, networks: Mapping[str, Network]) -> Iterator[Runner]:
        """The same for who has several groups one after the other: its workers stay warm in between."""
        if self.scheduler is not None:
            yield self.runner(networks)
        else:
            from tilesim.explore.running.workers import WorkerPool

            with WorkerPool(Bench(networks), self.workers or cores(), self.memory_bytes) as pool:
                yield pool.rows


@dataclass(frozen=True)
class Search:
    """Not all points of a space run, but so many, among which the best are looked for."""

    points: int
    objectives: tuple[Objective, ...] = (FASTEST,)
    seed: int = 0


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@checked
def sweep(
    models: Sequence[str | Path] | str | Path,
    chips: Sequence[str | Path] | str | Path,
    vary: Mapping[str, Value | Sequence[Value]] | None = None,
    where: Sequence[str] | str = (),
    settings: Mapping[str, Value] | None = None,
    store: Path | str | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    search: int | None = None,
    minimise: Sequence[str] | str = (),
    maximise: Sequence[str] | str = (),
    seed: int = 0,
) -> list[dict[str, Cell]]:
    """Run every model on every chip with every combination of what varies; ``pandas.DataFrame(tilesim.sweep(...))``.

    Args:
        models, chips: files, or names of what comes with tilesim.
        vary: the values of keys of the chips, of ``grid``, ``partition``, ``cache``, ``inferences`` or ``schedule``: a
            list, or a text as the command line takes it, such as ``"2^4..2^8"`` or ``"squares:1..8"``.
        where: conditions, such as ``"grid.rows * tile.lanes <= 256"``; those that name a measure, such as
            ``"latency_us <= 1000"``, say which rows are given back.
        settings: keys of the chips that are changed in every point.
        store: a file in which rows are kept, so that nothing runs twice; None: nowhere.
        workers: how many processes run points; None: one a core.
        scheduler: the address or the file of a Dask scheduler, whose workers run them instead.
        search: how many points are run, of all; Optuna looks for the best among them.
        minimise, maximise: the measures by which it does; ``latency_us`` if not given.
        seed: of what is random in that.

    Returns:
        A row for each point, in the order of the points, of which the last key of ``vary`` varies fastest, or in which
        a search looked at them: the keys that vary and those in which the chips differ, options, ``status`` (``ran``,
        ``refused`` or ``failed``) with its ``reason``, and measures, None where a point did not run.

    Raises:
        InputError: faults in all that, at once; or a store that is none.
        RunError: the store can't be written.
    """
    what = space(_words(models), _words(chips), vary or {}, settings, [where] if isinstance(where, str) else where)
    numbers = {"workers": workers, "search": search}
    refuse(f"the {name} must be at least 1, not {n}" for name, n in numbers.items() if n is not None and n < 1)
    asked = objectives_of(_words(minimise), _words(maximise), measures_on(what.chips))
    crew, looked = Crew(workers, scheduler=scheduler), None if search is None else Search(search, asked, seed)
    with opened(None if store is None else Path(store)) as kept_rows:
        done = swept(what, kept_rows, crew, search=looked)
        rows = kept_rows.rows(done.keys)
    varied = [key for axis in what.axes for key in axis.keys]
    flat = {str(row["key"]): row for row in flat_rows(rows, varied)}
    return [flat[row["key"]] for row in narrowed(rows, late(what.where))]


def swept(
    what: Space,
    store: Store,
    crew: Crew,
    on_progress: Callable[[Progress], None] = silent,
    search: Search | None = None,
    objective: Objective = FASTEST,
) -> Progress:
    """Run the points of a space that the store has no rows of, all or those that a ``search`` looks at, and keep their
    rows there; the best of them, as it goes on, are those by the ``objective``, or by what the search looks for.

    Raises:
        InputError: models that can't be read, conditions that can't be worked out, too many points.
        RunError: the store can't be written.
    """
    networks = networks_of(what.models)
    if search is not None:
        from tilesim.explore.search.search import search as look

        what.must_have_at_most(MOST_SEARCHED_POINTS, "the space of a search")
        with crew.hired(networks) as run:
            return look(what, networks, store, run, search.points, search.objectives, search.seed, on_progress)
    points = what.points()
    wanted = tasks(points, networks, partial(hold, early(what.where)))
    return run_tasks(wanted, store, crew.runner(networks), on_progress, what.size, Judge(objective, late(what.where)))


def networks_of(models: Sequence[str]) -> dict[str, Network]:
    """The networks by the words that name them. Raises InputError: all that can't be read."""
    networks: dict[str, Network] = {}
    faults: list[str] = []
    for model in models:
        with kept(faults):
            networks[model] = api.load_network(model)
    refuse(faults)
    return networks


def objectives_of(
    minimise: Sequence[str], maximise: Sequence[str], measures: Collection[str] = EVERY
) -> tuple[Objective, ...]:
    """What points are judged by, of the ``measures`` of runs: the latency if nothing is named. Raises InputError."""
    given = [*(Objective(name) for name in minimise), *(Objective(name, maximise=True) for name in maximise)]
    refuse(unmeasurable(given, measures))
    refuse(f"maximise {name}: must be left out, as it is to be minimised" for name in sorted({*minimise} & {*maximise}))
    return tuple(given) or (FASTEST,)


def unmeasurable(objectives: Iterable[Objective], measures: Collection[str]) -> Iterator[str]:
    """A sentence for each objective that runs with these ``measures`` do not have."""
    for each in objectives:
        if fault := unmeasured(each.measure, measures):
            yield f"{'maximise' if each.maximise else 'minimise'} {fault}"


@contextmanager
def opened(path: Path | None) -> Iterator[Store]:
    """The store in a file; without one, a store that is gone at the end. Raises InputError."""
    if path is not None:
        with Store(path) as store:
            yield store
        return
    with TemporaryDirectory(prefix="tilesim-") as folder, Store(Path(folder) / STORE) as store:
        yield store


def _words(given: Sequence[str | Path] | str | Path) -> list[str]:
    return [str(given)] if isinstance(given, str | Path) else list(map(str, given))
