"""Maps in rows: the numbers of the programs to read, and back whatever the layout."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilesim.rotating.isa.model.program import Layout, Stripe
from tilesim.rotating.layout import rows_in_words, rows_of, values_of, words_in_rows
from tilesim.rotating.topology import Topology


def chip(units: int, word_bits: int = 8) -> Topology:
    return Topology.model_validate({
        "machine": "rotating", "name": "test", "units": {"count": units, "word_bits": word_bits},
        "data_ram": {"rows": 16}, "weight_ram": {"rows": 64},
    })  # fmt: skip


def test_a_line_has_a_block_for_each_channel() -> None:
    x = np.fromfunction(lambda _, y, i, c: (7 * y + 3 * i + 5 * c + 1) % 13 - 6, (1, 3, 3, 2), dtype=int)
    rows = rows_of(x, Layout(3, 3, 2, (Stripe(0, 3, 4, 0, ((0, 1),)),)), chip(8))
    words = rows.view(np.int8)[0].tolist()
    assert words == [[-5, -2, 1, 0, 0, 3, 6, 0], [2, 5, -5, 0, -6, -3, 0, 0], [-4, -1, 2, 0, 1, 4, -6, 0]]


def test_an_offset_goes_round_and_replicas_are_all_written() -> None:
    layout = Layout(1, 3, 2, (Stripe(0, 3, 4, 6, ((1, -1, 0, 1),)),), fill=9)
    words = rows_of(np.arange(6).reshape(1, 1, 3, 2), layout, chip(16)).tolist()
    assert words == [[[4, 9, 1, 3, 5, 9, 1, 3, 5, 9, 9, 9, 9, 9, 0, 2]]]


def test_what_stands_in_several_blocks_is_read_from_the_first() -> None:
    layout = Layout(1, 1, 1, (Stripe(0, 1, 2, 0, ((0, 0, -1, 0),)),))
    rows = np.array([[[1, 0, 2, 0, 3, 0, 4, 0]]], np.uint8)
    assert values_of(rows, layout, chip(8), np.int8).tolist() == [[[[1]]]]


def test_a_stripe_that_repeats_columns_of_another_is_not_read_there() -> None:
    stripes = (Stripe(0, 3, 4, 0, ((0, -1),)), Stripe(2, 2, 4, 0, ((0, -1),)))
    layout = Layout(1, 4, 1, stripes)
    values = np.array([1, 2, 3, 4]).reshape(1, 1, 4, 1)
    rows = rows_of(values, layout, chip(8))
    assert rows.tolist() == [[[1, 2, 3, 0, 0, 0, 0, 0], [3, 4, 0, 0, 0, 0, 0, 0]]]
    rows[0, 1, 0] = 77
    assert (values_of(rows, layout, chip(8), np.int8) == values).all()


def test_a_value_that_stands_nowhere_is_the_fill() -> None:
    layout = Layout(1, 1, 2, (Stripe(0, 1, 2, 0, ((1,),)),), fill=-3)
    assert values_of(np.full((1, 1, 4), 5, np.uint8), layout, chip(4), np.int8).tolist() == [[[[-3, 5]]]]


@pytest.mark.parametrize(("value", "low", "high"), [(-2, 0xFE, 0xFF), (258, 2, 1)])
def test_a_word_of_16_bits_has_its_lowest_byte_first(value: int, low: int, high: int) -> None:
    rows = rows_of(np.full((1, 1, 1, 1), value), Layout(1, 1, 1, (Stripe(0, 1, 2, 1, ((0,),)),)), chip(2, 16))
    assert rows.tolist() == [[[0, 0, low, high]]]


def test_words_and_bytes() -> None:
    words = np.array([[-32768, 255]])
    assert words_in_rows(words, chip(2, 16)).tolist() == [[0, 0x80, 0xFF, 0]]
    assert (rows_in_words(words_in_rows(words, chip(2, 16)), chip(2, 16)) == words).all()


@st.composite
def layouts(draw: st.DrawFn) -> tuple[int, Layout]:
    """Units, and a layout in which each element stands somewhere, some channels twice."""
    block, blocks = draw(st.integers(1, 8)), draw(st.integers(1, 8).filter(lambda b: b > 1))
    width, depth = draw(st.integers(1, 20)), draw(st.integers(1, 12))
    stripes, first = [], 0
    while first < width:
        columns = draw(st.integers(1, min(block, width - first)))
        channels = draw(st.permutations([*range(depth), *draw(st.lists(st.integers(-1, depth - 1), max_size=6))]))
        rows = [tuple(channels[k : k + blocks]) for k in range(0, len(channels), blocks)]
        offset = draw(st.integers(0, block * blocks - 1))
        stripes.append(Stripe(first, columns, block, offset, tuple(rows)))
        first += columns
    return block * blocks, Layout(draw(st.integers(1, 3)), width, depth, tuple(stripes), draw(st.integers(-128, 127)))


@given(layouts(), st.sampled_from(["int8", "uint8", "int16"]), st.integers(1, 3), st.integers(0, 1 << 30))
def test_values_come_back(layout: tuple[int, Layout], dtype: str, samples: int, seed: int) -> None:
    units, map_ = layout
    limits = np.iinfo(dtype)
    shape = (samples, map_.height, map_.width, map_.depth)
    values = np.random.default_rng(seed).integers(limits.min, limits.max, shape, dtype, endpoint=True)
    for bits in {16, limits.bits}:
        rows = rows_of(values, map_, chip(units, bits))
        assert rows.shape == (samples, map_.rows, units * bits // 8)
        back = values_of(rows, map_, chip(units, bits), dtype)
        assert back.dtype == dtype
        assert (back == values).all()


@given(layouts())
def test_words_without_an_element_are_the_fill(layout: tuple[int, Layout]) -> None:
    units, map_ = layout
    ones, twos = (
        rows_of(np.full((1, map_.height, map_.width, map_.depth), k), map_, chip(units)).view(np.int8) for k in (1, 2)
    )
    held = sum(stripe.columns * sum(c >= 0 for row in stripe.channels for c in row) for stripe in map_.stripes)
    assert (ones != twos).sum() == held * map_.height
    assert (ones[ones == twos] == map_.fill).all()
