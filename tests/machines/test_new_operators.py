"""Operators that not every machine has a unit for: each machine runs them to the golden bits, or says which it is."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tilesim
from tests.networks import Weave
from tilesim.errors import InputError, kept
from tilesim.network.operators import (
    BatchMatmul,
    Cast,
    Concatenation,
    DepthToSpace,
    DynamicQuantise,
    Gather,
    GatherNd,
    IntegerConvolution,
    IntegerMatmul,
    Maximum,
    Minimum,
    Padding,
    Part,
    Prelu,
    RealArithmetic,
    Reshape,
    ResizeBilinear,
    ResizeLinear,
    SpaceToDepth,
    Stack,
    Tile,
    Transpose,
)

CHIPS = ("edge-1x2", "systolic-4", "rotating-16")
HALF = (1 << 30, 0)
INT8, INT32 = np.dtype(np.int8), np.dtype(np.int32)


def integer_matmul(weave: Weave, x: int) -> int:
    flat = weave.add(Reshape((1, 128)), x)
    constants = (np.ones((128, 3), np.int8), np.zeros(1, np.int8), np.zeros(1, np.int8))
    return weave.add(IntegerMatmul((1, 0, 0, 0)), flat, *map(weave.constant, constants))


def integer_convolution(weave: Weave, x: int) -> int:
    op = IntegerConvolution((1, 1), Padding(), (1, 1), 1, (1, 0, 0, 0))
    constants = (np.ones((4, 1, 1, 8), np.int8), np.zeros(1, np.int8), np.zeros(1, np.int8))
    return weave.add(op, x, *map(weave.constant, constants))


def of_reals(weave: Weave, x: int) -> int:
    reals = weave.add(Cast(np.dtype(np.float32)), x)
    return weave.add(DynamicQuantise("integers", 1), weave.add(RealArithmetic("add", (1, 1)), reals, reals))


MADE: dict[str, Callable[[Weave, int], int]] = {
    "transpose": lambda w, x: w.add(Transpose((0, 3, 1, 2), 1), x),
    "stack": lambda w, x: w.add(Stack((1, 1)), x, x),
    "part": lambda w, x: w.add(Part(1, 0, 1, 1), x),
    "tile": lambda w, x: w.add(Tile((1, 2, 1, 1), 1), x),
    "gather": lambda w, x: w.add(Gather(1, 0, (1, 0)), x, w.constant(np.array([1, 0]))),
    "gather_nd": lambda w, x: w.add(GatherNd((1, 0)), x, w.constant(np.array([[0, 1]]))),
    "cast": lambda w, x: w.add(Cast(INT32), x),
    "depth_to_space": lambda w, x: w.add(DepthToSpace(2), x),
    "space_to_depth": lambda w, x: w.add(SpaceToDepth(2), x),
    "minimum": lambda w, x: w.add(Minimum(), x, x),
    "maximum": lambda w, x: w.add(Maximum(), x, x),
    "prelu": lambda w, x: w.add(Prelu(0, 0, 0, "double", HALF, HALF), x, w.constant(np.arange(8, dtype=np.int8))),
    "batch_matmul": lambda w, x: w.add(
        BatchMatmul((False, True), (0, 0, 0), "double", *HALF, (-128, 127), INT32, (1, 1)), x, x
    ),
    "resize_bilinear": lambda w, x: w.add(ResizeBilinear((8, 8), False, False, "fixed"), x),
    "resize_linear": lambda w, x: w.add(ResizeLinear(((0, 1, 0.5, 0.5),), ((0, 1, 0.25, 0.75),), (-128, 127)), x),
    "integer_matmul": integer_matmul,
    "integer_convolution": integer_convolution,
    "of_reals": of_reals,
}


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", MADE)
def test_run_or_refused_by_name(name: str, chip: str) -> None:
    weave = Weave()
    x = weave.input(4, 4, 8, zero_point=0)
    network = weave.network(MADE[name](weave, x))
    sample = weave.integers((1, 4, 4, 8))
    refused: list[str] = []
    with kept(refused):
        program = tilesim.compile(network, tilesim.load_topology(chip))
    titles = {node.title for node in network.nodes}
    assert all(any(title in fault for title in titles) for fault in refused), refused
    if not refused:
        (output,) = tilesim.simulate(program, [sample]).outputs
        np.testing.assert_array_equal(output, network.evaluate(sample)[network.outputs[0]])


def test_tiles_take_a_network_without_layers_of_their_own() -> None:
    weave = Weave()
    x = weave.input(12)
    network = weave.network(weave.add(Reshape((1, 1, 1, 12)), x))
    sample = weave.integers((1, 12))
    program = tilesim.compile(network, tilesim.load_topology("edge-1x2"))
    assert tilesim.simulate(program, [sample]).outputs[0].reshape(-1).tolist() == sample.reshape(-1).tolist()


def test_a_rotating_machine_wants_all_inputs_read_and_four_axes() -> None:
    weave = Weave()
    x, _ = weave.input(4, 4, 8), weave.input(3)
    chip = tilesim.load_topology("rotating-16")
    with pytest.raises(InputError, match="input input1 must be read by a layer that the chip runs"):
        tilesim.compile(weave.network(weave.convolution(x, 4)), chip)
    weave = Weave()
    deep = weave.add(Reshape((1, 1, 4, 4, 8)), weave.input(4, 4, 8))
    network = weave.network(weave.add(Concatenation(2), deep, deep))
    with pytest.raises(InputError, match="must work on tensors of at most 4 axes"):
        tilesim.compile(network, chip)
