"""Footprints against the addresses themselves."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.tiled.programs import program
from tilesim.tiled.rules.footprint import Rounds, footprints, repeated


@given(st.integers(1, 255), st.integers(-9, 9).filter(bool), st.integers(1, 20))
def test_repeated_is_the_union_of_its_copies(bits: int, stride: int, count: int) -> None:
    found, back = repeated(bits, stride, count)
    expected = 0
    for k in range(count):
        expected |= bits << (k * stride + back)
    assert found == expected


def test_operands_touch_what_their_loops_reach() -> None:
    ops = program("wide_to_narrow tiles=0x1 read=[r:2 @0x10+r*32] write=[y:3,w:3 alternate y:2 @0x8+y*16+w*4]").run
    read, write = footprints(ops[0], program("").topology)
    assert (read.operand, read.memory, read.writes) == ("read", "wide", False)
    assert read.touched == (0xFFFF << 0x10) | (0xFFFF << 0x30)
    words = [0x8 + y * 16 + w * 4 for y in range(3) for w in range(3 if y < 2 else 2)]
    assert write.touched == int(np.bitwise_or.reduce([0xF << word for word in words]))
    assert (write.first, write.end) == (min(words), max(words) + 4)
    assert write.writes


@given(st.integers(1, 255), st.integers(1, 255), st.integers(-4, 4), st.integers(-2, 4), st.integers(0, 20), st.data())
def test_rounds_meet_where_their_bytes_do(
    once: int, other: int, stride: int, moving: int, apart: int, data: st.DataObject
) -> None:
    """Of patterns whose first byte is one that they touch."""
    one, left = Rounds(once | 1, 20, stride, 5), Rounds(other | 1, 10 + apart, moving, 6)
    done = data.draw(st.lists(st.integers(0, 7), min_size=5, max_size=5))
    here = [one.once << one.first + k * stride for k in range(5)]
    there = [left.once << left.first + k * moving for k in range(6)]
    expected = any(touched & each for touched, start in zip(here, done, strict=True) for each in there[start:])
    assert one.meets(left, np.array(done)) is expected
