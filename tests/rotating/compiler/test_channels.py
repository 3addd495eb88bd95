"""Maps of channels, and after how many steps all have met, against units that are followed step by step."""

from __future__ import annotations

import numpy as np
import pytest

from tilesim.rotating.compiler.channels import Channels, around, groups_of, lone_steps, meetings, steps_of, stretch


def followed(channels: Channels, used: tuple[bool, ...], up: bool) -> int:
    """In which step the last unit meets its last channel."""
    blocks, wanted = len(channels), {channel for channel in channels if channel >= 0}
    most = 1
    for block in np.flatnonzero(used):
        met = set()
        for step in range(blocks):
            met.add(channels[(block - step if up else block + step) % blocks])
            if wanted <= met:
                most = max(most, step + 1)
                break
    return most


@pytest.mark.parametrize("blocks", [8, 12, 16, 24, 32, 64])
def test_wrapped_maps_and_those_of_divisors(blocks: int) -> None:
    everywhere = (True,) * blocks
    for count in range(1, blocks + 1):
        channels = around(count, blocks)
        wrapped = count if blocks % count == 0 else min(blocks, count + blocks % count)
        divisor = next(size for size in range(count, blocks + 1) if blocks % size == 0)
        assert steps_of(channels, everywhere, True) == followed(channels, everywhere, True) == min(wrapped, divisor)
        assert steps_of(channels, everywhere, False) == min(wrapped, divisor)


@pytest.mark.parametrize("seed", range(40))
def test_any_map_and_any_units(seed: int) -> None:
    rng = np.random.default_rng(seed)
    blocks = int(rng.integers(2, 20))
    channels = tuple(rng.integers(-1, rng.integers(1, 6), blocks).tolist())
    used = tuple((rng.random(blocks) < 0.6).tolist())
    for up in (True, False):
        assert steps_of(channels, used, up) == followed(channels, used, up)


def test_a_stretch_takes_as_many_steps_as_there_are_channels() -> None:
    channels = stretch(20, 64, -19, 45)
    assert steps_of(channels, (True,) * 45 + (False,) * 19, True) == 20
    assert steps_of(around(20, 64), (True,) * 64, True) == 24


@pytest.mark.parametrize("up", [True, False])
def test_each_unit_meets_each_channel_once(up: bool) -> None:
    channels = around(12, 32)
    met = meetings(channels, steps_of(channels, (True,) * 32, up), up)
    for block in range(32):
        own = met[:, block]
        assert sorted(own[own >= 0].tolist()) == list(range(12))


def test_more_channels_than_blocks_are_in_several_rows() -> None:
    assert groups_of(7, 4) == ((0, 1, 2, 3), (4, 5, 6, 4))
    assert lone_steps((0, 1, 0, -1), True).tolist() == [2, 4, 2, 0]
