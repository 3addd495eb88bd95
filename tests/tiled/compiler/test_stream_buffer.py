"""Places in the area through which parameters stream."""

from __future__ import annotations

from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilesim.lowering.allocation import DoesNotFit
from tilesim.tiled.compiler.parameter_sets import ParameterSets, SetKey
from tilesim.tiled.compiler.stream_buffer import Uses, area_bytes, least_bytes, stream_slots

ROW = 16


def sets_of(*rows: int) -> tuple[ParameterSets, list[SetKey]]:
    """A set for each number of rows."""
    sets = ParameterSets(ROW)
    keys = [SetKey(k, 0, f"layer {k}") for k in range(len(rows))]
    for key, count in zip(keys, rows, strict=True):
        sets.keep(key, 1, "weights", lambda count=count: np.zeros(count * ROW, np.uint8))  # type: ignore[misc]
    return sets, keys


def one_by_one(keys: list[SetKey]) -> Uses:
    return {key: range(k, k + 1) for k, key in enumerate(keys)}


def test_an_area_has_room_for_two_sets_that_follow_each_other_if_half_of_the_memory_is_left() -> None:
    sets, keys = sets_of(3, 4, 2)
    uses = one_by_one(keys)
    assert least_bytes(sets, uses) == 4 * ROW
    assert area_bytes(sets, uses, 14 * ROW) == 7 * ROW
    assert area_bytes(sets, uses, 13 * ROW) == 4 * ROW


def test_sets_of_one_round_are_there_together() -> None:
    sets, keys = sets_of(3, 4, 2)
    assert least_bytes(sets, dict(zip(keys, (range(2), range(1, 3), range(3)), strict=True))) == 9 * ROW


def test_sets_go_round_and_come_as_far_ahead_as_there_is_room() -> None:
    sets, keys = sets_of(2, 2, 2, 2)
    found = stream_slots(sets, one_by_one(keys), keys, range(64, 64 + 6 * ROW), ROW, 9)
    assert [slot.address for slot in found.values()] == [64, 96, 128, 64]
    assert [slot.ready for slot in found.values()] == [0, 0, 0, 1]
    assert found[keys[3]].replaces == (keys[0],)


def test_a_set_that_stays_in_use_is_gone_round() -> None:
    sets, keys = sets_of(2, 2, 2)
    uses = dict(zip(keys, (range(3), range(1, 2), range(2, 3)), strict=True))
    found = stream_slots(sets, uses, keys, range(4 * ROW), ROW, 9)
    assert [slot.address for slot in found.values()] == [0, 32, 32]
    assert found[keys[2]].ready == 2


def test_what_finds_no_place_is_named() -> None:
    sets, keys = sets_of(2, 3)
    with pytest.raises(DoesNotFit) as caught:
        stream_slots(sets, dict.fromkeys(keys, range(1)), keys, range(4 * ROW), ROW, 9)
    assert caught.value.item.name == "layer 0"


def test_no_more_sets_come_ahead_than_there_may_be_on_their_way() -> None:
    sets, keys = sets_of(1, 1, 1, 1, 1)
    found = stream_slots(sets, one_by_one(keys), keys, range(9 * ROW), ROW, 2)
    assert [slot.ready for slot in found.values()] == [0, 0, 1, 2, 3]


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 2)), min_size=1, max_size=12), st.integers(1, 4))
def test_no_set_comes_before_the_last_use_of_what_it_replaces(shape: list[tuple[int, int]], ahead: int) -> None:
    sets, keys = sets_of(*(rows for rows, _ in shape))
    starts = accumulate(step for _, step in shape)
    uses = {key: range(start, start + 1 + k % 2) for k, (key, start) in enumerate(zip(keys, starts, strict=True))}
    found = stream_slots(sets, uses, keys, range(2 * least_bytes(sets, uses)), ROW, ahead)
    assert [slot.ready for slot in found.values()] == sorted(slot.ready for slot in found.values())
    held: dict[int, SetKey] = {}
    for key, slot in found.items():
        assert slot.ready <= uses[key].start
        place = range(slot.address, slot.address + sets.size_bytes(key), ROW)
        before = {held[row] for row in place if row in held}
        assert before <= set(slot.replaces)
        assert all(uses[other].stop <= slot.ready for other in slot.replaces)
        held.update(dict.fromkeys(place, key))
