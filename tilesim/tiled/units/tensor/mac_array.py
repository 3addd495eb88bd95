"""The MAC array: lanes × inputs multiply-accumulates a cycle on what the TTU's addresses point at.

A convolution sends one narrow word (``inputs_per_cycle`` activations) to all lanes, each of which has weights of its
own in the wide row; the vector operations send byte j of the word to lane j.

Timing: one reduction step a cycle; 8×16-bit operands take 2 cycles, 16×16-bit ones 4. Source: US 19/025,090 [0062],
[0067], [0068].
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.add import add
from tilesim.arithmetic.average import average
from tilesim.arithmetic.matmul import exact_matmul, magnitude
from tilesim.arithmetic.multiply import multiply
from tilesim.sim.core.action import Action, Actions
from tilesim.tiled.isa.model.instructions import ElementType, Operation, TensorOp
from tilesim.tiled.units.memories import TileMemories
from tilesim.tiled.units.tensor.operands import Operands, Stream

Sums = NDArray[np.int32]

ELEMENT_DTYPES: dict[ElementType, np.dtype[Any]] = {
    ElementType.I8: np.dtype(np.int8),
    ElementType.U8: np.dtype(np.uint8),
}


def cycles_per_step(op: TensorOp) -> int:
    """Issue cycles of one reduction step: wider operands need several passes, a second operand a second read."""
    passes = (op.widths[0] // 8) * (op.widths[1] // 8)
    return passes * (2 if op.input_b is not None else 1)


PER_STEP: Mapping[Operation, Actions] = {
    Operation.DEPTHWISE: {Action.MAC_8X8: 1},
    Operation.SUM: {Action.ADD_32: 1},
    Operation.AVERAGE: {Action.ADD_32: 1},
    Operation.MAXIMUM: {Action.ADD_8: 1},
    Operation.ADD: {Action.MULTIPLY_32: 3, Action.ADD_32: 2},
    Operation.MULTIPLY: {Action.MAC_8X8: 1, Action.MULTIPLY_32: 1, Action.ADD_32: 1},
}
"""What a reduction step costs in a lane, beside a convolution's: element-wise operations rescale what they combine and
add the zero point. Assumption, as is that rounding and clamping cost nothing.
"""
PER_RESULT: Mapping[Operation, Actions] = {Operation.AVERAGE: {Action.MULTIPLY_32: 1, Action.ADD_32: 1}}
"""What a result costs in a lane: dividing by the number of inputs, and the zero point."""
MACS: Mapping[tuple[int, ...], Action] = {
    (8, 8): Action.MAC_8X8,
    (8, 16): Action.MAC_8X16,
    (16, 8): Action.MAC_8X16,
    (16, 16): Action.MAC_16X16,
}
"""Multiply-accumulates by the bits of their operands."""


def operations(op: TensorOp, results: int, steps: int, inputs: int) -> Actions:
    """What the array does for so many ``results`` (lanes that run, of all groups) of ``steps`` steps each, in which a
    convolution's lanes take ``inputs`` activations. A cell that multiplies padding works like the others.
    """
    per_step = {Action.MAC_8X8: inputs} if op.operation is Operation.CONVOLUTION else PER_STEP.get(op.operation, {})
    found = {Action(action): count * results * steps for action, count in per_step.items()}
    for action, count in PER_RESULT.get(op.operation, {}).items():
        found[action] = found.get(action, 0) + count * results
    if op.sums_in is not None:
        found[Action.ADD_32] = found.get(Action.ADD_32, 0) + results
    return {MACS[op.widths] if action is Action.MAC_8X8 else action: count for action, count in found.items()}


class MacArray:
    """The multiply-accumulate cells of one tile, with its operand ports."""

    def __init__(self, memories: TileMemories, inputs_per_cycle: int) -> None:
        self._memories = memories
        self._inputs = inputs_per_cycle

    def sums(self, op: TensorOp, operands: Operands, first: int, end: int) -> Sums:
        """int32 sums (samples, groups, lanes) of result groups ``first`` to ``end``."""
        match op.operation:
            case Operation.CONVOLUTION:
                sums = self._convolve(op, operands, first, end)
            case Operation.DEPTHWISE:
                sums = self._multiply_bytes(op, operands, first, end)
            case Operation.SUM:
                sums = self._add_bytes(op, operands, first, end)
            case Operation.AVERAGE:
                sums = average(self._steps(op, operands, first, end), op.scaling)
            case Operation.MAXIMUM:
                sums = self._compare_bytes(op, operands, first, end)
            case Operation.ADD | Operation.MULTIPLY:
                combine = add if op.operation is Operation.ADD else multiply
                sums = combine(op.rule, *self._pairs(op, operands, first, end), op.scaling)
            case Operation.TABLE:
                sums = self._step(op, operands.input, first, end, 0, operands.lane_bound).astype(np.int32)
        if operands.sums_in is not None:
            rows = self._memories.wide.operands(operands.sums_in.at(first, end)[:, 0], 4 * operands.lane_bound)
            sums = sums + rows.view(np.int32)
        return sums

    def _convolve(self, op: TensorOp, operands: Operands, first: int, end: int) -> Sums:
        assert operands.weights is not None
        x = self._narrow(op, operands.input.at(first, end), self._inputs)
        x = x.reshape(*x.shape[:2], -1)
        sums = np.empty((x.shape[0], end - first, operands.lane_bound), np.int32)
        bases, which = np.unique(operands.weights.groups[first:end], return_inverse=True)
        for k, base in enumerate(bases):
            chosen = slice(None) if len(bases) == 1 else which == k
            weights = self._weights(op, operands.weights.steps + base, operands.lane_bound)
            sums[:, chosen] = _products(op, x[:, chosen], weights)
        return sums

    def _weights(self, op: TensorOp, addresses: NDArray[np.int64], lanes: int) -> NDArray[Any]:
        """Weights as (1 or samples, steps × inputs, lanes)."""
        rows = self._memories.wide.operands(addresses, lanes * self._inputs).view(ELEMENT_DTYPES[op.weight_type])
        by_lane = rows.reshape(rows.shape[0], len(addresses), lanes, self._inputs)
        return by_lane.transpose(0, 1, 3, 2).reshape(rows.shape[0], -1, lanes)

    def _multiply_bytes(self, op: TensorOp, operands: Operands, first: int, end: int) -> Sums:
        assert operands.weights is not None
        dtype = ELEMENT_DTYPES[op.weight_type]
        bases, which = np.unique(operands.weights.groups[first:end], return_inverse=True)
        addresses = bases[:, None] + operands.weights.steps
        weights = self._memories.wide.operands(addresses, operands.lane_bound).view(dtype).astype(np.int32)
        weights -= op.weight_zero_point
        sums: Sums = np.zeros((self._samples, end - first, operands.lane_bound), np.int32)
        for step in range(operands.steps):
            x = self._step(op, operands.input, first, end, step, operands.lane_bound)
            sums += (x.astype(np.int32) - op.input_zero_point) * weights[:, which, step]
        return sums

    def _add_bytes(self, op: TensorOp, operands: Operands, first: int, end: int) -> Sums:
        sums: Sums = np.zeros((self._samples, end - first, operands.lane_bound), np.int32)
        for x in self._steps(op, operands, first, end):
            sums += x
        return sums - np.int32(op.input_zero_point * operands.steps)

    def _compare_bytes(self, op: TensorOp, operands: Operands, first: int, end: int) -> Sums:
        return reduce(np.maximum, self._steps(op, operands, first, end)).astype(np.int32)

    def _pairs(self, op: TensorOp, operands: Operands, first: int, end: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """What the lanes get of both operands."""
        assert operands.input_b is not None
        a, b = (self._step(op, each, first, end, 0, operands.lane_bound) for each in (operands.input, operands.input_b))
        return a, b

    @property
    def _samples(self) -> int:
        return self._memories.narrow.samples

    def _steps(self, op: TensorOp, operands: Operands, first: int, end: int) -> Iterator[NDArray[Any]]:
        """What the lanes get in each reduction step."""
        for step in range(operands.steps):
            yield self._step(op, operands.input, first, end, step, operands.lane_bound)

    def _step(self, op: TensorOp, stream: Stream, first: int, end: int, step: int, lanes: int) -> NDArray[Any]:
        """The bytes that the lanes get in one reduction step: (samples, groups, lanes)."""
        return self._narrow(op, stream.groups[first:end] + stream.steps[step], lanes)

    def _narrow(self, op: TensorOp, addresses: NDArray[np.int64], width_bytes: int) -> NDArray[Any]:
        return self._memories.narrow.words(addresses, width_bytes).view(ELEMENT_DTYPES[op.input_type])


def _products(op: TensorOp, x: NDArray[Any], weights: NDArray[Any]) -> Sums:
    """Sums of (x - zero point) × (w - zero point): x is (samples, groups, products), weights (1 or samples, products,
    lanes).
    """
    bounds = (magnitude(ELEMENT_DTYPES[op.input_type]), magnitude(ELEMENT_DTYPES[op.weight_type]))
    if weights.shape[0] == 1:
        sums = exact_matmul(x.reshape(-1, x.shape[-1]), weights[0], *bounds).reshape(*x.shape[:2], -1)
    else:
        sums = exact_matmul(x, weights, *bounds)
    if op.input_zero_point:
        sums -= np.int32(op.input_zero_point) * weights.sum(axis=-2, dtype=np.int32, keepdims=True)
    if op.weight_zero_point:
        rows = x.sum(axis=-1, dtype=np.int32, keepdims=True) - np.int32(op.input_zero_point * x.shape[-1])
        sums -= np.int32(op.weight_zero_point) * rows
    return sums
