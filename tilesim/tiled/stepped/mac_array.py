"""The MAC array: lanes × inputs multiply-accumulates in a reduction step."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.add import add
from tilesim.arithmetic.average import average
from tilesim.arithmetic.multiply import multiply
from tilesim.tiled.isa.model.instructions import ElementType, Operation, TensorOp
from tilesim.tiled.stepped.memory import Bytes

DTYPES: dict[ElementType, np.dtype[Any]] = {
    ElementType.I8: np.dtype(np.int8),
    ElementType.U8: np.dtype(np.uint8),
    ElementType.I16: np.dtype("<i2"),
}
Sums = NDArray[Any]
"""Of int32, or of int64."""


def cycles_per_step(op: TensorOp) -> int:
    """Operands of 16 bits need two passes each; a second operand is read in a cycle of its own."""
    passes = (op.widths[0] // 8) * (op.widths[1] // 8)
    return passes * (2 if op.input_b is not None else 1)


class MacArray:
    """The accumulators of one result group of ``lanes`` lanes; :meth:`step` feeds them the bytes of one step.

    ``x`` are a narrow word's bytes: for all lanes in a convolution, whose lane has weights of its own for each; else
    byte j for lane j. ``y``: the second operand, or the weights. Of 16 bits they are two words' or rows' bytes, and
    sums have 64 bits.
    """

    def __init__(self, op: TensorOp, lanes: int) -> None:
        self._op = op
        self._lanes = lanes
        self._type = np.int64 if 16 in op.widths else np.int32
        self._sums: Sums = np.zeros(lanes, self._type)
        self._taps: list[NDArray[Any]] = []

    def step(self, x: Bytes, y: Bytes | None) -> None:
        op = self._op
        values = x.view(DTYPES[op.input_type])
        match op.operation:
            case Operation.CONVOLUTION:
                assert y is not None
                weights = self._weights(y).reshape(self._lanes, len(values))
                self._sums += weights @ (values.astype(self._type) - op.input_zero_point)
            case Operation.DEPTHWISE:
                assert y is not None
                self._sums += self._weights(y) * (values.astype(self._type) - op.input_zero_point)
            case Operation.SUM:
                self._sums += values.astype(self._type) - op.input_zero_point
            case Operation.ADD | Operation.MULTIPLY:
                assert y is not None
                combine = add if op.operation is Operation.ADD else multiply
                self._sums = combine(op.rule, values, y.view(DTYPES[op.input_type]), op.scaling)
            case _:
                self._taps.append(values)

    def _weights(self, data: Bytes) -> Sums:
        weights: Sums = data.view(DTYPES[self._op.weight_type]).astype(self._type)
        weights -= self._type(self._op.weight_zero_point)
        return weights

    def result(self) -> Sums:
        """The lanes' sums, or what stands for them, once all steps are in."""
        match self._op.operation:
            case Operation.AVERAGE:
                return average(self._taps, self._op.scaling)
            case Operation.MAXIMUM:
                return np.asarray(np.max(np.stack(self._taps), axis=0), np.int32)
            case Operation.TABLE:
                return self._taps[0].astype(np.int32)
            case Operation.LEAKY_RELU:
                return self._taps[0].astype(np.int32) - np.int32(self._op.input_zero_point)
            case _:
                return self._sums
