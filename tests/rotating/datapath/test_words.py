"""Words of rows: bytes as they are stored, and the integers that they stand for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rotating.programs import chip
from tilesim.rotating.datapath.words import bytes_of, raw_words, words_of
from tilesim.rotating.topology import Topology

NARROW, WIDE = chip(4), chip(4, units={"word_bits": 16})


def test_a_narrow_word_is_a_byte_with_a_sign_or_without() -> None:
    rows = np.array([[0, 127, 128, 255]], np.uint8)
    assert words_of(rows, NARROW).tolist() == [[0, 127, -128, -1]]
    assert words_of(rows, NARROW, signed=False).tolist() == [[0, 127, 128, 255]]


def test_a_wide_word_has_its_lowest_byte_first() -> None:
    rows = np.array([1, 2, 255, 127, 0, 128, 255, 255], np.uint8)
    assert words_of(rows, WIDE).tolist() == [0x0201, 0x7FFF, -0x8000, -1]
    assert words_of(rows, WIDE, signed=False).tolist() == [0x0201, 0x7FFF, 0x8000, 0xFFFF]


@pytest.mark.parametrize(
    ("topology", "signed", "dtype"),
    [(NARROW, True, "<i1"), (NARROW, False, "<u1"), (WIDE, True, "<i2"), (WIDE, False, "<u2")],
)
def test_raw_words_are_those_that_are_stored(topology: Topology, signed: bool, dtype: str) -> None:
    rows = np.arange(topology.row_bytes * 6, dtype=np.uint8).reshape(2, 3, -1)
    found = raw_words(rows, topology, signed)
    assert (found.dtype, found.shape) == (np.dtype(dtype), (2, 3, 4))
    assert words_of(rows, topology, signed).dtype == np.int32
    assert words_of(rows, topology, signed).tolist() == found.tolist()


def test_rows_need_not_lie_one_behind_the_other() -> None:
    rows = np.arange(48, dtype=np.uint8).reshape(2, 3, 8)
    assert words_of(rows[:, ::2], WIDE).tolist() == words_of(rows, WIDE)[:, ::2].tolist()


@given(st.lists(st.integers(-(1 << 40), 1 << 40), min_size=8, max_size=8), st.sampled_from([NARROW, WIDE]))
def test_the_lowest_bits_of_a_number_are_kept(numbers: list[int], topology: Topology) -> None:
    stored = bytes_of(np.array(numbers).reshape(2, 4), topology)
    bits = topology.units.word_bits
    assert stored.dtype == np.uint8
    assert words_of(stored, topology, signed=False).reshape(-1).tolist() == [n % (1 << bits) for n in numbers]
    assert bytes_of(words_of(stored, topology), topology).tolist() == stored.tolist()
