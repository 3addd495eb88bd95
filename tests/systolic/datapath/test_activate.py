"""From sums to the next tensor, against golden operators one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.systolic.datapath.material import Case, as_bytes, cases, integers, memories
from tilesim.arithmetic.normalise import normalise_scaling
from tilesim.arithmetic.requantise import float_bits
from tilesim.network.operators import AveragePool, Convolution, MaxPool, Padding, Table
from tilesim.network.operators import Normalise as NormaliseOperator
from tilesim.systolic.datapath.matrix import prepare_multiply
from tilesim.systolic.datapath.vector import prepare
from tilesim.systolic.isa.model.instructions import Activate, MatrixMultiply, Normalise, Pooling, Scale, Window

PARAMETERS, TABLE, OUTPUT = 40_000, 41_000, 42_000


@given(cases(), st.sampled_from(["double", "single", "float"]), st.integers(1, 5), st.integers(0, 3))
@settings(max_examples=80, deadline=None)
def test_a_layer_is_the_convolution(case: Case, rule: str, filters: int, gap: int) -> None:
    w, limits = case.window, np.iinfo(case.element)
    kernel = integers(case.rng, (filters, *w.kernel, w.channels), "int8")
    bias = case.rng.integers(-5000, 5000, filters).astype(np.int32)
    if rule == "float":
        multiplier, shift = float_bits(case.rng.random(filters) / 300), np.zeros(filters, np.int32)
    else:
        multiplier = case.rng.integers(1 << 30, 1 << 31, filters).astype(np.int32)
        shift = case.rng.integers(-9, -4, filters).astype(np.int32)
    zero_point, clamp = int(limits.min) + 120, (int(limits.min) + 5, int(limits.max) - 9)
    operator = Convolution(
        w.strides, case.padding, w.dilations, 1, case.zero_point, 0, zero_point, rule, multiplier, shift, clamp
    )
    parameters = np.stack([bias, multiplier, shift])[None]
    case.memories.buffer.bytes[:, PARAMETERS : PARAMETERS + 12 * filters] = as_bytes(parameters)
    multiply = MatrixMultiply(
        window=w, vectors=w.positions, rows=w.elements, columns=filters, activations=case.element, accumulator=3,
        activation_zero_point=case.zero_point,
    )  # fmt: skip
    prepare_multiply(multiply, case.memories, kernel.reshape(filters, -1).T)()
    size = filters * case.x.itemsize
    op = Activate(
        accumulator=3, vectors=w.positions, columns=filters, scale=Scale(rule, PARAMETERS, zero_point, clamp),
        element=case.element, address=OUTPUT, stride_bytes=size + gap,
    )  # fmt: skip
    before = case.memories.buffer.bytes.copy()
    prepare(op, case.memories)()
    expected = case.by_position(operator.evaluate([case.seen, kernel, bias]))
    for position in range(w.positions):
        start = OUTPUT + position * (size + gap)
        before[:, start : start + size] = as_bytes(expected[:, position])
    np.testing.assert_array_equal(case.memories.buffer.bytes, before)


SCALING = normalise_scaling((0.05, 0.03), (-5, 4), 0.9, 0.75, 1.5)
CLAMP = (-128, 127)


class MinPool(MaxPool):
    """The largest, of a map turned upside down."""

    def evaluate(self, inputs: list[Any]) -> Any:
        return ~super().evaluate([~inputs[0]])


OPERATORS: dict[str, tuple[Any, Pooling]] = {
    "min": (MinPool((3, 2), (2, 1), Padding(1, 0, 1, 1), CLAMP), Pooling("min", CLAMP)),
    "max": (MaxPool((3, 2), (2, 1), Padding(1, 0, 1, 1), CLAMP), Pooling("max", CLAMP)),
    "average": (
        AveragePool((3, 2), (2, 1), Padding(1, 0, 1, 1), False, 0, 0, "divide", (1.0, 1.0), CLAMP),
        Pooling("average", CLAMP, "divide", tuple((count, count, 0) for count in range(1, 7))),
    ),
}


@pytest.mark.parametrize("pool_first", [False, True])
@pytest.mark.parametrize("pool", [None, *OPERATORS])
@pytest.mark.parametrize("normalises", [False, True])
@pytest.mark.parametrize("table", [False, True])
def test_what_follows_scaling(pool_first: bool, pool: str | None, normalises: bool, table: bool) -> None:
    """Activation, then normalisation and pooling in either order. Source: WO 2016/186801."""
    rng, there = np.random.default_rng(0), memories(samples=2)
    sums = rng.integers(-128, 128, (2, 40, 7)).astype(np.int8)
    entries = rng.permutation(256).astype(np.uint8).view(np.int8)
    there.accumulators[:, 10:50, :7] = sums
    there.buffer.bytes[:, PARAMETERS : PARAMETERS + 84] = as_bytes(
        np.repeat(np.array([0, 1 << 30, 1], np.int32), 7)[None]
    )  # sums as they are
    there.buffer.bytes[:, TABLE : TABLE + 256] = entries.view(np.uint8)
    op = Activate(
        accumulator=10, vectors=40, columns=7, scale=Scale("single", PARAMETERS, 0, CLAMP), address=OUTPUT,
        stride_bytes=7, table=TABLE if table else -1, pool_first=pool_first,
        normalise=Normalise(3, SCALING, CLAMP) if normalises else None,
        pool=OPERATORS[pool][1] if pool else None,
        window=Window(0, 2, 0, 4, 5, 0, 0, 7, 2, 5, (3, 2), (2, 1), (1, 1), (1, 0)) if pool else None,
    )  # fmt: skip
    steps: list[Any] = [NormaliseOperator(3, SCALING, CLAMP)] if normalises else []
    steps += [OPERATORS[pool][0]] if pool else []
    steps = steps[::-1] if pool_first else steps
    expected = sums.reshape(4, 4, 5, 7)
    for operator in [Table("any", entries)] * table + steps:
        expected = operator.evaluate([expected])
    prepare(op, there)()
    found = there.buffer.bytes[:, OUTPUT : OUTPUT + expected.size // 2]
    np.testing.assert_array_equal(found, as_bytes(expected.reshape(2, -1)))
