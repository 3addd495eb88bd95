"""Late work is done before anybody can tell, and, but for that, not before it is asked for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilesim.sim.core.memory import Memory
from tilesim.sim.late import Late

SIZE = 32


def shifted(memory: Memory, source: int, target: int, length: int) -> Late:
    """Piece k adds 1 to byte ``source + k`` and puts that at ``target + k``."""

    def work(first: int, end: int) -> None:
        for k in range(first, end):
            memory.content[:, target + k] = memory.content[:, source + k] + 1

    return Late([(memory, source, source + length)], [(memory, target, target + length)], work)


@pytest.mark.parametrize("first", range(0, SIZE - 4, 4))
def test_who_reads_what_is_late_or_overwrites_what_it_needs_finds_it_done(first: int) -> None:
    touches: list[tuple[bool, Callable[[Memory], object]]] = [
        (False, lambda memory: memory.row(first, 4)),
        (False, lambda memory: memory.words(np.array([first]), 4)),
        (True, lambda memory: memory.write_row(first, np.full((1, 4), 7, np.uint8))),
        (True, lambda memory: memory.write_words(np.array([first]), np.full((1, 1, 4), 7, np.uint8))),
    ]
    for writes, touch in touches:
        memory = Memory("m", SIZE)
        late = shifted(memory, 8, 16, 8)
        late.add(0, 3)
        late.add(3, 8)
        assert not memory.content.any()
        touch(memory)
        assert bool(memory.late) != (16 <= first < 24 or (writes and 8 <= first < 16))
        expected = np.zeros(SIZE, np.uint8)
        expected[16:24] = 1
        if writes:
            expected[first : first + 4] = 7
        assert np.array_equal(memory.bytes[0], expected)
        assert memory.late == []


def test_what_is_settled_is_done_once() -> None:
    memory = Memory("m", SIZE)
    late = shifted(memory, 0, 0, 4)
    late.add(0, 2)
    late.settle()
    late.settle()
    late.add(2, 3)
    assert memory.bytes[0, :4].tolist() == [1, 1, 1, 0]
    late.add(3, 4)
    assert memory.bytes[0, :4].tolist() == [1, 1, 1, 1]


PLACES = st.integers(0, 24)


@given(st.lists(st.tuples(PLACES, PLACES), min_size=1, max_size=4), st.data())
def test_any_works_in_pieces_have_the_effect_of_each_piece_in_its_turn(
    places: list[tuple[int, int]], data: st.DataObject
) -> None:
    """Works of 8 pieces that may read and write one another's bytes, and their own."""
    prompt, lazy = Memory("prompt", SIZE), Memory("lazy", SIZE)
    for memory in (prompt, lazy):
        memory.content[:] = 10 * np.arange(SIZE)
    works = [[shifted(memory, *place, 8) for place in places] for memory in (prompt, lazy)]
    done = [0] * len(places)
    for k in data.draw(st.lists(st.integers(0, len(places) - 1), max_size=16)):
        if done[k] < 8:
            end = data.draw(st.integers(done[k] + 1, 8))
            for each in works:
                each[k].add(done[k], end)
            works[0][k].settle()
            done[k] = end
    assert np.array_equal(prompt.bytes, lazy.bytes)
