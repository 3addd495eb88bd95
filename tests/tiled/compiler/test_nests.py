"""Tensorops on chips with fewer loops: more of them, which do the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

import tilesim
from tests.tiled.corpus.programs import inputs_of, random_program
from tilesim.errors import TilesimError
from tilesim.shipped import shipped
from tilesim.tiled.compiler.nests import no_deeper
from tilesim.tiled.isa.model.fields import Alternate, Flag, Loop, Nest, Reference, Watcher
from tilesim.tiled.isa.model.instructions import Instruction, Operation, TensorOp, increments
from tilesim.tiled.isa.model.program import Program

WORKLOADS = ("digits", "pocket", "example-conv", "example-residual")
DEEP = TensorOp(
    tiles=1,
    operation=Operation.CONVOLUTION,
    nest=Nest(
        (Loop("y", 3), Loop("zb", 2), Loop("x", 4), Loop("ky", 3), Loop("kx", 3), Loop("zi", 2), Loop("lane", 8)),
        Alternate("zb", 5),
    ),
    reduce=("ky", "kx", "zi"),
    input=Reference(0x100, (("y", 64), ("x", 8), ("ky", 64), ("kx", 8), ("zi", 4))),
    weights=Reference(0, (("zb", 576), ("ky", 192), ("kx", 64), ("zi", 32))),
    parameters=Reference(0x1000, (("zb", 96),)),
    output=Reference(0x400, (("y", 64), ("zb", 8), ("x", 16))),
    wait=(Watcher(Flag.RING_READ_A, 2), Watcher(Flag.MESH_NORTH_IN, 5, "y", 2), Watcher(Flag.MESH_WEST_IN, 1, "x", 3)),
    produce="zb",
)


def loops(op: TensorOp) -> list[tuple[str, int]]:
    return [(loop.name, loop.bound) for loop in op.nest.loops]


def test_loops_that_step_as_one_become_one() -> None:
    """Columns of the kernel and words of channels, here."""
    [op] = no_deeper(DEEP, 6)
    assert loops(op) == [("y", 3), ("zb", 2), ("x", 4), ("ky", 3), ("kx", 6), ("lane", 8)]
    assert op.reduce == ("ky", "kx")
    assert op.input == Reference(0x100, (("y", 64), ("x", 8), ("ky", 64), ("kx", 4)))
    assert op.weights == Reference(0, (("zb", 576), ("ky", 192), ("kx", 32)))


def test_those_that_do_not_stay_two() -> None:
    apart = replace(DEEP, input=Reference(0x100, (("y", 64), ("x", 8), ("ky", 64), ("kx", 12), ("zi", 4))))
    assert [loops(op) for op in no_deeper(apart, 6)] == [loops(DEEP)[1:]] * 3


def test_the_outermost_is_unrolled() -> None:
    ops = no_deeper(DEEP, 5)
    assert [loops(op) for op in ops] == [[("zb", 2), ("x", 4), ("ky", 3), ("kx", 6), ("lane", 8)]] * 3
    assert [(op.input.base, op.output and op.output.base, op.weights and op.weights.base) for op in ops] == [
        (0x100 + k * 64, 0x400 + k * 64, 0) for k in range(3)
    ]
    assert {op.nest.alternate for op in ops} == {Alternate("zb", 5)}


def test_each_waits_for_what_its_rounds_waited_for() -> None:
    """The first for what holds all; x makes 8 rounds in each of y."""
    first, second, third = (op.wait for op in no_deeper(DEEP, 5))
    north, west = Flag.MESH_NORTH_IN, Flag.MESH_WEST_IN
    assert first == (Watcher(Flag.RING_READ_A, 2), Watcher(north, 5), Watcher(west, 1, "x", 3))
    assert second == (Watcher(north, 7), Watcher(west, 1 + 8 * 3, "x", 3))
    assert third == (Watcher(north, 9), Watcher(west, 1 + 16 * 3, "x", 3))


@pytest.mark.parametrize("produce", [None, "y", "zb", "x", "kx", "lane"])
@pytest.mark.parametrize("depth", [8, 6, 5, 4, 3])
def test_the_flag_rises_as_often(depth: int, produce: str | None) -> None:
    op = replace(DEEP, produce=produce)
    assert sum(map(increments, no_deeper(op, depth))) == increments(op)


def test_the_last_of_an_alternate_loop_has_fewer_lanes() -> None:
    ops = no_deeper(DEEP, 4)
    assert [loops(op)[-1] for op in ops] == [("lane", 8), ("lane", 5)] * 3
    assert [op.produce for op in ops] == [None, "x"] * 3


def test_the_fewest_rounds_are_unrolled_inside_what_watchers_name() -> None:
    """All rows of the first block of lanes, then all of the second, with which rows are complete."""
    rows = replace(DEEP, wait=DEEP.wait[:2])
    first, second = no_deeper(rows, 5)
    assert [loops(op) for op in (first, second)] == [
        [("y", 3), ("x", 4), ("ky", 3), ("kx", 6), ("lane", lanes)] for lanes in (8, 5)
    ]
    assert (first.wait, second.wait) == (DEEP.wait[:2], ())
    assert (first.produce, second.produce) == (None, "x")


def test_reductions_are_never_unrolled() -> None:
    assert {len(op.nest.loops) for op in no_deeper(DEEP, 2)} == {3}
    assert len(no_deeper(DEEP, 2)) == 3 * 2 * 4


def shallower(program: Program, depth: int) -> Program:
    """With its tensorops cut for chips with so many loops; the chip is the same."""

    def cut(op: Instruction) -> list[Instruction]:
        parts = no_deeper(op, depth) if isinstance(op, TensorOp) else [op]
        return [replace(part, label=f"{op.label}.{k}") for k, part in enumerate(parts)]

    load, run = ([each for op in ops for each in cut(op)] for ops in (program.load, program.run))
    return replace(program, load=tuple(load), run=tuple(run))


def outputs(program: Program, inputs: list[NDArray[np.int8]]) -> list[NDArray[np.generic]] | str:
    try:
        return tilesim.simulate(program, inputs).outputs
    except TilesimError as error:
        return type(error).__name__


@pytest.mark.parametrize("number", range(40))
def test_random_programs_come_to_the_same(number: int) -> None:
    """Those of which only one instruction is at work at a time, so that more instructions are in nobody's way."""
    program = random_program(number, serial=True)
    inputs = inputs_of(program)
    expected = outputs(program, inputs)
    for depth in (4, 3, 2):
        found = outputs(shallower(program, depth), inputs)
        if isinstance(expected, str) or isinstance(found, str):
            assert found == expected
        else:
            assert [each.tolist() for each in found] == [each.tolist() for each in expected]


@pytest.mark.parametrize("depth", [3, 4, 5, 6, 7])
@pytest.mark.parametrize("name", WORKLOADS)
def test_networks_come_to_the_same_bits_with_the_same_products(name: str, depth: int) -> None:
    """Fewer loops, more tensorops; the MAC arrays are busy for as long. What else there is in each cycle differs."""
    network = tilesim.load_network(name)
    rng = np.random.default_rng(1)
    tensors = [network.tensors[index] for index in network.inputs]
    if name == "digits":
        inputs = [np.load(shipped("workloads") / "digits.npz")["in0"][:2]]
    else:
        inputs = [rng.integers(-128, 128, (2, *tensor.shape[1:])).astype(tensor.dtype) for tensor in tensors]
    deep, flat = (
        tilesim.compile(network, tilesim.load_topology("edge-2x2", {"tile.loop_depth": loops}), "spatial")
        for loops in (8, depth)
    )
    assert len(flat.run) >= len(deep.run)
    assert max(len(op.nest.loops) for op in flat.run if isinstance(op, TensorOp)) <= depth
    runs = [tilesim.simulate(program, inputs) for program in (deep, flat)]
    for found, expected in zip(runs[1].outputs, runs[0].outputs, strict=True):
        np.testing.assert_array_equal(found, expected)
    tracks = {f"chip.tile{tile}.mac_array" for tile in range(4)}
    busy = [[unit["busy_cycles"] for unit in run.statistics["units"] if unit["track"] in tracks] for run in runs]
    assert busy[0] == busy[1]


@pytest.mark.parametrize("name", WORKLOADS)
def test_on_one_tile_fewer_loops_are_never_faster(name: str) -> None:
    """Where nothing comes from neighbours whose turn on the instruction bus has changed."""
    network = tilesim.load_network(name)
    cycles = []
    for depth in (8, 7, 6, 5, 4, 3):
        program = tilesim.compile(network, tilesim.load_topology("edge-1x1", {"tile.loop_depth": depth}))
        shapes = [(tensor.shape, np.dtype(tensor.dtype)) for tensor in program.inputs]
        cycles.append(tilesim.simulate(program, [np.zeros(shape, dtype) for shape, dtype in shapes]).cycles)
    assert cycles == sorted(cycles)


def test_a_kernel_of_which_no_loops_fold_needs_four() -> None:
    network = tilesim.load_network("digits")
    with pytest.raises(TilesimError, match="nest must have at most 2 loops, not 3"):
        tilesim.compile(network, tilesim.load_topology("edge-2x2", {"tile.loop_depth": 2}), "spatial")


@pytest.mark.parametrize("depth", [3, 4, 5])
def test_without_loops_for_the_sums_of_a_mean_its_input_is_gathered(depth: int) -> None:
    """Rows, columns, words and lanes are four; outputs stay the same."""
    network = tilesim.load_network("example-conv")
    program = tilesim.compile(network, tilesim.load_topology("edge-2x2", {"tile.loop_depth": depth}), "mixed")
    summed = [op for op in program.run if isinstance(op, TensorOp) and op.label.endswith(".sums")]
    assert bool(summed) == (depth >= 4)
    x = np.random.default_rng(1).integers(-128, 128, program.inputs[0].shape).astype(np.int8)
    golden = network.evaluate([x])[network.outputs[0]]
    np.testing.assert_array_equal(tilesim.simulate(program, [x]).outputs[0], golden)
