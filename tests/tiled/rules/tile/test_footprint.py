"""Footprints against the addresses themselves."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.tiled.programs import program
from tilesim.tiled.rules.tile.footprint import footprints, repeated


@given(st.integers(1, 255), st.integers(-9, 9).filter(bool), st.integers(1, 20))
def test_repeated_is_the_union_of_its_copies(bits: int, stride: int, count: int) -> None:
    bitmap, back = repeated(bits, stride, count)
    expected = 0
    for k in range(count):
        expected |= bits << (k * stride + back)
    assert bitmap == expected


def test_operands_touch_what_their_loops_reach() -> None:
    ops = program("wide_to_narrow tiles=0x1 read=[r:2 @0x10+r*32] write=[y:3,w:3 alternate y:2 @0x8+y*16+w*4]").run
    read, write = footprints(ops[0], program("").topology)
    assert (read.operand, read.memory, read.writes) == ("read", "wide", False)
    assert read.touched == (0xFFFF << 0x10) | (0xFFFF << 0x30)
    words = [0x8 + y * 16 + w * 4 for y in range(3) for w in range(3 if y < 2 else 2)]
    assert write.touched == int(np.bitwise_or.reduce([0xF << word for word in words]))
    assert (write.first, write.end) == (min(words), max(words) + 4)
    assert write.writes
