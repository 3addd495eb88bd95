"""The MAC array: lanes × inputs multiply-accumulates a cycle on what the TTU's addresses point at.

A convolution sends one narrow word (``inputs_per_cycle`` activations) to all lanes, each of which has weights of its
own in the wide row; the vector operations send byte j of the word to lane j. Of operands of 16 bits a step takes as
many elements, which come as two words or rows, one in a pass; where both have 16 bits, each meets each of the other's.

Timing: one reduction step a cycle; 8×16-bit operands take 2 cycles, 16×16-bit ones 4. Source: US 19/025,090 [0050],
[0062], [0067], [0068]; the passes are an assumption.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from tilesim.sim.core.action import Action, Actions
from tilesim.tiled.isa.model.instructions import Operation, TensorOp
from tilesim.tiled.topology import LANE_BYTES
from tilesim.tiled.units.memories import TileMemories
from tilesim.tiled.units.tensor.operands import AddressStream, Operands
from tilesim.tiled.units.tensor.operations import ARITHMETIC, ELEMENT_DTYPES, Array, Arrays, Sums, sums_type
from tilesim.tiled.units.tensor.sums import from_registers


def cycles_per_step(op: TensorOp) -> int:
    """Issue cycles of one reduction step: wider operands need several passes, a second operand a second read."""
    passes = (op.widths[0] // 8) * (op.widths[1] // 8)
    return passes * (2 if op.input_b is not None else 1)


MACS: Mapping[tuple[int, ...], Action] = {
    (8, 8): Action.MAC_8X8,
    (8, 16): Action.MAC_8X16,
    (16, 8): Action.MAC_8X16,
    (16, 16): Action.MAC_16X16,
}
"""Multiply-accumulates by the bits of their operands."""


def operations(op: TensorOp, results: int, steps: int, inputs: int, sum_rows: int) -> Actions:
    """What the array does for so many ``results`` (lanes that run, of all groups) of ``steps`` steps each, in which a
    convolution's lanes take ``inputs`` activations, and of ``sum_rows`` rows of sums. A cell that multiplies padding
    works like the others.
    """
    arithmetic, every = ARITHMETIC[op.operation], inputs if op.operation is Operation.CONVOLUTION else 1
    actions = {action: count * every * results * steps for action, count in arithmetic.per_step.items()}
    for action, count in arithmetic.per_result.items():
        actions[action] = actions.get(action, 0) + count * results
    if sum_rows:
        actions[Action.ADD_32] = actions.get(Action.ADD_32, 0) + sum_rows * results
    return {MACS[op.widths] if action is Action.MAC_8X8 else action: count for action, count in actions.items()}


class MacArray:
    """The multiply-accumulate cells of one tile, with its operand ports."""

    def __init__(self, memories: TileMemories, inputs_per_cycle: int) -> None:
        self._memories = memories
        self._inputs = inputs_per_cycle

    def sums(self, op: TensorOp, operands: Operands, first: int, end: int) -> Sums:
        """Sums (samples, groups, lanes) of result groups ``first`` to ``end``."""
        if op.operation is Operation.CONVOLUTION:
            sums = self._convolve(op, operands, first, end)
        else:
            steps = self._by_lane(op, operands.input, first, end, operands.lane_bound)
            sums = ARITHMETIC[op.operation].sums(op, steps, self._others(op, operands, first, end))
        if operands.sums_in is not None:
            rows = operands.sums_in.groups[first:end, None, None] + operands.sum_rows[:, None]
            places = np.arange(op.sum_registers) * self._memories.register_bytes
            registers = self._memories.wide.operands(rows + places, LANE_BYTES * operands.lane_bound)
            sums = sums + from_registers(registers.view(np.int32)).sum(axis=2, dtype=sums.dtype)
        return sums

    def _convolve(self, op: TensorOp, operands: Operands, first: int, end: int) -> Sums:
        assert operands.weights is not None
        x = self._narrow(op, operands.input.at(first, end), self._inputs)
        x = x.reshape(*x.shape[:2], -1)
        bases, which, counts = np.unique(operands.weights.groups[first:end], return_inverse=True, return_counts=True)
        if len(bases) > 1 and (counts == counts[0]).all():
            rows = self._weights(op, (bases[:, None] + operands.weights.steps).reshape(-1), operands.lane_bound)
            if len(rows) == 1:
                order = np.argsort(which, kind="stable")
                return self._by_base(op, x, rows.reshape(len(bases), -1, operands.lane_bound), order)
        sums = np.empty((x.shape[0], end - first, operands.lane_bound), sums_type(op))
        for k, base in enumerate(bases):
            chosen = slice(None) if len(bases) == 1 else which == k
            weights = self._weights(op, operands.weights.steps + base, operands.lane_bound)
            sums[:, chosen] = ARITHMETIC[op.operation].sums(op, [x[:, chosen]], [weights])
        return sums

    def _by_base(self, op: TensorOp, x: Array, weights: Array, order: NDArray[np.int64]) -> Sums:
        """All at once: ``weights`` are (bases, products, lanes), and as many groups have each, in ``order``."""
        samples, groups, products = x.shape
        by_base = x[:, order].reshape(samples, len(weights), -1, products).swapaxes(0, 1)
        sums = ARITHMETIC[op.operation].sums(op, [by_base.reshape(len(weights), -1, products)], [weights])
        lanes = sums.shape[-1]
        back: Sums = np.empty((samples, groups, lanes), sums.dtype)
        back[:, order] = sums.reshape(len(weights), samples, -1, lanes).swapaxes(0, 1).reshape(samples, groups, lanes)
        return back

    def _weights(self, op: TensorOp, addresses: NDArray[np.int64], lanes: int) -> Array:
        """Weights as (1 or samples, steps × inputs, lanes)."""
        width_bytes = lanes * self._inputs * op.weight_type.bytes
        rows = self._memories.wide.operands(addresses, width_bytes).view(ELEMENT_DTYPES[op.weight_type])
        by_lane = rows.reshape(rows.shape[0], len(addresses), lanes, self._inputs)
        return by_lane.transpose(0, 1, 3, 2).reshape(rows.shape[0], -1, lanes)

    def _others(self, op: TensorOp, operands: Operands, first: int, end: int) -> Arrays:
        """What the lanes get of the operand beside the input in each reduction step."""
        if operands.input_b is not None:
            return self._by_lane(op, operands.input_b, first, end, operands.lane_bound)
        return [] if operands.weights is None else self._weights_by_lane(op, operands, operands.weights, first, end)

    def _weights_by_lane(self, op: TensorOp, operands: Operands, stream: AddressStream, first: int, end: int) -> Arrays:
        """Less their zero point."""
        dtype, width_bytes = ELEMENT_DTYPES[op.weight_type], operands.lane_bound * op.weight_type.bytes
        bases, which = np.unique(stream.groups[first:end], return_inverse=True)
        addresses = bases[:, None] + stream.steps
        weights = self._memories.wide.operands(addresses, width_bytes).view(dtype).astype(sums_type(op))
        weights -= op.weight_zero_point
        return (weights[:, which, step] for step in range(operands.steps))

    def _by_lane(self, op: TensorOp, stream: AddressStream, first: int, end: int, lanes: int) -> Iterator[Array]:
        """What the lanes get in each reduction step: (samples, groups, lanes)."""
        for step in stream.steps:
            yield self._narrow(op, stream.groups[first:end] + step, lanes)

    def _narrow(self, op: TensorOp, addresses: NDArray[np.int64], elements: int) -> Array:
        width_bytes = elements * op.input_type.bytes
        return self._memories.narrow.words(addresses, width_bytes).view(ELEMENT_DTYPES[op.input_type])
