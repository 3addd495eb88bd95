"""Mux-registers: rings of words that move on, as np.roll has it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.rotating.programs import chip
from tilesim.rotating.datapath.mux_registers import MuxRegisters

Words = NDArray[Any]
RINGS = [(1, "none"), (2, "none"), (2, "quarter")]


def registers(segments: int = 1, shift: str = "none", direction: str = "up", samples: int = 1) -> MuxRegisters:
    units = {"segments": segments, "segment_shift": shift}
    return MuxRegisters(chip(16, units=units, rotation={"direction": direction}), samples)


def turned(words: Words, distance: int, segments: int, shift: str, direction: str) -> Words:
    """Each unit's word, one by one: that of the unit ``distance`` below it, or above, in its ring."""
    units, found = words.shape[-1], np.empty_like(words)
    size, first = units // segments, units // 4 if shift == "quarter" else 0
    for ring in range(segments):
        members = [(first + ring * size + k) % units for k in range(size)]
        step = -distance if direction == "up" else distance
        for k, unit in enumerate(members):
            found[:, unit] = words[:, members[(k + step) % size]]
    return found


def test_they_are_zero_at_first() -> None:
    assert registers(samples=3).words.tolist() == np.zeros((3, 16)).tolist()


def test_one_ring_is_a_roll() -> None:
    words = np.arange(16, dtype=np.int32)[None]
    for direction, sign in (("up", 1), ("down", -1)):
        mux = registers(direction=direction)
        mux.load(words)
        mux.rotate(3)
        assert mux.words.tolist() == np.roll(words, 3 * sign, axis=-1).tolist()


@pytest.mark.parametrize("direction", ["up", "down"])
@pytest.mark.parametrize(("segments", "shift"), RINGS)
@given(moves=st.lists(st.one_of(st.integers(0, 40), st.just("load")), max_size=8), samples=st.integers(1, 3))
def test_whatever_is_loaded_and_however_it_turns(
    segments: int, shift: str, direction: str, moves: list[Any], samples: int
) -> None:
    rng, mux = np.random.default_rng(len(moves)), registers(segments, shift, direction, samples)
    expected = np.zeros((samples, 16), np.int32)
    for move in moves:
        if move == "load":
            expected = rng.integers(-128, 128, (samples, 16)).astype(np.int32)
            mux.load(expected)
        else:
            expected = turned(expected, move, segments, shift, direction)
            mux.rotate(move)
        assert mux.words.tolist() == expected.tolist()


@pytest.mark.parametrize(("segments", "shift"), RINGS)
def test_a_whole_turn_changes_nothing(segments: int, shift: str) -> None:
    words, mux = np.arange(16, dtype=np.int32)[None], registers(segments, shift)
    mux.load(words)
    for _ in range(16 // segments):
        mux.rotate(1)
    assert mux.words.tolist() == words.tolist()


def test_what_was_loaded_may_be_overwritten() -> None:
    """The RAM's row is another's, once it is loaded."""
    row, mux = np.arange(16, dtype=np.int32)[None].copy(), registers()
    mux.load(row)
    row[...] = 0
    assert mux.words.tolist() == [[*range(16)]]


def test_words_that_were_taken_do_not_change_with_a_rotation() -> None:
    mux = registers()
    mux.load(np.arange(16, dtype=np.int32)[None])
    taken = mux.words
    mux.rotate(5)
    assert taken.tolist() == [[*range(16)]]
