"""A search is the same whatever runs its points and however often it dies, and it finds what there is to find."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median

import pytest

from tests.explore import fakes
from tests.explore.kill_sweeps import told_by
from tests.soak import counts
from tilesim import api
from tilesim.errors import InputError
from tilesim.explore.bench.measure import Bench
from tilesim.explore.bench.task import Task, chip_values, tasks
from tilesim.explore.design.space import Space, space
from tilesim.explore.row import Measures, Row
from tilesim.explore.rows.answers import Objective, best, late, named_values, narrowed
from tilesim.explore.rows.store import Store
from tilesim.explore.running import workers
from tilesim.explore.running.sweeping import Group, Progress, Timed, sweep
from tilesim.explore.search import search as searching
from tilesim.explore.search.search import search

NETWORKS = {"digits": api.load_network("digits")}
VARY = {"grid": "1x1,1x2,2x2,2x4,4x4", "tile.lanes": "8,16,32,64", "ring.hop_cycles": "1..4", "cache": "on,off"}
LATENCY = (Objective("latency_us"),)


def row_of(task: Task) -> Row:
    """By a formula, which has its least latency, of 1.6 us, neither at the largest chip nor at the smallest."""
    assert task.topology is not None
    chip = chip_values(task.topology)
    tiles, lanes = int(chip["grid.rows"]) * int(chip["grid.columns"]), int(chip["tile.lanes"])
    penalty = 40 * tiles * int(chip["ring.hop_cycles"]) + 100 * (1 - task.point.options.cache)
    cycles = 100_000 // (tiles * lanes) + penalty + lanes
    measures: Measures = {**fakes.measures(cycles), "latency_us": cycles / 500}
    row = fakes.row(1)
    return {**row, "key": task.key, "chip": chip, "area": {"macs": tiles * (lanes + 50) / 100}, "measures": measures}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Progress:
    """Of a search for 24 points that nothing disturbed."""
    return searched(tmp_path_factory.mktemp("search") / "s.db", Formula(), 24)


@dataclass
class Formula:
    """Gives rows at once, in no order that a search knows; it may die."""

    dies_after: int = 10**9
    refuses: bool = False
    ran: list[str] = field(default_factory=list)

    def __call__(self, groups: Iterable[Group]) -> Iterator[Timed]:
        for task in sorted((task for group in groups for task in group), key=lambda task: task.key):
            if len(self.ran) == self.dies_after:
                raise KeyboardInterrupt
            self.ran.append(task.key)
            row = row_of(task)
            if self.refuses and row["area"]["macs"] > 8:
                row = {**row, "status": "refused", "reason": "too large", "measures": None}
            yield Timed(row, 0.0)


def exhaustive(wanted: Space) -> list[Row]:
    return narrowed([row_of(task) for task in tasks(wanted.points(), NETWORKS)], late(wanted.where))


def searched(
    path: Path, run: Formula, count: int = 48, where: Sequence[str] = (), objectives: Sequence[Objective] = LATENCY
) -> Progress:
    with Store(path) as store:
        return search(space(["digits"], ["edge-2x2"], VARY, where=where), NETWORKS, store, run, count, objectives)


def test_it_finds_the_best_of_160_points_in_48(tmp_path: Path) -> None:
    wanted = space(["digits"], ["edge-2x2"], VARY)
    progress = searched(tmp_path / "s.db", run := Formula())
    assert (progress.done, progress.total, progress.found, len(run.ran)) == (48, 48, 0, 48)
    assert progress.best["net"] == best(exhaustive(wanted), LATENCY)[0]


def test_conditions_hold_for_what_it_finds_and_those_of_keys_cost_no_run(tmp_path: Path) -> None:
    where = ["grid.rows * grid.columns * tile.lanes <= 256", "latency_us <= 3"]
    area = (Objective("area_mm2"),)
    progress = searched(tmp_path / "s.db", Formula(), 40, where, area)
    expected = best(exhaustive(space(["digits"], ["edge-2x2"], VARY, where=where[1:])), area)[0]
    assert progress.best["net"]["area"] == expected["area"]
    with Store(tmp_path / "s.db") as store:
        chips = [row["chip"] for row in store.rows(progress.keys)]
    assert len(chips) == 40
    assert all(int(chip["grid.rows"]) * int(chip["grid.columns"]) * int(chip["tile.lanes"]) <= 256 for chip in chips)


def test_what_does_not_run_is_avoided(tmp_path: Path) -> None:
    progress = searched(tmp_path / "s.db", Formula(refuses=True))
    assert 0 < progress.refused < 24
    fit = [row for row in exhaustive(space(["digits"], ["edge-2x2"], VARY)) if row["area"]["macs"] <= 8]
    assert progress.best["net"] == best(fit, LATENCY)[0]


def test_of_several_objectives_it_looks_for_the_front(tmp_path: Path) -> None:
    objectives = (Objective("latency_us"), Objective("area_mm2"))
    progress = searched(tmp_path / "s.db", Formula(), 40, objectives=objectives)
    with Store(tmp_path / "s.db") as store:
        front = best(store.rows(progress.keys), objectives)
    whole = {row["key"] for row in best(exhaustive(space(["digits"], ["edge-2x2"], VARY)), objectives)}
    assert len({row["key"] for row in front} & whole) >= 0.5 * len(whole)


def test_after_interruptions_it_ends_as_if_there_had_been_none(tmp_path: Path, undisturbed: Progress) -> None:
    ran: list[str] = []
    for dies_after in (0, 3, 5, 9):
        with pytest.raises(KeyboardInterrupt):
            searched(tmp_path / "s.db", run := Formula(dies_after), 24)
        ran += run.ran
    progress = searched(tmp_path / "s.db", run := Formula(), 24)
    assert [*progress.keys] == [*undisturbed.keys]
    assert progress.best == undisturbed.best
    assert len([*ran, *run.ran]) == len({*ran, *run.ran}) == 24
    again = searched(tmp_path / "s.db", run := Formula(), 24)
    assert (again.done, again.found, run.ran, [*again.keys]) == (24, 24, [], [*undisturbed.keys])


@pytest.mark.parametrize("rounds", counts(1, 60))
def test_no_kill_changes_how_it_ends(tmp_path: Path, rounds: int) -> None:
    count = told_by("kill_searches.py", rounds, tmp_path)
    assert (count["differ"], count["lost"]) == (0, 0)
    assert count["killed"] == rounds


def test_a_search_goes_on_to_more_points(tmp_path: Path, undisturbed: Progress) -> None:
    assert [*searched(tmp_path / "s.db", Formula(), 11).keys] == [*undisturbed.keys][:11]
    assert [*searched(tmp_path / "s.db", run := Formula(), 24).keys] == [*undisturbed.keys]
    assert len(run.ran) == 24 - 11


def test_points_with_a_row_do_not_run_and_change_nothing(tmp_path: Path, undisturbed: Progress) -> None:
    with Store(tmp_path / "s.db") as store:
        for row in exhaustive(space(["digits"], ["edge-2x2"], VARY))[::2]:
            store.add(row, 0.0)
    progress = searched(tmp_path / "s.db", run := Formula(), 24)
    assert [*progress.keys] == [*undisturbed.keys]
    assert progress.found == 24 - len(run.ran) > 4


def test_a_seed_of_its_own_is_another_search_beside_it(tmp_path: Path) -> None:
    wanted, path = space(["digits"], ["edge-2x2"], VARY), tmp_path / "s.db"
    with Store(path) as store:
        found = [[*search(wanted, NETWORKS, store, Formula(), 16, LATENCY, seed).keys] for seed in (0, 1, 0)]
    assert found[0] == found[2] != found[1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s.db", "s.db.optuna"]


def test_it_ends_when_all_points_were_looked_at(tmp_path: Path) -> None:
    progress = searched(tmp_path / "s.db", Formula(), 1000, ["cache", "ring.hop_cycles == 1", "tile.lanes <= 16"])
    assert (progress.done, progress.total, len(progress.keys)) == (10, 1000, 10)


def test_a_space_without_a_point_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no point to look at: its conditions hold for none that was drawn"):
        searched(tmp_path / "s.db", Formula(), 8, ["tile.lanes < 8"])
    odd = space(["digits"], ["edge-2x2"], {"tile.lanes": "48,80"})
    with Store(tmp_path / "s.db") as store, pytest.raises(InputError, match=r"tile\.lanes must be a power of two"):
        search(odd, NETWORKS, store, Formula(), 8, LATENCY)


CHIPS = {
    "grid": "1x1,1x2,2x2,1x4,2x4",
    "tile.lanes": "8,16,32,64",
    "narrow_memory.size_bytes": "16KiB,32KiB,64KiB,128KiB,192KiB",
    "wide_memory.size_bytes": "16KiB,32KiB,64KiB,128KiB,256KiB",
    "clock_hz": "250MHz,400MHz,500MHz,800MHz",
}


def nobody(groups: Iterable[Group]) -> Iterator[Timed]:
    """Runs nothing, as all has run."""
    assert [*groups] == []
    yield from ()


@pytest.mark.soak
def test_200_runs_come_near_the_best_of_2000_points(tmp_path: Path) -> None:
    """Within 5 %, in the median of ten seeds, whatever is looked for."""
    bench = Bench(NETWORKS)
    with Store(tmp_path / "all.db") as store:
        points = space(["digits"], ["edge-2x2"], CHIPS).points()
        assert sweep(tasks(points, NETWORKS), store, partial(workers.rows, bench=bench, count=2)).total == 2000
        rows = store.rows()
        for objective, where in (
            (Objective("latency_us"), []),
            (Objective("latency_us"), ["area_mm2 <= 10"]),
            (Objective("area_mm2"), ["latency_us <= 5"]),
            (Objective("energy_pj"), ["latency_us <= 4", "grid.rows * grid.columns * tile.lanes <= 128"]),
        ):
            wanted = space(["digits"], ["edge-2x2"], CHIPS, where=where)
            [optimum, *_] = best(narrowed(rows, wanted.where), [objective])
            gaps = []
            for seed in range(10):
                progress = search(wanted, NETWORKS, store, nobody, 200, [objective], seed)
                found, least = (named_values(row)[objective.measure] for row in (progress.best["digits"], optimum))
                assert isinstance(found, float)
                assert isinstance(least, float)
                gaps.append(found / least - 1)
            print(objective.measure, where, [round(gap, 4) for gap in sorted(gaps)])
            assert median(gaps) <= 0.05


def test_without_optuna_its_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "find_spec", lambda _name: None)
    with pytest.raises(InputError, match=r"pip install tilesim\[sweep\]"):
        searched(tmp_path / "s.db", Formula())
