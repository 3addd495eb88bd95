"""A tensorop that reads what it writes: the cycles that it waits, and data as if groups came one after the other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilesim
from tests.tiled.programs import program
from tests.tiled.units.bench import Bench, at, chip_of, line, nest
from tilesim.tiled.isa.model.fields import Reference
from tilesim.tiled.isa.model.instructions import Operation, TensorOp, WideToNarrow
from tilesim.tiled.units.tensor.interlock import chunks, last_writers
from tilesim.tiled.units.tensor.operands import Operands

ROW, SUMS = 256, 0x8000


def sums(groups: int, steps: int, **changes: Any) -> TensorOp:
    """Each group adds ``steps`` steps to the one row of sums."""
    op = TensorOp(
        tiles=1, operation=Operation.CONVOLUTION, nest=nest(x=groups, k=steps, lane=64), reduce=("k",),
        input=at(0, x=4 * steps, k=4), weights=at(0, k=ROW), sums_in=at(SUMS), sums_out=at(SUMS), label="op",
    )  # fmt: skip
    return replace(op, **changes)


def maximum(groups: int, steps: int, read: Reference, write: Reference) -> TensorOp:
    return TensorOp(
        tiles=1, operation=Operation.MAXIMUM, nest=nest(x=groups, k=steps, lane=4), reduce=("k",),
        input=read, output=write, label="op",
    )  # fmt: skip


@pytest.mark.parametrize("groups", [1, 2, 30])
@pytest.mark.parametrize("steps", [1, 2, 9])
@pytest.mark.parametrize(("ports", "more"), [(1, 2), (2, 1)])
def test_a_row_of_sums_is_read_back_in_the_cycle_after_it_was_written(
    ports: int, more: int, steps: int, groups: int
) -> None:
    """One port: a read of sums, the steps, a write. Two: the first step shares its cycle with the read of sums."""
    bench = Bench(chip_of(wide_memory={"ports": ports}))
    assert bench.cycles(sums(groups, steps)) == groups * (steps + more)
    assert bench.unit("tile0.mac_array").get("stall:hazard", 0) == groups - 1


@pytest.mark.parametrize(("word", "stalls"), [(0, 1), (5, 1), (15, 1), (16, 0)])
def test_words_that_lie_apart_are_waited_for_where_they_are(word: int, stalls: int) -> None:
    """The second of two groups reads one of the 16 words, 32 bytes apart, of the first, or none of them."""
    op = TensorOp(
        tiles=1, operation=Operation.CONVOLUTION, nest=nest(x=2, k=1, lane=64), reduce=("k",), weights=at(0),
        input=at(0x1000 - 0x400 + 32 * word, x=0x400), output=at(0x1000, x=4, lane=32),
    )  # fmt: skip
    bench = Bench(chip_of())
    bench.cycles(op)
    assert (bench.unit("tile0.mac_array").get("stall:hazard", 0) > 0) == bool(stalls)


@pytest.mark.parametrize(("apart", "depth", "stalls"), [(1, 2, 1), (2, 2, 0), (2, 3, 1), (3, 3, 0), (1, 1, 0)])
def test_only_what_is_still_in_the_queue_can_be_a_hazard(apart: int, depth: int, stalls: int) -> None:
    """Groups of 4 steps and 16 words: a queue of D holds back the D-th group anyway, as ``fifo``."""
    op = TensorOp(
        tiles=1, operation=Operation.CONVOLUTION, nest=nest(x=12, k=4, lane=64), reduce=("k",), weights=at(0, k=ROW),
        parameters=at(0x40000), rule="double", input=at(0x1000 - 64 * apart, x=64, k=4), output=at(0x1000, x=64),
    )  # fmt: skip
    bench = Bench(chip_of(tile={"output_fifo_groups": depth}))
    bench.cycles(op)
    assert (bench.unit("tile0.mac_array").get("stall:hazard", 0) > 0) is bool(stalls)


@pytest.mark.parametrize(("steps", "words"), [(3, 16), (20, 16)])
def test_outputs_are_read_back_when_their_last_word_is_written(steps: int, words: int) -> None:
    """Each group reads the 16 words that the one before it wrote: s + w cycles each."""
    op = TensorOp(
        tiles=1, operation=Operation.CONVOLUTION, nest=nest(x=5, k=steps, lane=64), reduce=("k",),
        input=at(0x1000 - 64, x=64), output=at(0x1000, x=64), weights=at(0, k=ROW), parameters=at(0x40000),
        rule="double", label="op",
    )  # fmt: skip
    bench = Bench()
    assert bench.cycles(op) == 3 + 5 * (steps + words)
    assert bench.unit("tile0.mac_array")["stall:hazard"] == 4 * words


@pytest.mark.parametrize("row", [256, 1024])
def test_sums_that_share_a_row_are_no_hazard_but_their_own_are(row: int) -> None:
    """Sums of 64 lanes are 256 bytes: each group adds to its own, beside those of the one before it."""
    chip = chip_of(wide_memory={"row_bytes": row})
    apart = sums(4, 9, sums_in=at(SUMS, x=256), sums_out=at(SUMS, x=256))
    bench = Bench(chip)
    assert bench.cycles(apart) == 4 * (1 + 9) + 3 + 1
    assert "stall:hazard" not in bench.unit("tile0.mac_array")
    assert Bench(chip).cycles(sums(4, 9)) == 4 * (9 + 2)


def test_weights_are_compared_as_far_as_they_reach() -> None:
    """From half of a register's bytes on they reach into what the group before writes."""
    chip = chip_of(wide_memory={"row_bytes": 1024})
    reads = sums(2, 9, weights=at(SUMS - 128), sums_in=None)
    bench = Bench(chip)
    bench.cycles(reads)
    assert bench.unit("tile0.mac_array")["stall:hazard"] == 1
    bench = Bench(chip)
    bench.cycles(replace(reads, weights=at(SUMS - 256)))
    assert "stall:hazard" not in bench.unit("tile0.mac_array")


def test_in_place_is_no_hazard() -> None:
    """Each group reads just what it then writes itself."""
    bench = Bench()
    assert bench.cycles(maximum(50, 1, at(0, x=4), at(0, x=4))) == 50 + 1
    assert "stall:hazard" not in bench.unit("tile0.mac_array")


def test_a_dma_that_delays_the_write_prolongs_the_hazard() -> None:
    op, row = sums(3, 4), WideToNarrow(tiles=1, read=line(0, 1, ROW), write=line(0x4000, 64, 4), label="row")
    bench = Bench()
    bench.deliver(op)
    bench.deliver(row, after=5)  # the cycle of the first write
    bench.clock.run()
    assert bench.retired["op"] == 3 * (4 + 2) + 1
    assert bench.unit("tile0.mac_array")["stall:hazard"] == 2 + 1


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 12), st.integers(1, 4), st.integers(-6, 6), st.sampled_from([-8, -4, 0, 4, 8]),
    st.sampled_from([-4, 0, 4]), st.integers(0, 99),
)  # fmt: skip
def test_data_is_that_of_one_group_after_the_other(
    groups: int, steps: int, shift: int, stride: int, step_stride: int, seed: int
) -> None:
    """Outputs may lie anywhere among the inputs, in any direction."""
    bench = Bench(samples=2, seed=seed)
    bench.randomise()
    base = 0x200
    expected = bench.narrow().copy().view(np.int8)
    for group in range(groups):
        reads = [base + group * stride + k * step_stride for k in range(steps)]
        found = np.max([expected[:, read : read + 4] for read in reads], axis=0)
        write = base + 4 * shift + 4 * group
        expected[:, write : write + 4] = found
    op = maximum(groups, steps, at(base, x=stride, k=step_stride), at(base + 4 * shift, x=4))
    bench.cycles(op)
    assert np.array_equal(bench.narrow().view(np.int8), expected)


def test_sums_add_up_over_all_groups() -> None:
    bench = Bench(seed=2)
    bench.randomise()
    bench.wide()[0, SUMS : SUMS + ROW] = 0
    bench.cycles(sums(40, 2))
    x = bench.narrow()[0, : 40 * 8].view(np.int8).astype(np.int64).reshape(40, 2, 4)
    w = bench.wide()[0, : 2 * ROW].view(np.int8).astype(np.int64).reshape(2, 64, 4)
    assert np.array_equal(bench.wide()[0, SUMS : SUMS + ROW].view(np.int32), np.einsum("gki,kli->l", x, w))


def test_the_last_writer_of_what_a_group_reads() -> None:
    memories = Bench().chip.tiles[0].memories
    found = last_writers(Operands(maximum(6, 2, at(0x100, k=4), at(0x100 - 8, x=4))), memories, 4)
    assert found.tolist() == [-1, -1, -1, 2, 3, 3]  # group 2 writes the first of the two words, group 3 the second
    assert list(chunks(found, 0, 6)) == [(0, 3), (3, 4), (4, 6)]
    assert list(chunks(found, 3, 6)) == [(3, 4), (4, 6)]
    assert list(chunks(found, 5, 6)) == [(5, 6)]


def test_a_program_that_adds_up_in_place_is_sound_and_says_what_it_waited_for() -> None:
    sums = "sums_in=@0x0 sums_out=@0x0"
    run = f"t: tensorop tiles=1 operation=convolution nest=[x:9,lane:4] input=@0x0 weights=@0x80 {sums}"
    [array] = [
        unit
        for unit in tilesim.simulate(program(run, "edge-1x1"), []).statistics["units"]
        if unit["track"] == "chip.tile0.mac_array"
    ]
    assert array["stall_cycles"]["hazard"] == 8
