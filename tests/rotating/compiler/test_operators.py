"""Operators one by one: bits, and the clocks of closed forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.networks import Weave, same
from tests.rotating.compiler.clocks import channelwise, control, mixing
from tests.rotating.compiler.compiled import exact, small
from tilesim.arithmetic.add import add_scaling_float
from tilesim.arithmetic.multiply import ProductScaling
from tilesim.errors import CapacityError
from tilesim.network.graph import Network
from tilesim.network.operators import (
    Add,
    AveragePool,
    Concatenation,
    Convolution,
    DepthwiseConvolution,
    MaxPool,
    Mean,
    Multiply,
    Pad,
    Padding,
    Rescale,
    Reshape,
    ResizeNearest,
    Slice,
    Table,
)
from tilesim.rotating.compiler.compile import compile_network

Make = Callable[[Weave], int]
CHIPS: list[dict[str, Any]] = [
    {},
    {"rotation__direction": "down"},
    {"rotation__distances": "1 4"},
    {"rotation__direction": "down", "rotation__distances": "1-7", "units__word_bits": 16},
]


def network_of(make: Make) -> Network:
    weave = Weave()
    return weave.network(make(weave))


@pytest.mark.parametrize("chip", CHIPS, ids=str)
@pytest.mark.parametrize("strides", [(1, 1), (2, 2), (1, 3)])
@pytest.mark.parametrize(("filters", "channels"), [(8, 8), (5, 3), (9, 7), (3, 20)])
def test_convolutions_take_the_clocks_of_their_closed_form(
    filters: int, channels: int, strides: tuple[int, int], chip: dict[str, Any]
) -> None:
    topology = small(64, **chip)
    weave = Weave()
    network = weave.network(weave.convolution(weave.input(6, 7, channels), filters, 3, strides=strides))
    program, found = exact(network, topology)
    read, made = (end.layout.stripes[0] for end in (program.inputs[0], program.outputs[0]))
    blocks = 64 // read.block
    passes = len(made.channels) * (read.block // made.block)
    period = next(size for size in range(min(channels, blocks), blocks + 1) if blocks % size == 0)
    least = min(period, blocks if channels > blocks else channels + (blocks % channels or 0))
    lines = network.tensors[network.outputs[0]].shape[1]
    visits = sum(0 <= q * strides[0] - 1 + r < 6 for q in range(lines) for r in range(3))
    clocks = {
        mixing(passes, len(read.channels), visits, steps, 3, 1, read.block, lines, topology)
        for steps in {least, min(channels, blocks)}
    }
    assert found.by_layer[0] in clocks
    assert 2 + passes <= found.overhead[0] <= control(passes)


@pytest.mark.parametrize("chip", CHIPS, ids=str)
@pytest.mark.parametrize("copies", [1, 2, 3])
def test_depthwise_with_a_multiplier(copies: int, chip: dict[str, Any]) -> None:
    weave = Weave()
    x = weave.input(5, 3, 4)
    weights = weave.integers((3, 3, 4 * copies))
    bias = weave.rng.integers(-500, 500, 4 * copies).astype(np.int32)
    factors = weave.rng.integers(1 << 30, 1 << 31, 4 * copies).astype(np.int32)
    op = DepthwiseConvolution(
        (1, 1), same(3), (1, 1), -7, 0, 3, "double", factors, np.full(4 * copies, -8, np.int32), (-128, 127)
    )
    network = weave.network(weave.add(op, x, weave.constant(weights), weave.constant(bias), zero_point=3))
    topology = small(16, **chip)
    _, found = exact(network, topology)
    assert found.by_layer[0] == channelwise(copies, 13, 3, 1, 5, topology)


def grouped(weave: Weave) -> int:
    x = weave.input(4, 4, 6)
    weights, bias = weave.integers((4, 3, 3, 3)), weave.rng.integers(-500, 500, 4).astype(np.int32)
    factors = weave.rng.integers(1 << 30, 1 << 31, 4).astype(np.int32)
    shift = np.full(4, -9, np.int32)
    op = Convolution((1, 1), same(3), (1, 1), 2, -7, 0, 3, "double", factors, shift, (-128, 127))
    return weave.add(op, x, weave.constant(weights), weave.constant(bias), zero_point=3)


def unsigned(weave: Weave) -> int:
    x = weave.convolution(weave.input(5, 6, 3, dtype=np.uint8, zero_point=100), 4, unsigned=True)
    pooled = weave.add(MaxPool((2, 2), (1, 1), Padding(), (0, 255)), x, zero_point=weave.zero_point(x))
    return weave.fully_connected(pooled, 5)


def pool(rule: str, padding: Padding, inside: bool) -> Make:
    def make(weave: Weave) -> int:
        op = AveragePool((3, 3), (2, 1), padding, not inside, -7, 5, rule, (0.05, 0.04), (-100, 100))
        return weave.add(op, weave.input(6, 5, 3), zero_point=5)

    return make


def add_float(weave: Weave) -> int:
    x = weave.input(4, 5, 3)
    y = weave.convolution(x, 3)
    return weave.add(Add("float", add_scaling_float((0.05, 0.03, 0.08), (-7, -3, 2)), (-128, 127)), y, x)


def multiply(weave: Weave) -> int:
    x = weave.input(4, 5, 3)
    y = weave.convolution(x, 3)
    scaling: ProductScaling = (-3, -7, 4, 1 << 30, -5)
    return weave.add(Multiply("double", scaling, (-128, 127)), y, x, zero_point=4)


def constant_operand(weave: Weave) -> int:
    constant = weave.constant(weave.integers((1, 1, 1, 3)))
    return weave.add(Multiply("double", (-7, 0, 4, 1 << 30, -5), (-128, 127)), weave.input(4, 5, 3), constant)


def table(weave: Weave) -> int:
    return weave.add(Table("any", weave.integers((256,))), weave.convolution(weave.input(4, 5, 3), 9))


def rescale(weave: Weave) -> int:
    op = Rescale(-7, 120, "double", 1 << 30, 1, (0, 255), np.dtype(np.uint8))
    return weave.add(op, weave.input(4, 5, 3), zero_point=120)


def mean(weave: Weave) -> int:
    op = Mean((1, 1, 1, 6), -7, 3, "double", 1 << 30, -3, (-128, 127))
    return weave.fully_connected(weave.add(op, weave.input(4, 5, 6), zero_point=3), 4)


def concatenated(axis: int) -> Make:
    def make(weave: Weave) -> int:
        x = weave.input(4, 5, 3)
        return weave.add(Concatenation(axis), x, weave.convolution(x, 3), zero_point=-7)

    return make


def reshaped(weave: Weave) -> int:
    x = weave.add(Reshape((1, 2, 6, 4)), weave.input(4, 3, 4), zero_point=-7)
    return weave.convolution(x, 4)


def flat(weave: Weave) -> int:
    x = weave.add(Reshape((1, 48)), weave.input(4, 3, 4), zero_point=-7)
    x = weave.add(Table("any", weave.integers((256,))), x, zero_point=-7)
    return weave.fully_connected(x, 4)


def broad(weave: Weave, swapped: bool = False) -> int:
    x = weave.convolution(weave.input(4, 5, 3), 5)
    pixel = weave.add(Mean((1, 1, 1, 5), -3, 3, "double", 1 << 30, -3, (-128, 127)), x, zero_point=3)
    pixel = weave.convolution(pixel, 5, 1)
    pair = (pixel, x) if swapped else (x, pixel)
    return weave.add(Multiply("double", (-7, -7, 4, 1 << 30, -5), (-128, 127)), *pair)


def column_on_map(weave: Weave) -> int:
    pair = weave.input(4, 5, 3), weave.input(4, 1, 3)
    return weave.add(Multiply("double", (-7, -7, 4, 1 << 30, -5), (-128, 127)), *pair)


def two_borders(weave: Weave) -> int:
    x = weave.input(4, 5, 3)
    pooled = weave.add(MaxPool((3, 3), (1, 1), same(3), (-128, 127)), x, zero_point=-7)
    return weave.add(
        Add("double", (-7, 1 << 30, 0, 4, 1 << 30, 0, -5, 1 << 30, -19), (-128, 127)), pooled, weave.convolution(x, 3)
    )


MAKERS: dict[str, Make] = {
    "grouped": grouped,
    "unsigned": unsigned,
    "average": pool("divide", Padding(), False),
    "average of those inside": pool("divide", Padding(1, 1, 1, 1), True),
    "average with padding": pool("float", Padding(1, 1, 1, 1), False),
    "add in floats": add_float,
    "multiply": multiply,
    "constant operand": constant_operand,
    "table": table,
    "rescale": rescale,
    "mean": mean,
    "rows one after the other": concatenated(1),
    "columns": concatenated(2),
    "channels": concatenated(3),
    "pad": lambda weave: weave.add(Pad((0, 1, 2, 0), (0, 1, 1, 0), -7), weave.input(4, 5, 3), zero_point=-7),
    "pad channels": lambda weave: weave.add(Pad((0, 0, 0, 1), (0, 0, 0, 2), -7), weave.input(4, 5, 3), zero_point=-7),
    "slice": lambda weave: weave.add(Slice((0, 1, 2, 1), (1, 2, 3, 2)), weave.input(4, 5, 3), zero_point=-7),
    "resize": lambda weave: weave.add(
        ResizeNearest((0, 0, 1, 1, 2, 2, 3, 3), (0, 0, 1, 1, 2, 2)), weave.input(4, 3, 3), zero_point=-7
    ),
    "reshape": reshaped,
    "flat": flat,
    "pixel on a map": broad,
    "map on a pixel": lambda weave: broad(weave, swapped=True),
    "two borders": two_borders,
    "max with padding": lambda weave: weave.add(
        MaxPool((3, 3), (2, 2), same(3), (-128, 127)), weave.convolution(weave.input(6, 7, 3), 5)
    ),
}


@pytest.mark.parametrize("chip", CHIPS, ids=str)
@pytest.mark.parametrize("name", MAKERS)
def test_every_tensor_is_golden(name: str, chip: dict[str, Any]) -> None:
    exact(network_of(MAKERS[name]), small(64, **chip))


def test_int16_on_words_of_16_bits() -> None:
    weave = Weave()
    x = weave.input(4, 5, 3, dtype=np.int16, zero_point=0)
    network = weave.network(weave.convolution(x, 4))
    exact(network, small(32, units__word_bits=16))
    with pytest.raises(CapacityError, match="must work on int8 or uint8, which words of 8 bits hold, not on int16"):
        compile_network(network, small(32))


def real_average(weave: Weave) -> int:
    op = AveragePool((2, 2), (2, 2), Padding(), False, -7, 5, "real", (0.05, 0.04), (-128, 127))
    return weave.add(op, weave.input(4, 4, 3), zero_point=5)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (real_average, "must be averages of sums of integers, not of reals"),
        (
            column_on_map,
            r"must read computed maps of the \(4, 5, 3\) that it makes, or pixels as deep, not maps of \(4, 1, 3\)",
        ),
        (
            lambda weave: weave.convolution(weave.input(5, 5, 1), 1, strides=(2, 2)),
            "must keep every column, not one of 2, where output.place is none",
        ),
        (
            lambda weave: weave.convolution(weave.input(1, 70, 1), 1, 65),
            r"a single column of what is made of them needs 65 words, padding included, and a row of .* has 64",
        ),
    ],
)
def test_what_is_refused(make: Make, sentence: str) -> None:
    with pytest.raises(CapacityError, match=sentence):
        compile_network(network_of(make), small(64, output__place="none"))


@pytest.mark.parametrize(
    ("chip", "sentence"),
    [
        ({"units__segments": 2}, "units.segments must be 1 for the compiler, not 2"),
        ({"weight_ram__shape": "half_rows"}, "weight_ram.shape must be rows for the compiler"),
        ({"sequencer__instructions": 9}, r"must be at most 9 instructions, .*, not \d+"),
        ({"sequencer__loop_depth": 2}, "loop_depth must be at least the 3 loops that stand in each other, not 2"),
    ],
)
def test_chips_that_no_program_is_for(chip: dict[str, Any], sentence: str) -> None:
    with pytest.raises(CapacityError, match=sentence):
        compile_network(network_of(table), small(64, **chip))


def test_several_inputs_and_outputs() -> None:
    weave = Weave()
    x, y = weave.input(6, 5, 3), weave.input(6, 5, 4)
    first = weave.convolution(x, 4, strides=(2, 2))
    second = weave.convolution(y, 4, 1, strides=(2, 2))
    total = weave.add(Add("double", (-3, 1 << 30, 0, 4, 1 << 30, 0, -5, 1 << 30, -19), (-128, 127)), first, second)
    exact(weave.network(second, weave.fully_connected(total, 3), total), small(32))
