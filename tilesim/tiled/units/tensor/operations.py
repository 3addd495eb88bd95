"""What each operation of a tensorop computes, and what that costs.

Operands are arrays, whether they were gathered address by address (:mod:`~tilesim.tiled.units.tensor.mac_array`) or are
views of a memory (:mod:`~tilesim.tiled.units.tensor.elementwise`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from operator import iadd
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from tilesim.arithmetic.add import add
from tilesim.arithmetic.average import average
from tilesim.arithmetic.matmul import exact_matmul, magnitude
from tilesim.arithmetic.multiply import multiply
from tilesim.arithmetic.requantise import requantise, saturate
from tilesim.arithmetic.table import leaky_steps
from tilesim.sim.core.action import Action, Actions
from tilesim.tiled.isa.model.instructions import ElementType, Operation, TensorOp

Array: TypeAlias = NDArray[Any]
Arrays: TypeAlias = Iterable[Array]
Sums: TypeAlias = NDArray[Any]
"""Of int32; of int64 where operands have 16 bits."""

ELEMENT_DTYPES: Mapping[ElementType, np.dtype[Any]] = {
    ElementType.I8: np.dtype(np.int8),
    ElementType.U8: np.dtype(np.uint8),
    ElementType.I16: np.dtype("<i2"),
}


def sums_type(op: TensorOp) -> np.dtype[Any]:
    """What a lane adds up in: 64 bits if operands have 16."""
    return np.dtype(np.int64 if op.sum_registers > 1 else np.int32)


class Arithmetic(Struct, frozen=True):
    """What an operation of a tensorop computes, and what that costs.

    ``sums`` makes integers of what the lanes get of ``input`` in each reduction step, and of the other operand: of a
    depthwise operation's weights what they get in each step, less the zero point. ``rounds``: whether these are output
    integers already, zero point included. ``per_step`` and ``per_result`` are what it costs the array in a lane,
    ``per_output`` the activation unit: bias, multiplier and zero point. Element-wise operations rescale what they
    combine and add the zero point. Costs are an assumption, as is that rounding and clamping cost nothing.
    """

    sums: Callable[[TensorOp, Arrays, Arrays], Sums]
    rounds: bool = False
    per_step: Actions = field(default_factory=dict)
    per_result: Actions = field(default_factory=dict)
    per_output: Actions = field(default_factory=dict)


def _convolution(op: TensorOp, steps: Arrays, weights: Arrays) -> Sums:
    """All steps at once, as a matrix product of raw integers: x is (samples, groups, products), w (1 or samples,
    products, lanes).
    """
    [x], [w] = steps, weights
    bounds = (magnitude(ELEMENT_DTYPES[op.input_type]), magnitude(ELEMENT_DTYPES[op.weight_type]))
    kind = sums_type(op).type
    if w.shape[0] == 1:
        sums = exact_matmul(x.reshape(-1, x.shape[-1]), w[0], *bounds, kind).reshape(*x.shape[:2], -1)
    else:
        sums = exact_matmul(x, w, *bounds, kind)
    if op.input_zero_point:
        sums -= kind(op.input_zero_point) * w.sum(axis=-2, dtype=kind, keepdims=True)
    if op.weight_zero_point:
        rows = x.sum(axis=-1, dtype=kind, keepdims=True) - kind(op.input_zero_point * x.shape[-1])
        sums -= kind(op.weight_zero_point) * rows
    return sums


def _depthwise(op: TensorOp, steps: Arrays, weights: Arrays) -> Sums:
    kind = sums_type(op)
    return reduce(iadd, ((x.astype(kind) - op.input_zero_point) * w for x, w in zip(steps, weights, strict=True)))


def _sum(op: TensorOp, steps: Arrays, _: Arrays) -> Sums:
    kind = sums_type(op)
    return reduce(iadd, (x.astype(kind) - op.input_zero_point for x in steps))


def _add(op: TensorOp, steps: Arrays, others: Arrays) -> Sums:
    return add(op.rule, _first(steps), _first(others), op.scaling)


def _multiply(op: TensorOp, steps: Arrays, others: Arrays) -> Sums:
    return multiply(op.rule, _first(steps), _first(others), op.scaling)


def _first(steps: Arrays) -> Array:
    return next(iter(steps))


HALVES = ("double", "single", "divide")
"""Rules in fixed point that take the low half of a sum of 64 bits; the others take all."""
_OUTPUT = {Action.ADD_32: 2, Action.MULTIPLY_32: 1}

ARITHMETIC: Mapping[Operation, Arithmetic] = {
    Operation.CONVOLUTION: Arithmetic(_convolution, per_step={Action.MAC_8X8: 1}, per_output=_OUTPUT),
    Operation.DEPTHWISE: Arithmetic(_depthwise, per_step={Action.MAC_8X8: 1}, per_output=_OUTPUT),
    Operation.SUM: Arithmetic(_sum, per_step={Action.ADD_32: 1}, per_output={Action.ADD_32: 1, Action.MULTIPLY_32: 1}),
    Operation.AVERAGE: Arithmetic(
        lambda op, steps, _: average(steps, op.scaling),
        rounds=True,
        per_step={Action.ADD_32: 1},
        per_result={Action.MULTIPLY_32: 1, Action.ADD_32: 1},  # dividing by the number of inputs, and the zero point
    ),
    Operation.MAXIMUM: Arithmetic(
        lambda _, steps, __: reduce(np.maximum, steps).astype(np.int32), per_step={Action.ADD_8: 1}
    ),
    Operation.ADD: Arithmetic(_add, rounds=True, per_step={Action.MULTIPLY_32: 3, Action.ADD_32: 2}),
    Operation.MULTIPLY: Arithmetic(
        _multiply, rounds=True, per_step={Action.MAC_8X8: 1, Action.MULTIPLY_32: 1, Action.ADD_32: 1}
    ),
    Operation.LEAKY_RELU: Arithmetic(
        lambda op, steps, _: _first(steps).astype(np.int32) - np.int32(op.input_zero_point), per_output=_OUTPUT
    ),
    Operation.TABLE: Arithmetic(lambda _, steps, __: _first(steps).astype(np.int32), per_output={Action.LOOKUP: 1}),
}


def scaled(op: TensorOp, sums: Sums) -> Sums:
    """Sums that the instruction's own scaling makes output integers, but for the zero point."""
    if op.operation is Operation.LEAKY_RELU:
        above, above_shift, below, below_shift = op.scaling
        return leaky_steps(op.rule, sums, (above, above_shift), (below, below_shift))
    if op.operation is not Operation.SUM:
        return sums
    multiplier, shift = (np.array([value], np.int32) for value in op.scaling)
    return rescaled(op, sums, multiplier, shift)


def rescaled(op: TensorOp, sums: Sums, multiplier: NDArray[np.int32], shift: NDArray[np.int32]) -> Sums:
    """Sums by the rule of an instruction, some of which take 32 bits of each."""
    return requantise(op.rule, sums.astype(np.int32, copy=False) if op.rule in HALVES else sums, multiplier, shift)


def saturated(op: TensorOp, values: Sums) -> NDArray[np.uint8]:
    """The output bytes, along the last axis, of integers, most of which have yet to get the zero point."""
    low, high = op.clamp
    zero_point = 0 if ARITHMETIC[op.operation].rounds else op.output_zero_point
    made = saturate(values, zero_point, (low, high), ELEMENT_DTYPES[op.output_type])
    return (made if made.itemsize == 1 else np.ascontiguousarray(made)).view(np.uint8)
