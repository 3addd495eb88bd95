"""Blocks of rows: the least that has room for a line and for what windows reach beyond it."""

from __future__ import annotations

import pytest

from tests.rotating.compiler.compiled import small
from tilesim.network.operators import Padding
from tilesim.rotating.compiler.blocks import block_size, least_words, slots

GREATER = {
    (1024, 12): 16, (1024, 15): 16, (1024, 16): 32, (1024, 32): 64, (4096, 32): 64, (1024, 10): 16, (1024, 5): 8,
    (512, 31): 32, (512, 32): 64, (512, 511): 512, (768, 12): 16, (8, 3): 4, (16, 7): 8, (512, 512): None,
}  # fmt: skip
AT_LEAST = {(1024, 16): 16, (512, 32): 32, (8, 4): 4, (1024, 1): 1}


@pytest.mark.parametrize(("units", "width"), GREATER)
def test_a_block_is_longer_than_a_line(units: int, width: int) -> None:
    assert block_size(least_words(width, Padding(), False, small(units)), units) == GREATER[units, width]


@pytest.mark.parametrize(("units", "width"), AT_LEAST)
def test_or_as_long(units: int, width: int) -> None:
    topology = small(units, units__block_rule="at_least")
    assert block_size(least_words(width, Padding(), False, topology), units) == AT_LEAST[units, width]
    if width == 1:
        assert block_size(least_words(1, Padding(), True, small(units)), units) == 1


@pytest.mark.parametrize(("width", "padding", "size"), [(14, 2, 16), (15, 2, 32), (15, 1, 16)])
def test_padding_needs_room_once(width: int, padding: int, size: int) -> None:
    words = least_words(width, Padding(0, padding, 0, padding), False, small(1024))
    assert block_size(words, 1024) == size


def test_slots_are_as_many_as_leave_room() -> None:
    assert slots(16, 2, 6, 2) == 2
    assert slots(16, 2, 9, 2) == 1
    assert slots(16, 4, 5, 4) == 2
    assert slots(12, 2, 6, 2) == 2
    assert slots(9, 2, 4, 2) == 1
    assert slots(16, 2, 6, 1) == 1
    assert slots(4, 1, 5, 1) == 0
