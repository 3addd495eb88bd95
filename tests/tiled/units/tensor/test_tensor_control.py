"""The tensor control alone: the cycle in which it is done, which words it reads, and who it meets at the ports."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tiled.units.bench import Bench, at, chip_of, line, nest
from tilesim.tiled.isa.model.fields import Alternate, Flag, Reference, Watcher
from tilesim.tiled.isa.model.instructions import ElementType, Operation, TensorOp, WideToNarrow

LANES, WORDS = 64, 16
ROW = 256
SUMS = 0x8000


def convolution(groups: int = 5, steps: int = 20, blocks: int = 1, **changes: Any) -> TensorOp:
    """``blocks`` blocks of 64 lanes, ``groups`` result groups in each, each of ``steps`` steps."""
    op = TensorOp(
        tiles=1,
        operation=Operation.CONVOLUTION,
        nest=nest(zb=blocks, x=groups, zi=steps, lane=LANES),
        reduce=("zi",),
        input=at(0, x=4, zi=4),
        weights=at(0, zb=steps * ROW, zi=ROW),
        parameters=at(0x40000, zb=3 * ROW),
        output=at(0x10000, zb=LANES, x=blocks * LANES),
        rule="double",
        label="op",
    )
    return replace(op, **changes)


def cycles(op: TensorOp, **chip: Any) -> int:
    return Bench(chip_of(**chip)).cycles(op)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 12), st.integers(WORDS, 40), st.integers(1, 3))
def test_unloaded_latency_is_that_of_the_docstring(groups: int, steps: int, blocks: int) -> None:
    """G * s + 3 * p + w: a step a cycle, three parameter rows a block of channels, the last group's words."""
    total = groups * blocks
    assert cycles(convolution(groups, steps, blocks)) == total * steps + 3 * blocks + WORDS


@pytest.mark.parametrize("groups", [1, 2, 9])
def test_short_groups_are_limited_by_the_output_words(groups: int) -> None:
    """64 outputs are 16 words, one a cycle: below 16 steps a group the output port is the limit."""
    assert cycles(convolution(groups, 3)) == 3 + 3 + groups * WORDS


@pytest.mark.parametrize(("depth", "expected"), [(1, 5 * (10 + WORDS)), (2, 10 + 5 * WORDS), (3, 10 + 5 * WORDS)])
def test_the_output_fifo_lets_the_next_group_start_before_this_one_is_written(depth: int, expected: int) -> None:
    op = convolution(5, 10, parameters=None)
    assert cycles(op, tile={"output_fifo_groups": depth}) == expected


I8, I16 = ElementType.I8, ElementType.I16


@pytest.mark.parametrize("made", [I8, I16])
@pytest.mark.parametrize(("given", "weights", "factor"), [(I8, I8, 1), (I8, I16, 2), (I16, I8, 2), (I16, I16, 4)])
def test_wider_operands_take_several_cycles_a_step(
    given: ElementType, weights: ElementType, factor: int, made: ElementType
) -> None:
    """G * s + 4 * p + w, s being 40 steps of 2 or 4 cycles; as many bytes as lanes times those of an element leave."""
    op = convolution(
        steps=40,
        widths=(given.bits, weights.bits),
        input_type=given,
        weight_type=weights,
        output_type=made,
        input=at(0, x=8, zi=8),
        weights=at(0, zi=2 * ROW),
        output=at(0x10000, x=LANES * made.bytes),
    )
    assert cycles(op) == 5 * 40 * factor + (3 if factor == 1 else 4) + WORDS * made.bytes


@pytest.mark.parametrize(("ports", "read", "written"), [(1, 2, 4 * 2 + 2), (2, 1, 2)])
def test_sums_of_64_bits_are_two_rows_in_and_two_out(ports: int, read: int, written: int) -> None:
    """On two ports both rows are read in one cycle, which has no port left for the first step's weights."""
    wide = convolution(input_type=I16, widths=(16, 8), input=at(0, x=8, zi=8), parameters=None)
    one = replace(wide, sums_in=at(SUMS, x=2 * ROW))
    assert cycles(one, wide_memory={"ports": ports}) == 5 * (40 + read) + WORDS
    out = replace(wide, output=None, sums_out=at(SUMS, x=2 * ROW))
    assert cycles(out, wide_memory={"ports": ports}) == 5 * 40 + written


def test_two_operands_are_read_one_after_the_other() -> None:
    op = TensorOp(
        tiles=1,
        operation=Operation.ADD,
        nest=nest(x=50, lane=4),
        input=at(0, x=4),
        input_b=at(0x1000, x=4),
        output=at(0x2000, x=4),
        rule="float",
        scaling=(0, 0, 0),
    )
    assert cycles(op) == 50 * 2 + 1


def largest(vector: int, **changes: Any) -> TensorOp:
    """Of single bytes: a copy of 24 of them, ``vector`` a group."""
    op = TensorOp(
        tiles=1,
        operation=Operation.MAXIMUM,
        nest=nest(x=24 // vector, lane=vector),
        input=at(0, x=vector),
        output=at(0x2000, x=vector),
        clamp=(7, 7),
    )
    return replace(op, **changes)


@pytest.mark.parametrize(("word", "vector"), [(4, 1), (4, 2), (4, 4), (8, 4), (16, 4)])
def test_a_group_of_less_than_a_word_is_written_in_a_cycle_and_leaves_the_rest_of_it_alone(
    word: int, vector: int
) -> None:
    """Every other group's place is left out."""
    chip = chip_of(tile={"vector_bytes": vector}, narrow_memory={"word_bytes": word})
    assert Bench(chip).cycles(largest(vector)) == 24 // vector + 1
    bench = Bench(chip)
    assert bench.cycles(largest(vector, nest=nest(x=3, lane=vector), output=at(0x2000, x=2 * vector))) == 3 + 1
    written = [7] * vector + [0] * vector
    assert bench.narrow()[0, 0x2000 : 0x2000 + 6 * vector].tolist() == 3 * written


def test_a_group_with_fewer_lanes_than_it_could_have_ends_what_it_writes_in_zeros() -> None:
    bench = Bench(chip_of(tile={"vector_bytes": 2}))
    bench.narrow()[...] = 9
    bench.cycles(largest(2, nest=nest(x=1, lane=1)))
    assert bench.narrow()[0, 0x2000:0x2004].tolist() == [7, 0, 9, 9]


def test_a_group_that_reads_another_part_of_the_word_that_is_written_waits_for_it() -> None:
    """The interlock compares words: groups of a step and a write take s + w cycles each."""
    chip = chip_of(tile={"vector_bytes": 2})
    op = largest(2, nest=nest(x=4, lane=2), input=at(0x2002), output=at(0x2000))
    assert Bench(chip).cycles(op) == 4 * (1 + 1)


@pytest.mark.parametrize(("ports", "extra"), [(1, 1), (2, 0)])
def test_a_row_of_partial_sums_in_costs_a_wide_read_a_group(ports: int, extra: int) -> None:
    op = convolution(sums_in=at(SUMS, x=ROW), parameters=None)
    assert cycles(op, wide_memory={"ports": ports}) == 5 * (20 + extra) + WORDS


@pytest.mark.parametrize("ports", [1, 2])
def test_rows_of_partial_sums_are_read_before_a_groups_first_step(ports: int) -> None:
    """As many as the port has accesses in a cycle; the last of them beside the first issue, if there is room for it."""
    op = convolution(sums_in=at(SUMS, x=ROW, zi=ROW), parameters=None)
    assert cycles(op, wide_memory={"ports": ports}) == 5 * (20 + 20 // ports) + WORDS


@pytest.mark.parametrize(("ports", "expected"), [(1, 5 * 20 + 4 + 1), (2, 5 * 20 + 1)])
def test_a_row_of_partial_sums_out_costs_a_wide_write_a_group(ports: int, expected: int) -> None:
    """On one port each row but the last is written in a cycle that the next group then does not issue in."""
    op = convolution(parameters=None, output=None, sums_out=at(SUMS, x=ROW))
    assert cycles(op, wide_memory={"ports": ports}) == expected


def test_the_alternate_limit_shortens_the_last_block_of_lanes() -> None:
    """36 of 100 outputs: 9 words instead of 16, and nothing behind them is touched."""
    op = convolution(1, 20, 2, nest=nest(Alternate("zb", 36), zb=2, x=1, zi=20, lane=LANES), clamp=(7, 7))
    bench = Bench()
    assert bench.cycles(op) == 2 * 20 + 2 * 3 + 9
    assert (bench.narrow()[0, 0x10000 : 0x10000 + 100] == 7).all()
    assert not bench.narrow()[0, 0x10000 + 100 :].any()


def test_parameters_are_read_again_only_when_their_rows_change() -> None:
    """Outputs of one block after another keep the block's parameters; alternating blocks never do."""
    kept = convolution(4, 20, 3)
    alternating = replace(kept, nest=nest(x=4, zb=3, zi=20, lane=LANES))
    assert cycles(kept) == 12 * 20 + 3 * 3 + WORDS
    assert cycles(alternating) == 12 * 20 + 3 * 12 + WORDS


@pytest.mark.parametrize(("row", "reads"), [(256, (3, 3, 3, 3)), (512, (2, 2, 2, 2)), (1024, (1, 2, 2, 1))])
def test_parameters_that_share_rows_are_read_with_fewer_reads(row: int, reads: tuple[int, ...]) -> None:
    """Bias, multiplier and shift of 64 lanes are 256 bytes each, block behind block: some straddle larger rows."""
    op = convolution(1, 20, 4, weights=at(0), parameters=at(0x40000, zb=3 * 256))
    assert cycles(op, wide_memory={"row_bytes": row}) == 4 * 20 + sum(reads) + WORDS


def test_what_the_lanes_get_does_not_depend_on_the_rows() -> None:
    results = []
    for row in (256, 512, 2048):
        bench = Bench(chip_of(wide_memory={"row_bytes": row}), seed=4)
        bench.randomise()
        values = bench.random.integers(-9, 9, (2, 3, LANES)).astype(np.int32) + np.array([[0], [1 << 30], [-9]])
        bench.wide()[0, 0x40000 : 0x40000 + values.size * 4] = values.astype(np.int32).view(np.uint8).reshape(-1)
        bench.cycles(convolution(2, 5, 2, weights=at(0, zb=2048, zi=ROW)))
        results.append(bench.narrow()[0, 0x10000 : 0x10000 + 4 * LANES].copy())
    assert all((result == results[0]).all() and result.any() for result in results)


def test_a_dma_row_costs_the_tensorop_exactly_one_cycle() -> None:
    """Wide→narrow reads a row of wide memory once; its words go to the narrow write port while nothing is written."""
    op = convolution(1, 400)
    rows = WideToNarrow(tiles=1, read=line(0x60000, 3, ROW), write=line(0x20000, 3 * 64, 4), label="rows")
    bench = Bench()
    assert bench.cycles(op, rows) == 400 + 3 + WORDS + 3
    account = bench.unit("tile0.tensor")
    assert account["stall:port"] == 3
    assert bench.unit("tile0.mac_array")["busy"] == 400


def test_the_mac_array_is_busy_in_issue_cycles_alone() -> None:
    bench = Bench()
    end = bench.cycles(convolution(5, 20))
    account = bench.unit("tile0.mac_array")
    assert account["busy"] == 100
    assert account["stall:port"] == 3
    assert sum(account.values()) == end


def test_a_watcher_holds_each_iteration_of_its_loop() -> None:
    """Oracle 16: initial count 3, stride 2: iteration k starts once the flag has counted to 3 + 2 * k."""
    op = convolution(3, 20, parameters=None)
    op = replace(op, wait=(Watcher(Flag.RING_READ_A, 3, "x", 2),))
    bench = Bench()
    flags = bench.chip.tiles[0].flags
    for cycle in range(100, 800, 100):  # the n-th rise comes at n * 100
        bench.clock.timeout(cycle).callbacks.append(lambda _: flags.raise_by(Flag.RING_READ_A))
    assert bench.cycles(op) == 700 + 20 + WORDS
    issued = [start for start, _, kind, _ in bench.spans("tile0.mac_array") if kind == "busy"]
    assert issued == [300, 500, 700]


def test_each_wait_is_booked_to_the_flag_that_ends_it() -> None:
    """Before it begins, the later of two flags has what it takes longer; in its loops, likewise each time."""
    watchers = (
        Watcher(Flag.NARROW_TO_WIDE, 1),
        Watcher(Flag.RING_READ_A, 1),
        Watcher(Flag.MESH_NORTH_IN, 1, "x", 1),
        Watcher(Flag.WIDE_TO_NARROW, 1, "x", 1),
    )
    bench = Bench()
    rises = {
        "narrow_to_wide": (30,),
        "ring_read_a": (50,),
        "mesh_north_in": (60, 100, 200),
        "wide_to_narrow": (75, 90, 210),
    }
    for flag, cycles in rises.items():
        for cycle in cycles:
            raised = bench.clock.timeout(cycle)
            raised.callbacks.append(lambda _, flag=flag: bench.chip.tiles[0].flags.raise_by(flag))
    assert bench.cycles(convolution(3, 20, parameters=None, wait=watchers, layer=4)) == 210 + 20 + WORDS
    share = bench.chip.tiles[0].tensor.shares[4]
    assert (share.start, share.end) == (50, 210 + 20 + WORDS)
    assert [(what, wait) for what, wait in share.waits if wait] == [
        ("narrow_to_wide", range(30)),
        ("ring_read_a", range(30, 50)),
    ]
    assert +share.spent == {
        "mesh_north_in": 10 + (100 - 95) + (200 - 120),
        "wide_to_narrow": 15 + 10,
        "busy": 60,
        "fifo": WORDS,
    }
    bench.chip.close(300)
    assert bench.unit("tile0.mac_array") == {"busy": 60, "stall:flag": 170, "stall:fifo": 16, "stall:work": 54}


@pytest.mark.parametrize(("loop", "rises"), [("zb", [1]), ("x", [2]), ("zi", [8]), ("lane", [8]), (None, [])])
def test_the_loop_that_produces(loop: str | None, rises: list[int]) -> None:
    """A loop outside the reduction counts its completions; one inside it, or the lanes, result groups."""
    bench = Bench()
    bench.cycles(convolution(4, 20, 2, produce=loop))
    assert bench.chip.tiles[0].flags.count(Flag.AVDATA) == sum(rises)


def test_partial_sums_raise_a_flag_of_their_own() -> None:
    bench = Bench()
    op = convolution(parameters=None, output=None, sums_out=at(SUMS, x=ROW), produce="x")
    bench.cycles(op)
    flags = bench.chip.tiles[0].flags
    assert (flags.count(Flag.PARTIAL_SUMS), flags.count(Flag.AVDATA)) == (1, 0)


@pytest.mark.parametrize("operation", [Operation.CONVOLUTION, Operation.SUM])
def test_of_a_row_of_sums_those_of_the_lanes_that_run_are_written(operation: Operation) -> None:
    """In the last block five lanes, or three, do."""
    bench, whole = Bench(seed=3), 0x100
    most, few = (LANES, 5) if operation is Operation.CONVOLUTION else (4, 3)
    op = convolution(1, 2, operation=operation, parameters=None, output=None, label="", input=at(whole, zb=LANES, zi=4))
    if operation is Operation.SUM:
        op = replace(op, weights=None)
    for base, alternate in ((SUMS, None), (2 * SUMS, Alternate("zb", few))):
        bench.randomise() if alternate is None else None
        bench.wide()[0, base : base + 2 * ROW] = 77
        bench.cycles(replace(op, nest=nest(alternate, zb=2, x=1, zi=2, lane=most), sums_out=at(base, zb=ROW)))
    every, some = (bench.wide()[0, base : base + 2 * ROW] for base in (SUMS, 2 * SUMS))
    written = ROW + 4 * few
    assert (every[:written] == some[:written]).all()
    assert (some[written:] == 77).all()
    assert not (every[: ROW + 4 * most] == 77).all()


def test_words_of_a_group_may_lie_apart() -> None:
    """As far as the output moves in the loop of the lanes: in the same cycles, and nothing between them is written."""
    side_by_side, apart = Bench(seed=5), Bench(seed=5)
    for bench, strides in ((side_by_side, {"x": LANES}), (apart, {"x": 4, "lane": 24})):
        bench.randomise()
        bench.narrow()[0, 0x10000:0x11000] = 77
        assert bench.cycles(convolution(2, 20, output=at(0x10000, **strides))) == 2 * 20 + 3 + WORDS
    groups = side_by_side.narrow()[0, 0x10000 : 0x10000 + 2 * LANES].reshape(2, WORDS, 4)
    lines = apart.narrow()[0, 0x10000 : 0x10000 + 24 * WORDS].reshape(WORDS, 6, 4)
    assert (lines[:, :2] == groups.transpose(1, 0, 2)).all()
    assert (lines[:, 2:] == 77).all()


def test_what_it_reads_is_what_its_addresses_point_at() -> None:
    """Moving the base or a stride of any operand by one step moves the result."""

    def result(**changes: Reference) -> bytes:
        bench = Bench(seed=3)
        bench.randomise()
        bias_multiplier_shift = bench.wide()[0, 0x40000 : 0x40000 + 3 * ROW].view("i4").reshape(3, LANES)
        bias_multiplier_shift[:] = [[0], [1 << 30], [-9]]
        op = convolution(2, 20, **changes)
        bench.cycles(op)
        return bench.narrow()[0, 0x10000 : 0x10000 + 2 * LANES].tobytes()

    plain = result()
    assert result() == plain
    for changes in (
        {"input": at(4, x=4, zi=4)},
        {"input": at(0, x=8, zi=4)},
        {"weights": at(ROW, zi=ROW)},
        {"weights": at(0, zi=2 * ROW)},
        {"output": at(0x10000, x=LANES + 4)},
    ):
        assert result(**changes) != plain, changes
