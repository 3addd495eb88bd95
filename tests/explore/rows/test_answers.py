"""Which rows count, and what they are judged by."""

from __future__ import annotations

from math import isnan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.explore import fakes
from tilesim.errors import InputError
from tilesim.explore.conditions.expression import expression
from tilesim.explore.row import Row
from tilesim.explore.rows.answers import (
    FASTEST,
    Judge,
    Objective,
    best,
    by_network,
    early,
    late,
    named_values,
    narrowed,
    score,
)


def row(number: int, cycles: int, energy_pj: float) -> Row:
    made = fakes.row(number)
    assert made["measures"] is not None
    return {
        **made,
        "measures": {**made["measures"], "latency_us": cycles / 10, "cycles": cycles, "energy_pj": energy_pj},
    }


ROWS = [row(1, 30, 5.0), row(2, 10, 9.0), row(3, 20, 7.0), row(4, 30, 4.0), fakes.row(5, "refused", "too small")]


def numbers(rows: list[Row]) -> list[int]:
    return [int(row["key"], 16) for row in rows]


def test_names_of_parts_have_no_spaces() -> None:
    made = fakes.row(3)
    assert made["measures"] is not None
    made["measures"]["breakdown"]["no work"] = 2.0
    values = named_values(made)
    assert values["breakdown.no_work"] == 2.0
    assert (values["tile.lanes"], values["partition"], values["bytes.ring"], values["area_mm2"]) == (
        3,
        "spatial",
        9,
        0.5,
    )


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("cycles < 30", [2, 3]),
        ("energy_pj <= 5 and bytes.ring > 3", [4]),
        ("tile.lanes >= 3", [3, 4, 5]),
        ("not latency_us < 2.5", [1, 4]),
        ("status == 'refused'", [5]),
    ],
)
def test_narrowed(text: str, left: list[int]) -> None:
    assert numbers(narrowed(ROWS, [expression(text)])) == left


def test_all_conditions_must_hold_and_none_leaves_all() -> None:
    assert numbers(narrowed(ROWS, [expression("cycles < 30"), expression("tile.lanes > 2")])) == [3]
    assert narrowed(ROWS, []) == ROWS


def test_a_condition_on_what_no_row_has() -> None:
    with pytest.raises(InputError) as error:
        narrowed(ROWS, [expression("bytes.rung < 3")])
    assert str(error.value).startswith(
        "where bytes.rung must be a key, an option or a measure, not 'bytes.rung'; did you"
    )
    for known in ("bytes.mesh > 3", "peak_bytes.wide_memory > 3"):  # other runs on such a machine have them
        assert narrowed(ROWS, [expression(known)]) == []
    assert numbers(narrowed(ROWS, [expression("breakdown.no_work == 0 and cycles < 30")])) == [2, 3]
    with pytest.raises(InputError, match=r"^where 'cycles': it needs a condition"):
        narrowed(ROWS, [expression("cycles")])
    assert narrowed(ROWS[4:], [expression("bytes.rung < 3")]) == []


def test_words_for_numbers_of_a_chip_that_can_not_be_hide_nothing() -> None:
    ran, refused = fakes.row(1), fakes.row(2, "refused")
    ran["chip"]["wide_memory.size_bytes"], refused["chip"]["wide_memory.size_bytes"] = 64, "1 PiB"
    made = [ran, refused]
    assert narrowed(made, [expression("wide_memory.size_bytes < 100")]) == made


def test_what_rows_are_judged_by() -> None:
    assert score(ROWS[0], FASTEST) == 3.0
    assert score(ROWS[0], Objective("bytes.ring", maximise=True)) == -3.0
    assert isnan(score(ROWS[4], FASTEST))
    assert isnan(score(ROWS[0], Objective("bytes.mesh")))


def test_conditions_are_known_before_a_point_runs_or_after() -> None:
    made = [expression(text) for text in ("tile.lanes < 3 and cache", "cycles < 4 or cache", "area_mm2 < 3")]
    assert (early(made), late(made)) == (made[:1], made[1:])


def test_a_judge_prefers_what_is_smaller_or_larger_of_what_counts() -> None:
    slow, fast, middle, _, refused = ROWS
    assert Judge().prefers(fast, slow)
    assert not Judge().prefers(slow, slow)
    assert not Judge().prefers(refused, None)
    assert Judge(Objective("cycles", maximise=True)).prefers(slow, fast)
    assert not Judge(FASTEST, [expression("cycles > 10")]).prefers(fast, None)
    assert Judge(FASTEST, [expression("cycles > 10")]).prefers(middle, slow)
    assert not Judge(FASTEST, [expression("cycles / bytes.mesh > 0")]).prefers(fast, None)
    assert not Judge(FASTEST, [expression("1 / (cycles - 10) > 0")]).prefers(fast, None)


def test_the_best_of_one_objective() -> None:
    assert numbers(best(ROWS, [FASTEST])) == [2, 3, 1, 4]
    assert numbers(best(ROWS, [Objective("cycles", maximise=True)])) == [1, 4, 3, 2]
    assert best(ROWS, [Objective("bytes.mesh")]) == []


def test_the_pareto_front_of_several() -> None:
    assert numbers(best(ROWS, [FASTEST, Objective("energy_pj")])) == [2, 3, 4]


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(0, 5)), max_size=12))
def test_the_front_is_what_nobody_dominates(points: list[tuple[int, int]]) -> None:
    rows = [row(k, cycles, energy) for k, (cycles, energy) in enumerate(points)]
    front = {
        k
        for k, (cycles, energy) in enumerate(points)
        if not any(c <= cycles and e <= energy and (c, e) != (cycles, energy) for c, e in points)
    }
    assert {*numbers(best(rows, [FASTEST, Objective("energy_pj")]))} == front


def test_each_network_has_its_own() -> None:
    other = row(9, 500, 1.0)
    other["network"] = "other"
    assert {name: numbers(rows) for name, rows in by_network([other, *ROWS], [FASTEST]).items()} == {
        "other": [9],
        "net": [2, 3, 1, 4],
    }
    assert by_network(ROWS[4:], [FASTEST]) == {}


def test_of_equal_points_the_smaller_chip_comes_first() -> None:
    large, small = row(1, 10, 1.0), row(2, 10, 1.0)
    large["area"] = {"macs": 9.0}
    assert numbers(best([large, small, row(0, 10, 1.0)], [FASTEST])) == [0, 2, 1]
