"""Expressions are worth what Python says the same text is worth, and no text does more than that."""

from __future__ import annotations

import ast
import operator
import pickle
from collections.abc import Mapping
from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilesim.errors import InputError, kept
from tilesim.explore.conditions.expression import DEEPEST, LONGEST, MOST_WORDS, expression
from tilesim.explore.conditions.terms import HIGHEST_EXPONENT
from tilesim.explore.point import Value

VALUES: Mapping[str, Value] = {
    "grid.rows": 2,
    "tile.lanes": 64,
    "latency_us": 12.5,
    "cache": True,
    "partition": "spatial",
}
REFERENCE = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


FUNCTIONS = {"abs": abs, "min": min, "max": max}


def reference(node: ast.expr) -> Value:
    """What a tree that Python has parsed is worth."""
    match node:
        case ast.Constant():
            worth = node.value
        case ast.Name() | ast.Attribute():
            worth = VALUES[ast.unparse(node)]
        case ast.UnaryOp():
            worth = REFERENCE[type(node.op)](reference(node.operand))
        case ast.BinOp():
            worth = REFERENCE[type(node.op)](reference(node.left), reference(node.right))
        case ast.BoolOp():
            worth = (all if isinstance(node.op, ast.And) else any)(reference(part) for part in node.values)
        case ast.Compare():
            pairs = pairwise([reference(node.left), *map(reference, node.comparators)])
            worth = all(REFERENCE[type(op)](*pair) for op, pair in zip(node.ops, pairs, strict=True))
        case _:
            assert isinstance(node, ast.Call)
            worth = FUNCTIONS[ast.unparse(node.func)](*map(reference, node.args))
    return worth


def joined(signs: list[str], parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(parts, st.sampled_from(signs), parts).map(" ".join)


numbers = st.recursive(
    st.sampled_from(["grid.rows", "tile.lanes", "latency_us", "0.5", "1e2"]) | st.integers(0, 99).map(str),
    lambda parts: (
        joined(["+", "-", "*", "/", "//", "%"], parts)
        | parts.map("({})".format)
        | parts.map("-{}".format)
        | st.tuples(parts, parts).map("max({0[0]}, {0[1]})".format)
        | parts.map("abs({})".format)
        | st.tuples(st.integers(0, 9), st.integers(0, 3)).map("-{0[0]} ** {0[1]}".format)
    ),
    max_leaves=8,
)
conditions = st.recursive(
    joined(["==", "!=", "<", "<=", ">", ">="], numbers)
    | st.sampled_from(["cache", "not cache", "partition == 'spatial'", "0 < tile.lanes <= 64 != 3"]),
    lambda parts: joined(["and", "or"], parts) | parts.map("({})".format) | parts.map("not {}".format),
    max_leaves=6,
)


@given(numbers | conditions)
def test_an_expression_is_worth_what_python_says(text: str) -> None:
    try:
        expected = reference(ast.parse(text, mode="eval").body)
    except ArithmeticError:
        with pytest.raises(InputError, match="can't be worked out"):
            expression(text).value(VALUES)
        return
    value = expression(text).value(VALUES)
    assert (type(value), value) == (type(expected), expected)


@given(st.text() | st.text("0123456789abg.rows_ ()+-*/%<>=!&|^'\"andortKiBMHze,", max_size=60))
def test_any_text_is_an_expression_or_a_sentence(text: str) -> None:
    faults: list[str] = []
    with kept(faults):
        assert isinstance(expression(text).value(VALUES), int | float | str | bool)
    assert all(fault and fault.isprintable() for fault in faults)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("512 KiB", 512 * 1024),
        ("1.5KiB", 1536),
        ("500 MHz", 500_000_000),
        ("8_192", 8192),
        ("2 ** 3 ** 2", 512),
        ("-2 ** 2", -4),
        ("2 ** -1", 0.5),
        ("on and not off", True),
        ("1 < 2 < 2", False),
        ("partition != 'channel'", True),
        ("min(3, 2, 1) + max(1, 2)", 3),
    ],
)
def test_values(text: str, value: Value) -> None:
    assert expression(text).value(VALUES) == value


def test_it_knows_its_names_and_its_text_and_travels() -> None:
    made = expression("grid.rows * grid.columns <= max(tile.lanes, 8)")
    assert made.names == {"grid.rows", "grid.columns", "tile.lanes"}
    assert pickle.loads(pickle.dumps(made)) == made  # noqa: S301
    assert made.text == "grid.rows * grid.columns <= max(tile.lanes, 8)"


def test_what_is_not_there_makes_no_condition_hold() -> None:
    values: dict[str, Value | None] = {"latency_us": None, "cache": True}
    for text in (
        "latency_us < 5",
        "latency_us >= 5",
        "not latency_us < 5",
        "0 < latency_us + 1 < 5",
        "1 < 2 < latency_us",
    ):
        assert not expression(text).holds(values)
    assert expression("latency_us < 5 or cache").holds(values)
    assert not expression("2 < 1 < latency_us").holds(values)
    assert expression("not (latency_us < 5 and not cache)").holds(values)
    assert expression("latency_us * 2").value(values) is None


def test_the_second_of_two_is_looked_at_only_where_the_first_leaves_it_open() -> None:
    assert expression("cache or tile.none > 1").holds({"cache": True})
    assert not expression("cache and tile.none > 1").holds({"cache": False})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "an expression must be a condition such as tile.lanes <= 64, not nothing"),
        ("1 +", "'1 +', character 4: must go on with a number, a name, text or a bracket, not end"),
        ("1 2", "'1 2', character 3: must go on with a sign such as <= or and between two values, not '2'"),
        ("(1", "'(1', character 3: must go on with a ) for the ( at character 1, not end"),
        ("min(1, 2", "character 9: must go on with a ) for the ( at character 4, not end"),
        ("tile.lanes = 3", "character 12: the sign '=' means nothing here; did you mean ==?"),
        ("cache && cache", "did you mean and?"),
        ("a[0]", "character 2: the sign '[' means nothing here"),
        ("a.__class__()", "a function must be abs, min or max, not 'a.__class__'"),
        ("open('x')", "a function must be abs, min or max, not 'open'"),
        ("mim(1, 2)", "did you mean 'min'?"),
        ("min(1)", "min takes 2 numbers or more, not 1"),
        ("abs(1, 2)", "abs takes 1 number, not 2"),
        ("lambda: 1", "character 7: the sign ':' means nothing here"),
        ("1e999", "a number must be at most some 1e308, not 1e999"),
        ("x" * (LONGEST + 1), "must have at most 1,000 characters, not 1,001"),
        ("1 + " * 120 + "1", "must have at most 200 words and signs, not 241"),
        ("(" * 60 + "1" + ")" * 60, "must nest at most 40 levels deep"),
        ("-" * 60 + "1", "must nest at most 40 levels deep"),
        ("'\x1b[2J", "the sign \"'\" means nothing here"),
    ],
)  # fmt: skip
def test_wrong_texts(text: str, sentence: str) -> None:
    with pytest.raises(InputError) as error:
        expression(text)
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("tile.lane <= 3", "tile.lane must be a key, an option or a measure, not 'tile.lane'"),
        ("partition < 3", "< needs two values of a kind, not the text 'spatial' and the number 3"),
        ('partition < "z"', "< needs numbers, not the text 'spatial'"),
        ("cache + 1", "+ needs numbers, not true"),
        ("cache == 1", "== needs two values of a kind, not true and the number 1"),
        ("1 / 0 > 1", "1 / 0 can't be worked out: division by zero"),
        ("not 3", "not needs a condition, such as tile.lanes <= 64, not the number 3"),
        ("tile.lanes and cache", "and needs a condition, such as tile.lanes <= 64, not the number 64"),
        ("tile.lanes", "it needs a condition, such as tile.lanes <= 64, not the number 64"),
        ("2 ** 65 > 1", f"2 ** 65 can't be worked out: an exponent must be at most {HIGHEST_EXPONENT}"),
        ("(10 ** 64) ** 64 > 1", f"{10**64} ** 64 can't be worked out: it would have more than 1,024 bits"),
        ("65535 ** 64 * 2 > 1", f"{65535**64} * 2 can't be worked out: it would have more than 1,024 bits"),
        ("(-8) ** 0.5 > 1", "-8 ** 0.5 can't be worked out: it is no real number"),
    ],
)
def test_values_of_the_wrong_kind(text: str, sentence: str) -> None:
    with pytest.raises(InputError) as error:
        expression(text).holds(VALUES)
    assert f"'{text}': {sentence}" in str(error.value)


def test_names_that_nobody_knows_are_said_at_once_with_what_was_meant() -> None:
    first, second = expression("grid.row < 3 and partition == spatial").faults({"grid.rows": 1, "tile.lanes": 4})
    shown = "'grid.row < 3 and partition == spatial'"
    wanted = "must be a key, an option or a measure"
    assert first == f"{shown}: grid.row {wanted}, not 'grid.row'; did you mean 'grid.rows'?"
    assert second == f"{shown}: spatial {wanted}, not 'spatial'; text stands between quotes"


@pytest.mark.parametrize(
    "text",
    [
        "(" * LONGEST,
        "not " * (LONGEST // 4),
        "'" * LONGEST,
        "**".join("9" * (MOST_WORDS // 2)),
        "*".join(["9999999"] * (MOST_WORDS // 2)),
        "9" * LONGEST,
        "(true == " * (DEEPEST - 2) + "true" + " == true)" * (DEEPEST - 2),
    ],
)
def test_no_text_takes_for_ever(text: str) -> None:
    """Nor is one worth more than a number that a sentence can show."""
    value: Value | None = None
    with suppress(InputError):
        value = expression(text).value(VALUES)
    assert len(str(value)) <= LONGEST


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("latency_us", "it needs a condition, such as tile.lanes <= 64, not the number "),
        ("bound_by > 3", "> needs two values of a kind, not the text '' and the number 3"),
        ("cache and bytes.ring + partition < 3", "+ needs numbers, not the text 'mixed'"),
    ],
)
def test_what_no_values_make_a_condition_is_said_without_any(text: str, sentence: str) -> None:
    [fault] = expression(text).faults({"tile.lanes": 4})
    assert fault.startswith(f"'{text}': {sentence}")


@pytest.mark.parametrize(
    "text", ["1 / 0 > 1", "cache", "bytes.ring / (tile.lanes - 4) > breakdown.no_work", "machine != 'a'"]
)
def test_what_some_values_make_a_condition_is_one(text: str) -> None:
    assert [*expression(text).faults({"tile.lanes": 4, "machine": "tiled"})] == []
