"""A memory gives back what was written, at any width and address, and has no others."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilesim.errors import AccessError
from tilesim.sim.core.memory import Memory, Places

SIZE = 96
WIDTHS = st.sampled_from([1, 2, 3, 4, 6, 8, 12, 16, 32, 40])


@st.composite
def accesses(draw: st.DrawFn) -> tuple[int, list[int]]:
    width = draw(WIDTHS)
    step = draw(st.sampled_from([1, 2, 4, width]))
    places = st.integers(0, (SIZE - width) // step).map(lambda k: k * step)
    return width, draw(st.lists(places, min_size=1, max_size=6))


@given(accesses(), st.integers(1, 3), st.integers(0, 999))
def test_words_at_any_width_and_address(access: tuple[int, list[int]], samples: int, seed: int) -> None:
    width, addresses = access
    memory = Memory("m", SIZE, samples)
    memory.bytes[:] = np.random.default_rng(seed).integers(0, 256, memory.bytes.shape)
    expected = np.stack([memory.bytes[:, a : a + width] for a in addresses], axis=1)
    assert np.array_equal(memory.words(np.array(addresses), width), expected)
    by_row = memory.words(np.array([addresses, addresses]), width)
    assert np.array_equal(by_row, np.stack([expected, expected], axis=1))
    operands = memory.operands(np.array(addresses), width)
    assert np.array_equal(np.broadcast_to(operands, expected.shape), expected)
    assert len(operands) == (1 if (expected == expected[:1]).all() else samples)


@given(WIDTHS, st.integers(1, 3), st.integers(0, 999), st.data())
def test_written_words_are_read_back(width: int, samples: int, seed: int, data: st.DataObject) -> None:
    slots = st.lists(st.integers(0, SIZE // width - 1), min_size=1, max_size=6, unique=True)
    addresses = np.array(data.draw(slots)) * width
    words = np.random.default_rng(seed).integers(0, 256, (samples, len(addresses), width)).astype(np.uint8)
    memory = Memory("m", SIZE, samples)
    memory.write_words(addresses, words)
    assert np.array_equal(memory.words(addresses, width), words)
    touched = (addresses[:, None] + np.arange(width)).ravel()
    assert not np.delete(memory.bytes, touched, axis=1).any()


@given(accesses(), st.integers(0, 999), st.data())
def test_what_is_copied_is_what_would_be_read_and_written(
    access: tuple[int, list[int]], seed: int, data: st.DataObject
) -> None:
    width, addresses = access
    slots = st.lists(st.integers(0, SIZE - 1), min_size=width * len(addresses), max_size=width * len(addresses))
    in_one_run = data.draw(st.booleans())
    goals = np.arange(width * len(addresses)) if in_one_run else np.array(data.draw(slots))
    content = np.random.default_rng(seed).integers(0, 256, (2, 2, 3 * SIZE)).astype(np.uint8)
    source = Memory("source", SIZE, content=[content[0, :1, :SIZE], content[0, 1:, :SIZE]])
    copied, written = (
        Memory("target", 3 * SIZE, content=[block[:1], block[1:]]) for block in (content[1].copy(), content[1].copy())
    )
    places, to = Places(np.array(addresses), width), Places(goals, 1)
    source.copy(places, copied, to)
    written.write(to, source.read(places))
    for block, other in zip(copied.blocks, written.blocks, strict=True):
        assert np.array_equal(block, other)


def test_what_is_copied_must_be_in_both_memories() -> None:
    few, many = Memory("few", SIZE), Memory("many", 2 * SIZE)
    inside, outside = Places(np.array([0, 8]), 8), Places(np.array([SIZE - 8, SIZE]), 8)
    for source, target, places, to in ((few, many, outside, inside), (many, few, inside, outside)):
        with pytest.raises(AccessError, match="few has bytes 0 to 95, not 88 to 103"):
            source.copy(places, target, to)
    assert not many.bytes.any()


@pytest.mark.parametrize(("address", "shown"), [(-4, "-4 to -1"), (96, "96 to 99"), (94, "94 to 97")])
def test_addresses_outside_are_refused(address: int, shown: str) -> None:
    memory = Memory("chip.tile0.narrow_memory", SIZE)
    for access in (
        lambda at: memory.words(at, 4),
        lambda at: memory.operands(at, 4),
        lambda at: memory.write_words(at, np.zeros((1, 2, 4), np.uint8)),
    ):
        with pytest.raises(AccessError, match=f"narrow_memory has bytes 0 to 95, not {shown}"):
            access(np.array([address, address]))


def test_a_row_is_copied_out_and_written_in_one_piece() -> None:
    memory = Memory("test", 16, samples=2)
    memory.write_row(4, np.array([[1, 2], [3, 4]], np.uint8))
    row = memory.row(3, 4)
    memory.write_row(4, np.zeros((2, 2), np.uint8))
    np.testing.assert_array_equal(row, [[0, 1, 2, 0], [0, 3, 4, 0]])
    for address in (-1, 13):
        with pytest.raises(AccessError, match="test has bytes 0 to 15"):
            memory.row(address, 4)
        with pytest.raises(AccessError, match="test has bytes 0 to 15"):
            memory.write_row(address, row)


@given(accesses(), st.integers(1, 2), st.data())
def test_places_are_worked_out_once_for_any_part_of_them(
    access: tuple[int, list[int]], samples: int, data: st.DataObject
) -> None:
    width, addresses = access
    first = data.draw(st.integers(0, len(addresses)))
    end = data.draw(st.integers(first, len(addresses)))
    memory = Memory("m", SIZE, samples)
    memory.bytes[:] = np.random.default_rng(0).integers(0, 256, memory.bytes.shape)
    part = Places(np.array(addresses), width).part(first, end)
    assert len(part) == end - first
    expected = [memory.bytes[:, a : a + width].copy() for a in addresses[first:end]]
    assert np.array_equal(memory.read(part), np.reshape(expected, (end - first, samples, width)).swapaxes(0, 1))
    words = np.arange(samples * (end - first) * width).astype(np.uint8).reshape(samples, end - first, width)
    copy = memory.bytes.copy()
    for place, address in enumerate(addresses[first:end]):
        copy[:, address : address + width] = words[:, place]
    memory.write(part, words)
    assert np.array_equal(memory.bytes, copy)
