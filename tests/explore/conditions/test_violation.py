"""How far a condition is from being held: zero exactly where it holds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilesim.explore.conditions.expression import expression
from tilesim.explore.conditions.violation import MISSED, violation

VALUES = {"a": 10.0, "b": 8.0, "name": "edge", "on": True, "none": None}


@pytest.mark.parametrize(
    ("text", "missed"),
    [
        ("a >= b", 0.0),
        ("a <= b", 0.2),
        ("a < a", MISSED),
        ("b == a", 0.2),
        ("a != 10", MISSED),
        ("a <= b <= 4", 0.2 + 0.5),
        ("a <= b and b <= 4", 0.2 + 0.5),
        ("a <= b or b <= 4", 0.2),
        ("a <= b and b <= 9", 0.2),
        ("not a > b", MISSED),
        ("name == 'ring'", MISSED),
        ("none < 3", MISSED),
    ],
)
def test_it_is_the_relative_distance_where_numbers_have_one(text: str, missed: float) -> None:
    assert violation(expression(text).term, VALUES) == pytest.approx(missed)


NUMBERS = st.floats(-1e6, 1e6)


@given(
    NUMBERS,
    NUMBERS,
    NUMBERS,
    st.sampled_from(["a < b", "a <= b and b != c", "a > b or c > b", "not (a == b or a < c)"]),
)
def test_it_is_zero_exactly_where_the_condition_holds(a: float, b: float, c: float, text: str) -> None:
    condition, values = expression(text), {"a": a, "b": b, "c": c}
    missed = violation(condition.term, values)
    assert (missed == 0) is condition.holds(values)
    assert missed >= 0
