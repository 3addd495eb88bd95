"""Weight memory counts in ticks of its own, exactly."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

from hypothesis import given
from hypothesis import strategies as st

from tests.systolic.handmade import topology
from tilesim.systolic.units.weight_fetcher import WeightMemory


@given(st.integers(1, 10**9), st.integers(1, 10**9), st.integers(0, 1000), st.lists(st.integers(1, 99), min_size=1))
def test_blocks_back_to_back_take_as_long_as_each_alone(chip_hz: int, hz: int, asked: int, blocks: list[int]) -> None:
    chip = topology(clock_hz=chip_hz, weight_memory={"clock_hz": hz, "channels": 2, "channel_bytes": 3})
    memory, tick = WeightMemory(chip), ceil(Fraction(asked * hz, chip_hz))
    for block in blocks:
        tick += ceil(block / 6)
        end = Fraction(tick * chip_hz, hz)
        assert memory.transfer(asked, block) == (floor(end), ceil(end))
        asked = floor(end)


def test_a_pause_is_not_made_up_for() -> None:
    memory = WeightMemory(topology(weight_memory={"clock_hz": 50_000_000}))
    assert memory.transfer(0, 16) == (8, 8)
    assert memory.transfer(21, 16) == (30, 30)  # the next tick begins in cycle 22
