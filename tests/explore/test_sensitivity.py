"""Which steps there are of a chip's keys, and that each differs from the base in its key alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilesim
from tilesim.errors import CapacityError, ConfigError, InputError, RunError
from tilesim.explore.bench.measure import Bench
from tilesim.explore.bench.task import Task, chip_values
from tilesim.explore.point import Point, PointOptions, Value
from tilesim.explore.row import Row
from tilesim.explore.rows.store import Store
from tilesim.explore.running.sweeping import Group, Timed, alone
from tilesim.explore.sensitivity import Factor, factors, measured, steps, sweeping

PATTERN = "a key of the chip or an option, or a pattern such as tile.*"
FOLLOWS = {"wide_memory.row_bytes": "ring.width_bytes", "narrow_memory.word_bytes": "mesh.width_bytes"}
"""Keys with those that, not being given, are as they are."""
CHIPS = ("pocket-2x1", "edge-4x4", "fig2-5x2", "ring-8", "systolic-4", "tpu-v1")


def of(chip: str, changes: Mapping[str, Value] | None = None, options: PointOptions | None = None) -> dict[str, Factor]:
    """The factors of a chip by their names."""
    return {each.key: each for each in factors(tilesim.load_topology(chip, changes), options or PointOptions())}


def test_numbers_are_halved_and_doubled() -> None:
    found = of("edge-4x4")
    assert found["tile.lanes"] == Factor("tile.lanes", 64, "outputs that are computed at once", (32, 128))
    assert found["clock_hz"].values == (250_000_000, 1_000_000_000)
    assert of("fig2-5x2")["grid.rows"].values == (10,)
    assert of("fig2-5x2")["grid.rows"].unstepped == "5 has no half that is whole"
    assert found["ring.hop_cycles"].values == (2,)


def test_a_number_at_zero_is_raised_as_little_as_the_chip_takes() -> None:
    found = of("edge-4x4")
    assert found["host.latency_cycles"].values == (1,)
    assert found["wide_memory.reserve_bytes"].values == (256,)  # a row
    assert of("edge-4x4", {"wide_memory.size_bytes": 256})["wide_memory.reserve_bytes"].values == ()


def test_switches_are_switched_and_words_give_way_to_the_others() -> None:
    found = of("edge-4x4")
    assert found["tile.strict_compare"].values == (True,)
    assert found["ring.queue"].values == ("shared",)
    assert found["partition"].values == ("spatial", "channel", "auto")
    assert found["cache"].values == (False,)
    other = of("edge-4x4", options=PointOptions("auto", cache=False))
    assert other["partition"].values == ("spatial", "channel", "mixed")
    assert other["cache"].values == (True,)


def test_what_means_nothing_to_the_chip_is_left_out() -> None:
    assert not {"name", "description", "machine"} & {*of("edge-4x4")}
    assert not {"partition", "cache"} & {*of("tpu-v1")}


def test_keys_are_chosen_by_patterns() -> None:
    chip = tilesim.load_topology("edge-4x4")
    assert [each.key for each in factors(chip, PointOptions(), ["mesh.c*", "cache"])] == ["mesh.credits", "cache"]
    with pytest.raises(InputError) as caught:
        factors(chip, PointOptions(), ["tile.lane", "nothing*", "grid.*"])
    assert caught.value.faults == (
        f"keys tile.lane: must be {PATTERN}, not 'tile.lane'; did you mean 'tile.lanes'?",
        f"keys nothing*: must be {PATTERN}, not 'nothing*'",
    )


@given(data=st.data())
def test_a_step_differs_from_the_base_in_its_key_alone(data: st.DataObject) -> None:
    chip = data.draw(st.sampled_from(CHIPS))
    settings = data.draw(st.dictionaries(st.sampled_from(["clock_hz", "host.latency_cycles"]), st.integers(1, 1000)))
    base = Point("pocket", chip, settings, data.draw(st.builds(PointOptions, cache=st.booleans())))
    own = tilesim.load_topology(chip, settings)
    values, options = chip_values(own), vars(base.options)
    for key, value, point in steps(base, data.draw(subset(factors(own, base.options)))):
        assert value != {**values, **options}[key]
        assert (point.model, point.chip) == (base.model, base.chip)
        changed = settings if key in options else {**settings, key: value}
        assert point.settings == changed
        with suppress(ConfigError):  # a step that the chip can't take is a point, too
            stepped = chip_values(tilesim.load_topology(chip, point.settings))
            follows = {FOLLOWS[key]: value} if key in FOLLOWS else {}
            assert {**stepped, **vars(point.options)} == {**values, **options, key: value, **follows}


def subset(every: Sequence[Factor]) -> st.SearchStrategy[list[Factor]]:
    return st.lists(st.sampled_from(every), min_size=1, max_size=4, unique=True)


# ---- a base and its steps, run


def every(base: Point, *patterns: str) -> list[Factor]:
    return factors(tilesim.load_topology(base.chip), base.options, patterns or ("*",))


class Here:
    """Runs tasks in this process, those of one program one after the other."""

    def __init__(self, model: str) -> None:
        self.networks = {model: tilesim.load_network(model)}
        self.bench = Bench(self.networks)
        self.calls: list[int] = []

    def __call__(self, tasks: Sequence[Task]) -> Iterator[Row]:
        self.calls.append(len(tasks))
        yield from map(self.bench.row, sorted(tasks, key=lambda task: task.program))


@pytest.mark.parametrize(
    ("model", "chip", "patterns"),
    [("pocket", "pocket-2x1", ["*"]), ("digits", "edge-2x2", ["wide_memory.*", "grid.*"])],
)
def test_the_keys_of_a_chip(model: str, chip: str, patterns: list[str]) -> None:
    here, base = Here(model), Point(model, chip)
    found = measured(base, every(base, *patterns), here.networks, here)
    assert here.calls == [1, len(found.steps)]
    assert [(step.key, step.value) for step in found.steps] == [(f.key, v) for f in found.factors for v in f.values]
    assert {step.row["status"] for step in found.steps} == {"ran", "refused"}
    assert all(bool(step.row["reason"]) == (step.row["status"] == "refused") for step in found.steps)
    ran = [step.row["measures"] for step in found.steps if step.row["measures"]]
    assert len({measures["outputs_sha256"] for measures in ran}) == 1  # a chip never changes results
    for step in found.steps:
        if step.row["status"] == "ran":
            assert {**step.row["chip"], **step.row["options"]}[step.key] == step.value


def test_a_systolic_machine() -> None:
    here, base = Here("batching"), Point("batching", "systolic-32")
    found = measured(base, every(base, "weight_memory.channel*"), here.networks, here)
    was = found.base["measures"]
    now = {(step.key, step.value): step.row["measures"] for step in found.steps}
    assert {*now} == {
        ("weight_memory.channels", 2),
        ("weight_memory.channel_bytes", 4),
        ("weight_memory.channel_bytes", 16),
    }
    cycles = [measures["cycles"] for measures in (was, *now.values()) if measures]
    assert cycles[2] > cycles[0] > cycles[1] == cycles[3]  # half as many bytes at once, and twice as many in two ways


@pytest.mark.parametrize(("status", "kind"), [("refused", CapacityError), ("failed", RunError)])
def test_a_base_that_does_not_run_is_the_end(status: str, kind: type[tilesim.errors.TilesimError]) -> None:
    here, base = Here("pocket"), Point("pocket", "pocket-2x1")

    def spoiled(tasks: Sequence[Task]) -> Iterable[Row]:
        return [Row(**{**row, "status": status, "reason": "it\ncan't", "measures": None}) for row in here(tasks)]

    with pytest.raises(kind, match="it\ncan't"):
        measured(base, every(base), here.networks, spoiled)
    assert here.calls == [1]


def test_a_chip_that_can_not_be_is_the_end() -> None:
    here, base = Here("pocket"), Point("pocket", "pocket-2x1", {"tile.lanes": 3})
    with pytest.raises(InputError, match=r"tile\.lanes must be a power of two, not 3"):
        measured(base, [], here.networks, here)


def test_what_a_store_has_is_not_run_again(tmp_path: Path) -> None:
    networks = {"pocket": tilesim.load_network("pocket")}
    bench, base = Bench(networks), Point("pocket", "pocket-2x1")
    crew: list[str] = []

    def counted(groups: Iterable[Group]) -> Iterator[Timed]:
        for row, seconds in alone(groups, bench):
            crew.append(row["command"])
            yield Timed(row, seconds)

    with Store(tmp_path / "rows.sqlite") as store:
        few = measured(base, every(base, "host.*"), networks, sweeping(store, bench, counted))
    assert sorted(crew) == sorted(step.row["command"] for step in few.steps)  # the base runs here
    with Store(tmp_path / "rows.sqlite") as store:
        more = measured(base, every(base, "host.*", "clock_hz"), networks, sweeping(store, bench, counted))
    assert len(crew) == len({*crew}) == len(more.steps)
    assert more.base == few.base
    assert [step for step in more.steps if step.key != "clock_hz"] == few.steps
