"""The orders of a layer's loops: the same bits on both models, and the reads and writes that the formulas say."""

from __future__ import annotations

from math import prod
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import tilesim
from tilesim.machines.policies import BLOCKS, INPUTS, ORDERED, ORDERS, ROWS, PartitionPolicy
from tilesim.network.graph import Network
from tilesim.run import Run
from tilesim.tiled.compiler.lower.loop_order import OuterLoops
from tilesim.tiled.isa.model.instructions import TensorOp
from tilesim.tiled.isa.model.program import Program

LAYERS = [
    {"name": "wide", "kind": "convolution", "filters": 150, "kernel": [3, 3]},
    {"name": "deep", "kind": "depthwise_convolution", "kernel": [3, 3]},
    {"name": "point", "kind": "convolution", "filters": 100, "kernel": [1, 1], "strides": [2, 1]},
    {"name": "full", "kind": "fully_connected", "units": 130},
]
LOOPS = [OuterLoops(6, 3, 7, 3), OuterLoops(6, 19, 7), OuterLoops(3, 2, 7, 38), OuterLoops(1, 3, 1, 25)]
"""Of 6 x 7 x 12, on one tile: 150 lanes are 3 blocks, 152 bytes of channels 19 of 8."""
STEPS = (9 * 3, 2 * 9, 38, 21 * 25)
"""Of a result group; of a depthwise layer, of its block of two words."""


def network(tmp_path: Path) -> Network:
    path = tmp_path / "net.yaml"
    path.write_text(yaml.safe_dump({"input": {"shape": [1, 6, 7, 12], "zero_point": 3}, "layers": LAYERS}))
    return tilesim.load_network(path)


def ordered(net: Network, chip: str, order: str) -> Program:
    """A program with all loops in an order, as far as layers can have it."""
    orders = [(0, k, order) for k, node in enumerate(net.nodes) if order in ORDERED[type(node.operator)]]
    return tilesim.compile(net, tilesim.load_topology(chip), PartitionPolicy("spatial", (), tuple(orders)))


def ran(net: Network, program: Program) -> Run:
    """Exactly."""
    x = np.random.default_rng(0).integers(-128, 128, net.tensors[net.inputs[0]].shape).astype(np.int8)
    run, golden = tilesim.simulate(program, [x], keep_tensors=True), net.evaluate([x])
    for index, tensor in run.tensors.items():
        np.testing.assert_array_equal(tensor, golden[index])
    return run


@pytest.mark.parametrize("chip", ["edge-1x1", "edge-2x2"])
@pytest.mark.parametrize("order", ORDERS)
def test_every_order_makes_the_same_bits_on_both_models(order: str, chip: str, tmp_path: Path) -> None:
    net = network(tmp_path)
    program = ordered(net, chip, order)
    ran(net, program)
    verdict = tilesim.verify(program, [np.ones((1, 6, 7, 12), np.int8)])
    assert (verdict.ended, verdict.differences) == (True, ())


@pytest.mark.parametrize("order", ORDERS)
def test_reads_and_writes_are_those_of_the_formula(order: str, tmp_path: Path) -> None:
    net = network(tmp_path)
    program = ordered(net, "edge-1x1", order)
    layers = ran(net, program).statistics["energy"]["layers"]
    for k, (loops, steps) in enumerate(zip(LOOPS, STEPS, strict=True)):
        count = {name: action["count"] for name, action in layers[k]["actions"].items()}
        mine = order if order in ORDERED[type(net.nodes[k].operator)] else ROWS
        sums, issues = loops.sum_reads(mine), loops.groups * steps
        host = 2 if k == 0 else 0  # rows that come from the host are unpacked: 504 bytes
        assert count["wide_read"] - host == issues + loops.parameter_reads(mine) + sums, (order, k)
        assert count["narrow_read"] == issues, "a word a step, whatever the order"
        assert count.get("wide_write", 0) - host == sums


def test_input_channels_outside_are_three_tensorops(tmp_path: Path) -> None:
    net = network(tmp_path)
    ops = [op for op in ordered(net, "edge-1x1", INPUTS).run if isinstance(op, TensorOp) and op.layer == 2]
    assert [(op.sums_in is None, op.sums_out is None) for op in ops] == [(True, False), (False, False), (False, True)]
    assert [op.nest.loops[0].name for op in ops] == ["y", "zi", "y"]
    assert [prod(loop.bound for loop in op.nest.loops[:-1]) for op in ops] == [42, 36 * 42, 42]


def test_rows_are_outermost_if_neighbours_wait_for_them_and_blocks_if_not(tmp_path: Path) -> None:
    net = network(tmp_path)
    outermost = {
        chip: {
            op.layer: op.nest.loops[0].name
            for op in tilesim.compile(net, tilesim.load_topology(chip), "mixed").run
            if isinstance(op, TensorOp)
        }
        for chip in ("edge-1x1", "edge-2x2")
    }
    assert [outermost["edge-1x1"][k] for k in range(3)] == ["zb", "cb", "zb"], "nobody waits for rows"
    assert [outermost["edge-2x2"][k] for k in range(3)] == ["y", "cb", "zb"], "the depthwise layer reads around"


@given(st.builds(OuterLoops, *(st.integers(1, 20),) * 4))
def test_laws_of_orders(loops: OuterLoops) -> None:
    reads = {order: loops.parameter_reads(order) for order in ORDERS}
    assert reads[BLOCKS] <= reads[ROWS] == reads[INPUTS] <= reads["pixels"]
    assert loops.best(by_row=True) == ROWS
    assert reads[loops.best(by_row=False)] == reads[BLOCKS]
    assert loops.best(by_row=False) != INPUTS or loops.words == 1
