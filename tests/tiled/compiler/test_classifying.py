"""What the classifier chooses of a vector, and the host of each pixel: the golden places and values, in both models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilesim
from tests.networks import Weave
from tilesim.network.graph import Network, Operator
from tilesim.network.operators import ArgMax, Dequantise, Reshape, Softmax, TopK
from tilesim.tiled import stepped
from tilesim.tiled.isa.model.instructions import Classify
from tilesim.tiled.isa.model.program import Program

CHIPS = ("edge-1x1", "edge-2x2", "edge-4x4")
INT32, INT64 = np.dtype(np.int32), np.dtype(np.int64)
SOFTMAX = Softmax(0.05, 1 / 256, -128, (-128, 127))


def check(network: Network, chip: str, *, steps: bool = True, **keys: Any) -> tuple[Program, int]:
    """A program whose outputs are the golden ones, and its cycles, which are those of the second model."""
    program = tilesim.compile(network, tilesim.load_topology(chip, keys))
    rng = np.random.default_rng(1)
    (source,) = (network.tensors[index] for index in network.inputs)
    limits = np.iinfo(source.dtype)
    x = rng.integers(limits.min, limits.max + 1, source.shape).astype(source.dtype)
    run, golden = tilesim.simulate(program, [x]), network.evaluate(x)
    for index, output in zip(network.outputs, run.outputs, strict=True):
        assert output.dtype == golden[index].dtype
        np.testing.assert_array_equal(output, golden[index])
    if steps:
        outcome = stepped.simulate(program, [x])
        assert outcome.cycles == run.cycles
        for one, other in zip(outcome.outputs, run.outputs, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)
    return program, run.cycles


def functions(program: Program) -> list[str]:
    return [op.function for op in program.run if isinstance(op, Classify)]


def ended(*operators: Operator, units: int = 10, dtype: Any = np.int8) -> Network:
    """A fully connected layer, whose outputs several operators read."""
    weave = Weave()
    x = weave.fully_connected(weave.input(40, dtype=dtype, zero_point=7), units, unsigned=dtype is np.uint8)
    return weave.network(*(weave.add(operator, x) for operator in operators))


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("units", [1, 10, 300])
def test_the_classifier_chooses_of_a_vector(chip: str, units: int) -> None:
    k = min(units, 5)
    network = ended(ArgMax(INT32), TopK(k), TopK(k, INT64), SOFTMAX, units=units)
    program, _ = check(network, chip)
    assert functions(program) == ["argmax", "top_k_values", "top_k_indices", "softmax"]
    assert [layer.place for layer in program.layers] == ["tiles", *["classifier"] * 4]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_places_may_take_more_rows_than_elements(dtype: Any) -> None:
    program, _ = check(ended(TopK(200, INT32), ArgMax(INT64, keeps=True), units=300, dtype=dtype), "edge-2x2")
    assert [tensor.rows for tensor in program.outputs] == [-(-800 // 256), 1]


def test_each_of_the_largest_takes_a_pass_over_all() -> None:
    cycles = [check(ended(TopK(k)), "edge-2x2")[1] for k in (1, 2, 5)]
    assert [late - cycles[0] for late in cycles] == [0, 10, 40]
    assert check(ended(ArgMax(INT32)), "edge-2x2")[1] == cycles[0]


@pytest.mark.parametrize("chip", CHIPS)
def test_the_host_chooses_of_each_pixel(chip: str) -> None:
    weave = Weave()
    x = weave.convolution(weave.input(6, 7, 4), 8)
    chosen = [weave.add(op, x) for op in (ArgMax(INT64), ArgMax(INT32, keeps=True), TopK(3), TopK(3, INT32))]
    program, _ = check(weave.network(*chosen), chip)
    assert functions(program) == []
    assert [layer.place for layer in program.layers] == ["tiles", *["host"] * 4]


@pytest.mark.parametrize("chip", CHIPS)
def test_the_classifier_makes_a_softmax_of_which_the_host_chooses(chip: str) -> None:
    weave = Weave()
    x = weave.add(SOFTMAX, weave.fully_connected(weave.input(40), 12), zero_point=-128)
    values = weave.add(TopK(3), x, zero_point=-128)
    program, _ = check(weave.network(weave.add(ArgMax(INT64), x), weave.add(Dequantise(0.5, -128), values), x), chip)
    assert functions(program) == ["softmax"] * 3
    assert [layer.place for layer in program.layers] == ["tiles", "classifier", "host", "host", "host"]


def test_of_a_softmax_of_each_pixel_the_host_chooses() -> None:
    weave = Weave()
    x = weave.add(SOFTMAX, weave.convolution(weave.input(6, 7, 4), 8), zero_point=-128)
    program, _ = check(weave.network(weave.add(ArgMax(INT64), x)), "edge-2x2")
    assert [layer.place for layer in program.layers] == ["tiles", "host", "host"]


def test_a_choice_between_layers_is_the_hosts() -> None:
    weave = Weave()
    x = weave.add(TopK(4), weave.fully_connected(weave.input(40), 12))
    program, _ = check(weave.network(weave.fully_connected(x, 3)), "edge-2x2")
    assert [layer.place for layer in program.layers] == ["tiles", "host", "tiles"]


@pytest.mark.parametrize("operator", [SOFTMAX, ArgMax(INT64), TopK(3)])
def test_the_classifier_takes_no_flattened_map(operator: Operator) -> None:
    """Its pixels would come tile by tile: the host flattens it, and goes on."""
    weave = Weave()
    vector = weave.add(Reshape((1, 4 * 4 * 64)), weave.convolution(weave.input(4, 4, 8), 64))
    program, _ = check(weave.network(weave.add(operator, vector)), "edge-2x2")
    assert [layer.place for layer in program.layers] == ["tiles", "host", "host"]
    assert functions(program) == []
