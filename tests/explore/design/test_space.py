"""Which points a design space has, in what order, and what can't be one."""

from __future__ import annotations

from itertools import islice, pairwise
from math import prod
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilesim.budgets import MOST_POINTS
from tilesim.errors import InputError
from tilesim.explore.design.space import Axis, Space, axis, space
from tilesim.explore.point import Point, PointOptions


def faults(*words: str, models: tuple[str, ...] = ("pocket",), chips: tuple[str, ...] = ("pocket-2x1",)) -> list[str]:
    """What is wrong with a space of these axes."""
    with pytest.raises(InputError) as error:
        space(models, chips, [axis(word) for word in words])
    return list(error.value.faults)


def test_the_last_axis_varies_fastest() -> None:
    made = space(["pocket", "digits"], ["edge-2x2"], {"grid": "1x1,1x2", "tile.lanes": [32, 64], "cache": "on,off"})
    points = [*made.points()]
    assert len(points) == made.size == 16
    assert points[0] == Point("pocket", "edge-2x2", {"grid.rows": 1, "grid.columns": 1, "tile.lanes": 32})
    assert points[1].options == PointOptions(cache=False)
    assert points[2].settings["tile.lanes"] == 64
    assert points[4].settings == {"grid.rows": 1, "grid.columns": 2, "tile.lanes": 32}
    assert points[8].model == "digits"
    assert points[-1].command == (
        "tilesim run digits -t edge-2x2 --set grid.rows=1 --set grid.columns=2 --set tile.lanes=64 --no-cache"
    )


def test_settings_hold_for_all_points_and_options_are_axes() -> None:
    vary = {"schedule": ["none", "fastest"], "inferences": "2^0..2^1"}
    made = space(["pocket"], ["systolic-4"], vary, {"array.rows": 8})
    assert [(point.settings, point.options) for point in made.points()] == [
        ({"array.rows": 8}, PointOptions(schedule="none")),
        ({"array.rows": 8}, PointOptions(schedule="none", inferences=2)),
        ({"array.rows": 8}, PointOptions()),
        ({"array.rows": 8}, PointOptions(inferences=2)),
    ]
    both = space(["pocket"], ["edge-2x2"], {"partition": "auto"}, {"grid": "2x1", "tile.lanes": 32})
    assert [*both.points()] == [
        Point(
            "pocket", "edge-2x2", {"grid.rows": 2, "grid.columns": 1, "tile.lanes": 32}, PointOptions(partition="auto")
        )
    ]


def test_a_space_without_axes_has_a_point_for_each_model_and_chip() -> None:
    assert [point.chip for point in space(["pocket"], ["edge-1x1", "systolic-4"]).points()] == [
        "edge-1x1",
        "systolic-4",
    ]


@given(st.lists(st.lists(st.integers(), min_size=1, max_size=4, unique=True), max_size=4))
def test_points_are_all_combinations_each_once(values: list[list[int]]) -> None:
    made = Space(("m", "n"), ("c",), tuple(Axis(f"k{k}", tuple(own)) for k, own in enumerate(values)))
    points = [*made.points()]
    assert len(points) == made.size == 2 * prod(map(len, values))
    assert len({(point.model, *point.settings.values()) for point in points}) == len(points)
    for k, own in enumerate(values):
        changes = sum(a.settings[f"k{k}"] != b.settings[f"k{k}"] for a, b in pairwise(points))
        inner = prod(map(len, values[k + 1 :]))
        assert changes == (len(points) // inner - 1 if len(own) > 1 else 0)


def test_too_many_points_are_refused_before_any_is_made() -> None:
    made = Space(("m",), ("c", "d"), (Axis("a", (*range(1000),)), Axis("b", (*range(1000),))))
    with pytest.raises(InputError) as error:
        made.points()
    sizes = "1 model x 2 chips x a 1,000 x b 1,000 = 2,000,000"
    assert str(error.value) == f"a sweep must have at most {MOST_POINTS:,} points, not {sizes}"
    vast = Space(("m",), ("c",), tuple(Axis(f"k{k}", (*range(10_000),)) for k in range(9)))
    with pytest.raises(InputError, match=f" = 1{',000' * 12}$"):
        vast.points()
    half = Space(("m",), ("c",), made.axes)
    assert len([*islice(half.points(), 3)]) == 3


@pytest.mark.parametrize("word", ["", "tile.lanes", "tile.lanes=", "=3"])
def test_an_axis_is_a_key_and_values(word: str) -> None:
    with pytest.raises(
        InputError, match=rf"^vary {word}: must be KEY=VALUES, such as tile.lanes=32,64 or grid=1x1,1x2$"
    ):
        axis(word)


def test_a_key_that_the_chip_does_not_have() -> None:
    [fault] = faults("tile.lane=3")
    assert fault == "vary tile.lane: must be a key of pocket-2x1, not 'tile.lane'; did you mean 'tile.lanes'?"
    [fault] = faults("partitions=auto")
    assert fault.endswith("; did you mean 'partition'?")
    assert [fault.partition(": ")[0] for fault in faults("grid=1x1", chips=("systolic-4", "tpu-v1"))] == 2 * [
        "vary grid"
    ]
    [fault] = faults("tile.lanes=4", chips=("pocket-2x1", "systolic-4"))
    assert fault.startswith("vary tile.lanes: must be a key of systolic-4, not ")


def test_options_that_mean_nothing_to_a_chip() -> None:
    [fault] = faults("schedule=lcm")
    assert fault == "vary schedule: applies to chips that can run batches, such as tpu-v1, not to pocket-2x1"
    assert len(faults("cache=on,off", "partition=auto", chips=("systolic-4",))) == 2
    [fault] = faults("machine=tiled,systolic")
    assert fault == "vary machine: must be left out; name a chip of the other machine"
    with pytest.raises(InputError, match="settings machine: must be left out; name a chip of the other machine"):
        space(["pocket"], ["edge-2x2"], settings={"machine": "systolic"})


def test_nothing_is_changed_twice() -> None:
    assert faults("tile.lanes=32", "tile.lanes=64") == [
        "vary tile.lanes: must be left out, as tile.lanes varies already"
    ]
    assert faults("grid=1x1", "grid.rows=2") == ["vary grid.rows: must be left out, as grid.rows varies already"]
    assert faults("grid.rows=2", "grid=1x1") == ["vary grid, grid.rows: must be left out, as grid.rows varies already"]
    with pytest.raises(InputError, match=r"vary grid.rows: must be left out, as grid.rows is set for all points"):
        space(["pocket"], ["edge-2x2"], {"grid.rows": [1]}, {"grid": "2x2"})


def test_a_model_may_be_called_as_a_chip_is() -> None:
    with pytest.raises(InputError) as error:
        space(["same"], ["same"])
    assert [fault.partition(";")[0] for fault in error.value.faults] == ["same: there is no such topology"]


def test_a_long_word_that_is_no_axis_is_shortened() -> None:
    with pytest.raises(InputError) as error:
        axis("x" * 100_000)
    assert len(str(error.value)) < 200


def test_a_grid_that_is_set_is_said_to_be_set() -> None:
    with pytest.raises(InputError, match=r"^settings grid: a grid must be ROWSxCOLUMNS"):
        space(["pocket"], ["edge-2x2"], settings={"grid": 5})


def test_all_faults_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        space(
            ["pocket", "pocket"],
            ["edge-2x2", str(tmp_path / "none.yaml")],
            {"grid": "2", "cache": "maybe"},
            {"partition": "auto", "tile.lane": 3, "grid": "two"},
            ["grid.row < 3", "1 +", "latency_us < 1000 and bytes.ring < 3 and area_mm2 < 2 and network == 'pocket'"],
        )
    starts = [
        "pocket: must be given once, not 2 times",
        "vary grid: ",
        "vary cache: ",
        "settings grid: ",
        "where '1 +', character 4: ",
        str(tmp_path / "none.yaml"),
        "settings partition: must be a key of edge-2x2, not 'partition'",
        "settings tile.lane: must be a key of edge-2x2, not 'tile.lane'; did you mean 'tile.lanes'?",
        "where 'grid.row < 3': grid.row must be a key, an option or a measure, not 'grid.row'; did you mean 'grid.row",
    ]
    assert len(error.value.faults) == len(starts)
    assert all(map(str.startswith, error.value.faults, starts)), error.value.faults


def test_a_space_must_have_models_and_chips() -> None:
    with pytest.raises(InputError) as error:
        space([], [])
    assert error.value.faults == ("a sweep must have a model", "a sweep must have a chip")
