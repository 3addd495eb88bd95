"""The best points of each network."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.explore import fakes
from tilesim.explore.row import Row
from tilesim.explore.rows.answers import FASTEST, Objective, best, by_network


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
