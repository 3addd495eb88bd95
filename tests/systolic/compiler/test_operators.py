"""Every operator, between layers that read what it makes: each tensor is the golden one, in whatever order the units
work.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.networks import Weave
from tests.systolic.compiled import chip, exact
from tilesim.arithmetic.normalise import normalise_scaling
from tilesim.errors import CapacityError
from tilesim.network.graph import Network, Node, Tensor
from tilesim.network.operators import (
    Add,
    AveragePool,
    Concatenation,
    Convolution,
    Dequantise,
    MaxPool,
    Mean,
    Multiply,
    Normalise,
    Pad,
    Padding,
    Quantise,
    Rescale,
    Reshape,
    ResizeNearest,
    Slice,
    Softmax,
    Table,
)
from tilesim.systolic.compiler.compile import compile_network
from tilesim.systolic.isa.model.instructions import Activate, Copy, MatrixMultiply, VectorInstruction
from tilesim.systolic.isa.model.program import Program

Make = Callable[[Weave, int], int]
CLAMP = (-128, 127)
TWICE = Rescale(-3, 4, "double", 1 << 30, 2, (0, 255), np.dtype(np.uint8))
BACK = Rescale(4, -3, "double", 1 << 30, -1, CLAMP, np.dtype(np.int8))
ADD = Add("double", (-3, 1 << 30, 0, 4, 1 << 30, 0, -5, 1 << 30, -19), CLAMP)
LRN = Normalise(5, normalise_scaling((0.05, 0.01), (-3, -5), 1e-2, 0.75, 1.0), CLAMP)
SMALL = {
    "array.rows": 8,
    "array.columns": 12,
    "weight_memory.size_bytes": "1 MiB",
    "unified_buffer.size_bytes": "64 KiB",
}


def average(window: tuple[int, int], padding: Padding, *, count: bool, rule: str = "float") -> AveragePool:
    scales = (0.05, 0.05) if rule == "divide" else (0.05, 0.04)
    points = (0, 0) if rule == "divide" else (-3, 7)
    return AveragePool(window, (2, 1), padding, count, *points, rule, scales, CLAMP)


def one(operator: Any) -> Make:
    return lambda weave, x: weave.add(operator, x, zero_point=4)


def two(operator: Any, shape: tuple[int, ...] | None = None) -> Make:
    """With another operand that is computed, or constant."""

    def make(weave: Weave, x: int) -> int:
        if shape is None:
            return weave.add(operator, x, weave.convolution(x, weave.samples[x].shape[-1], 1))
        return weave.add(operator, x, weave.constant(weave.integers(shape)))

    return make


def put_together(axis: int) -> Make:
    return lambda weave, x: weave.add(Concatenation(axis), x, weave.add(LRN, x), x, zero_point=3)


def gated(weave: Weave, x: int) -> int:
    """A factor a channel, from the mean of each."""
    mean = weave.add(Mean((1, 1, 1, 6), -3, 2, "double", 1 << 30, -5, CLAMP), x, zero_point=2)
    return weave.add(Multiply("double", (-3, 5, -20, 1 << 30, -5), (-100, 127)), x, weave.convolution(mean, 6, 1))


def look_up(weave: Weave, x: int) -> int:
    return weave.add(Table("random", weave.integers((256,))), x, zero_point=9)


def grouped(weave: Weave, x: int) -> int:
    """Three groups of two channels each: a convolution of two channels lends its weights."""
    weave.convolution(weave.add(Slice((0, 0, 0, 0), (1, 9, 7, 2)), x, zero_point=-3), 9)
    node = weave.nodes.pop()
    assert isinstance(node.operator, Convolution)
    return weave.add(replace(node.operator, groups=3), x, *node.inputs[1:], zero_point=node.operator.output_zero_point)


def reshaped(weave: Weave, x: int) -> int:
    flat = weave.add(Reshape((1, 7, 9, 6)), x, zero_point=-3)
    return weave.convolution(flat, 5)


LAYERS: dict[str, Make] = {
    "add": two(ADD),
    "add a constant": two(ADD, (1, 9, 7, 6)),
    "add a pixel": two(ADD, (1, 1, 1, 6)),
    "add a number": two(ADD, (1,)),
    "add a column": two(ADD, (1, 9, 1, 1)),
    "multiply": two(Multiply("float", (-3, 5, -20, 1045220557, 0), CLAMP)),
    "gate": gated,
    "average inside": one(average((3, 2), Padding(1, 0, 2, 1), count=False)),
    "average with padding": one(average((3, 3), Padding(1, 1, 1, 1), count=True, rule="real")),
    "average that divides": one(average((2, 2), Padding(), count=False, rule="divide")),
    "largest": one(MaxPool((3, 2), (2, 3), Padding(1, 1, 1, 0), (-90, 90))),
    "mean": one(Mean((1, 1, 1, 6), -3, 2, "double", 1 << 30, -5, CLAMP)),
    "table": look_up,
    "other bytes": lambda weave, x: weave.add(BACK, weave.add(TWICE, x, zero_point=4), zero_point=-3),
    "unsigned": lambda weave, x: weave.convolution(weave.add(TWICE, x, zero_point=4), 8, unsigned=True),
    "softmax": one(Softmax(0.05, 1 / 256, -128, CLAMP)),
    "normalise": one(LRN),
    "channels together": put_together(3),
    "rows together": put_together(1),
    "box": one(Slice((0, 3, 2, 1), (1, 5, 4, 3))),
    "border": one(Pad((0, 2, 1, 0), (0, 1, 3, 0), 4)),
    "border of another value": one(Pad((0, 2, 1, 1), (0, 0, 3, 2), -100)),
    "twice the size": one(ResizeNearest(tuple(k // 2 for k in range(18)), tuple(k // 2 for k in range(14)))),
    "odd size": one(ResizeNearest((0, 0, 1, 3, 3, 5, 8), (0, 2, 3, 3, 6))),
    "grouped": grouped,
    "depthwise": lambda weave, x: weave.depthwise(x, strides=(2, 1)),
    "dilated": lambda weave, x: weave.convolution(x, 8, padding=Padding(2, 4, 2, 4), dilations=(2, 4)),
    "reshaped": reshaped,
}  # fmt: skip


def around(make: Make) -> Network:
    """A convolution, what ``make`` adds to it, and a fully connected layer."""
    weave = Weave()
    made = make(weave, weave.convolution(weave.input(9, 7, 3), 6))
    return weave.network(weave.fully_connected(made, 5), made)


@pytest.mark.parametrize("feed", ["window", "channels"])
@pytest.mark.parametrize("layer", LAYERS)
def test_every_tensor_is_the_golden_one(layer: str, feed: str) -> None:
    network = around(LAYERS[layer])
    program = exact(network, chip("systolic-4", SMALL | {"value_loaders.feed": feed}), order=3, samples=2)
    assert len(program.layers) == len(network.nodes)
    assert {index for index, node in enumerate(network.nodes) if program.layers[index].place == "array"} == {
        index for index, node in enumerate(network.nodes) if getattr(node.operator, "macs", None)
    }


def alone(make: Make) -> Program:
    """Nothing but the last layer reads what ``make`` adds to a convolution, and the convolution itself."""
    weave = Weave()
    made = make(weave, weave.convolution(weave.input(9, 7, 3), 6))
    return exact(
        weave.network(weave.fully_connected(made, 5)), chip("systolic-4", SMALL | {"accumulators.entries": 130})
    )


def functions(program: Program) -> list[str]:
    """What the vector unit does."""
    return list(dict.fromkeys(type(op).__name__ for op in program.run if isinstance(op, VectorInstruction)))


def chain(*makes: Make) -> Make:
    def make(weave: Weave, x: int) -> int:
        for each in makes:
            x = each(weave, x)
        return x

    return make


POOLED = one(MaxPool((3, 3), (2, 2), Padding(), CLAMP))
AVERAGE = one(average((3, 3), Padding(1, 1, 1, 1), count=True, rule="real"))


@pytest.mark.parametrize(
    ("make", "pool_first"),
    [
        (look_up, False),
        (POOLED, False),
        (AVERAGE, False),
        (LAYERS["mean"], False),
        (LAYERS["normalise"], False),
        (chain(look_up, POOLED), False),
        (chain(look_up, LAYERS["normalise"], POOLED), False),
        (chain(POOLED, LAYERS["normalise"]), True),
    ],
)
def test_what_follows_sums_is_done_on_the_way(make: Make, pool_first: bool) -> None:
    program = alone(make)
    assert functions(program) == ["Activate"]
    assert any(op.pool_first for op in program.run if isinstance(op, Activate)) == pool_first


@pytest.mark.parametrize(
    ("make", "then"),
    [
        (chain(POOLED, look_up), "Lookup"),
        (chain(POOLED, POOLED), "Pool"),
        (chain(LAYERS["normalise"], LAYERS["normalise"]), "Normalisation"),
        (chain(lambda weave, x: weave.depthwise(x), LAYERS["normalise"]), "Normalisation"),
        (chain(lambda weave, x: weave.convolution(x, 13), LAYERS["normalise"]), "Normalisation"),
    ],
)
def test_what_comes_too_late_or_is_not_there_whole_is_done_afterwards(make: Make, then: str) -> None:
    assert functions(alone(make)) == ["Activate", then]


def test_maps_of_which_two_do_not_fit_the_accumulators_are_pooled_afterwards() -> None:
    weave = Weave()
    pooled = POOLED(weave, weave.convolution(weave.input(9, 7, 3), 6))
    network = weave.network(pooled)
    for entries, names in ((126, ["Activate"]), (125, ["Activate", "Pool"])):
        assert functions(exact(network, chip("systolic-4", SMALL | {"accumulators.entries": entries}))) == names


def test_a_border_that_only_convolutions_read_is_padding_of_theirs() -> None:
    weave = Weave()
    border = weave.add(Pad((0, 1, 2, 0), (0, 0, 1, 0), -7), weave.input(6, 5, 2), zero_point=-7)
    program = exact(weave.network(weave.convolution(border, 3), weave.depthwise(border)), chip("systolic-32"))
    assert functions(program) == ["Activate"]
    assert program.layers[0].place == "nowhere"
    assert border not in {tensor.index for tensor in program.tensors}


def test_sixteen_bits_take_more_passes_and_stay_exact() -> None:
    weave = Weave()
    x = weave.input(5, 5, 3, dtype=np.int16, zero_point=0)
    program = exact(weave.network(weave.convolution(x, 4)), chip("systolic-4", SMALL))
    assert {op.passes for op in program.run if isinstance(op, MatrixMultiply)} == {2}


def test_reals_are_quantised_and_dequantised_by_the_host() -> None:
    weave = Weave()
    real = weave.add(Quantise(0.05, -7, np.dtype(np.int8), "even"), weave.input(6, 5, 2), zero_point=-7)
    weave.tensors[0] = Tensor(0, "real", np.dtype(np.float32), (1, 6, 5, 2))
    output = weave.add(Dequantise(0.05, -3), weave.convolution(real, 3))
    program = exact(weave.network(output), chip("systolic-32"))
    assert [layer.place for layer in program.layers] == ["host", "array", "host"]
    assert (program.inputs[0].scale, program.inputs[0].zero_point, program.inputs[0].element) == (0.05, -7, "int8")
    assert (program.outputs[0].scale, program.outputs[0].dtype) == (0.05, "float32")


def test_a_copy_moves_images_of_several_rows_in_one_instruction() -> None:
    program = exact(around(LAYERS["twice the size"]), chip("systolic-32"))
    assert len([op for op in program.run if isinstance(op, Copy)]) == 1


class Unknown:
    def evaluate(self, inputs: list[Any]) -> Any:
        return inputs[0]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda weave, x: weave.add(Unknown(), x), "Unknown1 (unknown) must be a layer that this machine knows"),
        (
            lambda weave, x: weave.add(BACK, weave.add(Dequantise(0.1, 0), x)),
            "Dequantise1 (dequantise) must stand at an input or an output of the network, not between layers",
        ),
        (
            lambda weave, x: weave.add(Mean((1, 4), 0, 0, "double", 1 << 30, 0, CLAMP), weave.fully_connected(x, 4)),
            "Mean2 (mean) must work on a map (1, height, width, channels), not on (1, 4)",
        ),
    ],
)
def test_what_it_cannot_run_is_refused_in_a_sentence(make: Make, said: str) -> None:
    weave = Weave()
    x = weave.convolution(weave.input(4, 4, 2), 4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Mean, "evaluate", lambda _, inputs: inputs[0])
        network = weave.network(make(weave, x))
    with pytest.raises(CapacityError) as error:
        compile_network(network, chip("systolic-32"))
    assert said in str(error.value)


def test_weights_must_be_constant() -> None:
    weave = Weave()
    x = weave.input(4, 4, 2)
    made = weave.convolution(x, 4)
    node = weave.nodes[0]
    weave.nodes[0] = Node(node.name, node.operator, (x, x, node.inputs[2]), made)
    with pytest.raises(CapacityError, match=r"Convolution0 \(convolution\) must have constant weights, not input0"):
        compile_network(weave.network(made), chip("systolic-32"))


def test_outputs_must_be_computed() -> None:
    weave = Weave()
    x, fixed = weave.input(4, 4, 2), weave.constant(weave.integers((1, 4)))
    network = weave.network(weave.convolution(x, 2), weave.add(Reshape((1, 32)), x), fixed)
    with pytest.raises(CapacityError) as error:
        compile_network(network, chip("systolic-32"))
    assert error.value.faults == (
        "net: output Reshape1 must be computed, not an input",
        "net: output constant must be computed, not a constant",
    )


TOO_MUCH = {
    "unified_buffer": "tensors must fit the unified buffer: with parameters, 72 bytes, they take 639 bytes at once, "
    "while node Convolution0 runs, and there are 100",
    "weight_memory": "weights must fit the weight memory of systolic-4: as tiles of its array they take 224 bytes, and "
    "there are 100",
}


@pytest.mark.parametrize("memory", TOO_MUCH)
def test_too_little_memory_is_refused_with_the_bytes(memory: str) -> None:
    weave = Weave()
    network = weave.network(weave.convolution(weave.input(9, 7, 3), 6))
    with pytest.raises(CapacityError) as error:
        compile_network(network, chip("systolic-4", {f"{memory}.size_bytes": 100}))
    assert str(error.value) == f"net: {TOO_MUCH[memory]}"
