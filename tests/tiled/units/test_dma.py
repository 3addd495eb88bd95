"""The DMA engines of a tile alone: which bytes go where, and in exactly which cycle they are done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tiled.units.bench import Bench, at, chip_of, line, nest
from tilesim.tiled.isa.model.fields import Flag, Side, Traversal, Watcher
from tilesim.tiled.isa.model.instructions import MeshIn, NarrowToWide, WideToNarrow

ROW, WORD = 256, 4
WORDS = ROW // WORD


def to_wide(rows: int, **extra: object) -> NarrowToWide:
    return NarrowToWide(tiles=1, read=line(0x40, rows * WORDS, WORD), write=line(0x200, rows, ROW), **extra)  # type: ignore[arg-type]


def to_narrow(rows: int, **extra: object) -> WideToNarrow:
    return WideToNarrow(tiles=1, read=line(0x200, rows, ROW), write=line(0x40, rows * WORDS, WORD), **extra)  # type: ignore[arg-type]


@pytest.mark.parametrize("rows", [1, 2, 3, 10])
def test_rows_of_w_words_take_w_cycles_each_and_one_more(rows: int) -> None:
    assert Bench().cycles(to_wide(rows)) == rows * WORDS + 1
    assert Bench().cycles(to_narrow(rows)) == rows * WORDS + 1


@pytest.mark.parametrize("rows", [1, 3])
def test_bytes_move_between_the_memories(rows: int) -> None:
    size = rows * ROW
    bench = Bench(samples=2)
    bench.randomise()
    before = bench.narrow().copy()
    bench.cycles(to_wide(rows))
    assert np.array_equal(bench.wide()[:, 0x200 : 0x200 + size], before[:, 0x40 : 0x40 + size])
    bench.narrow()[:] = 0
    bench.cycles(to_narrow(rows))
    assert np.array_equal(bench.narrow()[:, 0x40 : 0x40 + size], before[:, 0x40 : 0x40 + size])
    assert bench.narrow()[:, 0x40 + size :].max() == 0


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 7), st.integers(0, 999))
def test_a_gather_reads_the_words_of_its_nest(lines: int, rows: int, gap: int, seed: int) -> None:
    """Words of ``lines`` lines with gaps between them fill whole rows, in the nest's order."""
    bench = Bench(seed=seed)
    bench.randomise()
    words, pitch = rows * WORDS, rows * ROW + gap * WORD
    read = Traversal(nest(y=lines, w=words), at(0x80, y=pitch, w=WORD))
    op = NarrowToWide(tiles=1, read=read, write=line(0, lines * rows, ROW))
    assert bench.cycles(op) == lines * words + 1
    expected = [bench.narrow()[0, 0x80 + y * pitch : 0x80 + y * pitch + rows * ROW] for y in range(lines)]
    assert np.array_equal(bench.wide()[0, : lines * rows * ROW], np.concatenate(expected))


@pytest.mark.parametrize("side", list(Side))
@pytest.mark.parametrize(("words", "fill"), [(1, -128), (7, 3), (40, 255)])
def test_a_fill_off_the_grid_takes_a_word_a_cycle_and_one_more(side: Side, words: int, fill: int) -> None:
    bench = Bench(samples=2)
    assert bench.cycles(MeshIn(tiles=1, side=side, write=line(0x10, words, 8), fill=fill)) == words + 1
    places = 0x10 + 8 * np.arange(words)[:, None] + np.arange(WORD)
    assert (bench.narrow()[:, places] == fill % 256).all()
    assert np.count_nonzero(bench.narrow()) == 2 * words * WORD


def test_each_completed_loop_raises_the_flag_in_the_cycle_after_its_last_write() -> None:
    """Row r is complete at (r + 1) * 64 + 1; a reader that waits for it row by row follows one behind."""
    bench = Bench()
    bench.randomise()
    wait = (Watcher(Flag.NARROW_TO_WIDE, 1, "r", 1),)
    write = Traversal(nest(r=3, each=1), at(0x200, r=ROW))
    bench.deliver(replace(to_wide(3, produce="each", label="out"), write=write))
    bench.deliver(to_narrow(3, wait=wait, label="back"))
    bench.clock.run()
    assert bench.retired == {"out": 3 * WORDS + 1, "back": 3 * WORDS + 1 + 1 + WORDS}
    account = bench.unit("tile0.wide_to_narrow")
    assert account["busy"] == 1 + 3 * WORDS
    assert account["stall:flag"] == WORDS + 1


def test_two_engines_that_share_the_narrow_write_port_take_turns_by_priority() -> None:
    """Mesh in goes first: the wide→narrow DMA loses exactly its cycles."""
    bench = Bench()
    bench.deliver(to_narrow(2, label="rows"))
    bench.deliver(MeshIn(tiles=1, side=Side.EAST, write=line(0x4000, 10, WORD), fill=0, label="fill"), after=20)
    bench.clock.run()
    assert bench.retired == {"fill": 31, "rows": 2 * WORDS + 1 + 10}
    assert bench.unit("tile0.wide_to_narrow")["stall:port"] == 10


def test_instructions_of_one_engine_follow_each_other_without_a_gap() -> None:
    bench = Bench()
    bench.deliver(to_wide(1, label="a"))
    bench.deliver(to_wide(2, label="b"))
    bench.clock.run()
    assert bench.retired == {"a": WORDS + 1, "b": WORDS + 1 + 2 * WORDS + 1}


def test_a_whole_instruction_waits_for_all_its_watchers() -> None:
    bench = Bench()
    flags = bench.chip.tiles[0].flags
    wait = (Watcher(Flag.AVDATA, 2), Watcher(Flag.RING_READ_A, 1))
    bench.deliver(to_wide(1, wait=wait, label="late"))
    for cycle, flag in ((10, Flag.RING_READ_A), (20, Flag.AVDATA), (30, Flag.AVDATA)):
        bench.clock.timeout(cycle).callbacks.append(lambda _, flag=flag: flags.raise_by(flag))
    bench.clock.run()
    assert bench.retired == {"late": 30 + WORDS + 1}
    assert bench.unit("tile0.narrow_to_wide")["stall:flag"] == 30


def test_strict_flags_need_one_more() -> None:
    bench = Bench(chip_of(tile={"strict_compare": True}))
    flags = bench.chip.tiles[0].flags
    bench.deliver(to_wide(1, wait=(Watcher(Flag.AVDATA, 1),), label="late"))
    for cycle in (10, 20):
        bench.clock.timeout(cycle).callbacks.append(lambda _: flags.raise_by(Flag.AVDATA))
    bench.clock.run()
    assert bench.retired == {"late": 20 + WORDS + 1}


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([(to_wide, WORDS, 1), (to_narrow, 1, WORDS)]),
    st.lists(st.integers(0, 150), min_size=1, max_size=12),
)
def test_each_row_waits_for_its_own_flag_whenever_that_rises(
    engine: tuple[Callable[..., NarrowToWide | WideToNarrow], int, int], apart: list[int]
) -> None:
    """A row is read when its flag is up, the one before has been read, and the one two before written."""
    make, reads, writes = engine
    rises = list(accumulate(apart))
    bench = Bench()
    flags = bench.chip.tiles[0].flags
    bench.deliver(make(len(rises), wait=(Watcher(Flag.AVDATA, 1, "r", 1),), label="rows"))
    for cycle in rises:
        bench.clock.timeout(cycle).callbacks.append(lambda _: flags.raise_by(Flag.AVDATA))
    bench.clock.run()
    read, written = [0], [0, 0]
    for rise in rises:
        read.append(max(read[-1], written[-2], rise) + reads)
        written.append(max(read[-1], written[-1]) + writes)
    assert bench.retired == {"rows": written[-1]}
