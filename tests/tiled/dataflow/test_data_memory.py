"""Data memory holds what a program puts there, and zeros around it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilesim
from tilesim.errors import AccessError
from tilesim.tiled.dataflow.data_memory import DataMemory
from tilesim.tiled.isa.model.program import DataSegment, Program

SIZE = tilesim.load_topology("pocket-2x1").data_memory.size_bytes


def program(*segments: tuple[int, int]) -> Program:
    """With so many bytes at each address."""
    made = Program("data", tilesim.load_topology("pocket-2x1"), (), ())
    data = [DataSegment(f"{at}", np.arange(1, count + 1, dtype=np.uint8), at) for at, count in segments]
    return replace(made, data=tuple(data))


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 120), st.integers(0, 120))
def test_it_reads_as_one_array_does(size: int, other: int, first: int, count: int) -> None:
    memory, whole = DataMemory(program((8, size), (60, other))), np.zeros(SIZE, np.uint8)
    whole[8 : 8 + size], whole[60 : 60 + other] = np.arange(1, size + 1), np.arange(1, other + 1)
    for _ in range(2):
        assert memory.read(first, first + count).tolist() == [whole[first : first + count].tolist()]


def test_what_one_segment_has_is_not_copied() -> None:
    made = program((16, 64))
    assert np.shares_memory(DataMemory(made).read(20, 80), made.data[0].data)


@pytest.mark.parametrize(("first", "end"), [(-1, 4), (SIZE - 1, SIZE + 1)])
def test_there_is_nothing_outside(first: int, end: int) -> None:
    with pytest.raises(AccessError, match=f"chip.data_memory has bytes 0 to {SIZE - 1}, not {first} to {end - 1}"):
        DataMemory(program()).read(first, end)
    with pytest.raises(AccessError, match=r"chip.data_memory has bytes"):
        DataMemory(program((first, end - first)))
