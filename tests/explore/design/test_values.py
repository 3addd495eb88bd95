"""The values of an axis, as ``--vary`` spells them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilesim.budgets import MOST_AXIS_VALUES
from tilesim.errors import InputError, kept
from tilesim.explore.design.values import READERS, spelt_values, values_of
from tilesim.explore.point import Value

KEYS = ("tile.lanes", *READERS)


@pytest.mark.parametrize(
    ("key", "text", "values"),
    [
        ("tile.lanes", "32,128,64", (32, 128, 64)),
        ("tile.lanes", "1..4", (1, 2, 3, 4)),
        ("tile.lanes", "8..60/16", (8, 24, 40, 56)),
        ("tile.lanes", "2^4..2^8", (16, 32, 64, 128, 256)),
        ("tile.lanes", "3^0..3^2", (1, 3, 9)),
        ("tile.lanes", "2^3..3^2", (8, 9)),
        ("tile.lanes", "2^2..2^4/4", (4, 8, 12, 16)),
        ("tile.lanes", "2^6, 7..8", (64, 7, 8)),
        ("wide_memory.size_bytes", "128KiB,256 KiB", ("128KiB", "256 KiB")),
        ("ring.queue", "split,shared", ("split", "shared")),
        ("grid", "1x1,1x2,02x4", ("1x1", "1x2", "2x4")),
        ("grid", "squares:1..3", ("1x1", "2x2", "3x3")),
        ("grid", "squares:2^0..2^3", ("1x1", "2x2", "4x4", "8x8")),
        ("grid", "doublings:1..64", ("1x1", "1x2", "2x2", "2x4", "4x4", "4x8", "8x8")),
        ("grid", "doublings:2..8,5x2", ("1x2", "2x2", "2x4", "5x2")),
        ("partition", "spatial,channel,auto", ("spatial", "channel", "auto")),
        ("cache", "on,off", (True, False)),
        ("inferences", "1,2..4,2^3", (1, 2, 3, 4, 8)),
        ("schedule", "none,demand,lcm,fastest", ("none", "demand", "lcm", "")),
    ],
)
def test_texts(key: str, text: str, values: tuple[Value, ...]) -> None:
    assert values_of(key, text) == values


@pytest.mark.parametrize(
    ("key", "given_", "values"),
    [
        ("tile.lanes", [32, "64..66"], (32, 64, 65, 66)),
        ("tile.lanes", 32, (32,)),
        ("tile.lanes", range(1, 4), (1, 2, 3)),
        ("ring.byte_filter", [True, False], (True, False)),
        ("cache", [True, "off"], (True, False)),
        ("cache", False, (False,)),
        ("inferences", [1, 8], (1, 8)),
        ("grid", ["1x1", "squares:2..3"], ("1x1", "2x2", "3x3")),
    ],
)
def test_lists_and_single_values(key: str, given_: Value | list[Value], values: tuple[Value, ...]) -> None:
    assert values_of(key, given_) == values


@pytest.mark.parametrize(
    ("key", "text", "sentence"),
    [
        ("tile.lanes", "32,,64", "must have a value between commas, not nothing"),
        ("tile.lanes", "8..1", "a range must not begin after its end, as '8..1' does"),
        ("tile.lanes", "1..8/0", "the step of a range must be at least 1, not 0, in '1..8/0'"),
        ("tile.lanes", "64KiB..1MiB", "a range must be of whole numbers, such as 1..8, 8..64/8 or 2^4..2^8, not"),
        ("tile.lanes", "1..", "a range must be of whole numbers"),
        ("tile.lanes", "1..8/x", "a range must be of whole numbers"),
        ("tile.lanes", "1..999999999", f"a range must have at most {MOST_AXIS_VALUES:,} values, not 999,999,999"),
        ("tile.lanes", "2^99", "a power must have at most 62 bits, unlike 2^99"),
        ("tile.lanes", "9999^99", "a power must have at most 62 bits, unlike 9999^99"),
        ("tile.lanes", "32,64,2^5", "32 must be given once, not 2 times"),
        ("grid", "2", "a grid must be ROWSxCOLUMNS, such as 2x4, or a series such as squares:1..8, not '2'"),
        ("grid", "0x4", "a grid must be ROWSxCOLUMNS"),
        (
            "grid",
            "square:1..8",
            "a series of grids must be squares or doublings, not 'square'; did you mean 'squares'?",
        ),
        ("grid", "squares:a..b", "a range must be of whole numbers"),
        ("grid", "squares:", "squares must go from 1..8: 1x1, 2x2 to 8x8, not nothing"),
        ("grid", "squares:0..3", "squares must go from 1..8"),
        ("grid", "doublings:1..6", "the ends of doublings must be powers of two, such as 1..64, not 6"),
        ("partition", "spatail", "must be spatial, channel, auto or mixed, not 'spatail'; did you mean 'spatial'?"),
        ("cache", "yes", "must be on or off, not 'yes'"),
        ("inferences", "0", "must be whole numbers from 1 to 1,000, not '0'"),
        ("inferences", "two", "must be whole numbers from 1 to 1,000, not 'two'"),
        ("schedule", "deman", "must be none, demand, lcm or fastest, not 'deman'; did you mean 'demand'?"),
    ],
)
def test_wrong_values(key: str, text: str, sentence: str) -> None:
    with pytest.raises(InputError) as error:
        values_of(key, text)
    assert str(error.value).startswith(f"vary {key}: {sentence}")


def test_all_faults_at_once() -> None:
    with pytest.raises(InputError) as error:
        values_of("grid", "1x1,2,3,1x1")
    assert len(error.value.faults) == 3
    with pytest.raises(InputError, match="vary grid: must have a value, not none"):
        values_of("grid", [])


@given(st.sampled_from(KEYS), st.text() | st.text("0123456789.^/x,:squaredoblingonfKiB- ", max_size=30))
def test_any_text_is_values_or_sentences(key: str, text: str) -> None:
    faults: list[str] = []
    values: tuple[Value, ...] = ()
    with kept(faults):
        values = values_of(key, text)
    assert (0 < len(values) == len(set(values))) != bool(faults)
    assert all(fault.startswith(f"vary {key}: ") for fault in faults)


@given(st.integers(0, 99), st.integers(0, 99), st.integers(1, 20))
def test_a_range_is_pythons(begin: int, length: int, step: int) -> None:
    assert values_of("k", f"{begin}..{begin + length}/{step}") == (*range(begin, begin + length + 1, step),)


@given(st.integers(0, 10), st.integers(0, 10))
def test_doublings_double_and_are_as_square_as_can_be(first: int, more: int) -> None:
    grids = [
        tuple(map(int, str(grid).split("x")))
        for grid in values_of("grid", f"doublings:{2**first}..{2 ** (first + more)}")
    ]
    assert [rows * columns for rows, columns in grids] == [2**k for k in range(first, first + more + 1)]
    assert all(columns in {rows, 2 * rows} for rows, columns in grids)


@pytest.mark.parametrize("key", KEYS)
def test_values_are_spelt_as_they_are_read(key: str) -> None:
    texts = {"grid": "1x1,2x4", "partition": "auto,spatial", "cache": "off,on", "schedule": "fastest,lcm"}
    values = values_of(key, texts.get(key, "1,8"))
    assert values_of(key, ",".join(spelt_values(key, values))) == values
