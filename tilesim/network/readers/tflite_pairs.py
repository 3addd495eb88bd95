"""TensorFlow Lite operators on two tensors: their sum, their difference, the larger and the smaller elements.

Source: TensorFlow Lite reference kernels ADD, SUB, MAXIMUM and MINIMUM.
"""

from __future__ import annotations

from math import log2

import numpy as np

from tilesim.arithmetic.add import HEADROOM_BITS, add_scaling_fixed, opposite
from tilesim.errors import ModelError
from tilesim.network.graph import Tensor
from tilesim.network.operators import Add, Maximum, Minimum, Subtract
from tilesim.network.readers import tflite_operands as operand
from tilesim.network.readers.builder import WIDE_DTYPES, Built, NetworkBuilder
from tilesim.network.readers.tflite_file import FileOperator

NEARLY = 1e-3
"""How far the logarithm of a scale may be from a whole number for the scale to count as a power of two."""
LARGEST_RIGHT = 15
"""Places by which 16 bits may be shifted to the right."""


def add(builder: NetworkBuilder, op: FileOperator) -> Built:
    ends, b, rule, scaling = _operands(builder, op)
    return operand.of_pair("add", Add(rule, scaling, operand.fused_clamp(op, ends)), ends.x, b)


def subtract(builder: NetworkBuilder, op: FileOperator) -> Built:
    ends, b, rule, scaling = _operands(builder, op)
    operator = Subtract(rule, opposite(rule, scaling), operand.fused_clamp(op, ends))
    return operand.of_pair("subtract", operator, ends.x, b)


def extreme(kind: type[Minimum | Maximum], builder: NetworkBuilder, op: FileOperator) -> Built:
    """MAXIMUM or MINIMUM, which compare integers of one scale."""
    x, b = operand.moved(builder, op, 2), builder.tensors[op.inputs[1]]
    operand.must_be_like(builder, x, b)
    return operand.of_pair(kind.__name__.lower(), kind(), x, b)


def _operands(builder: NetworkBuilder, op: FileOperator) -> tuple[operand.Ends, Tensor, str, tuple[int, ...]]:
    """The ends, the other input, and the rule of the sum with its scaling."""
    ends = operand.ends_of(builder, op, 2, dtypes=WIDE_DTYPES)
    b, b_scale, b_zero = builder.activation(op.inputs[1], WIDE_DTYPES)
    if b.dtype != ends.x.dtype:
        raise ModelError(f"{b.title} must be {ends.x.dtype} like {ends.x.title}, not {b.dtype}")
    scales = (ends.x_scale, b_scale, ends.y_scale)
    if ends.x.dtype == np.int16 and op.options["PotScaleInt16"] and (powers := _powers(scales)):
        return ends, b, "shift", _shifts(ends.x, b, powers)
    rule = "double16" if ends.x.dtype == np.int16 else "double"
    coarsest = 2 * max(scales[:2]) / (1 << HEADROOM_BITS[rule])
    if not coarsest < ends.y_scale:
        raise ModelError(f"its output's scale must be above {coarsest:g}, not {ends.y_scale:g}")
    return ends, b, rule, add_scaling_fixed(scales, (ends.x_zero, b_zero, ends.y_zero), rule)


def _powers(scales: tuple[float, float, float]) -> list[int]:
    """The exponents of scales that are powers of two, or nothing if some are none."""
    exact = [log2(scale) for scale in scales]
    return [round(power) for power in exact] if all(abs(power - round(power)) < NEARLY for power in exact) else []


def _shifts(a: Tensor, b: Tensor, powers: list[int]) -> tuple[int, ...]:
    """By how much each operand is shifted to the right, and the sign of the second."""
    rights = [powers[2] - power for power in powers[:2]]
    if min(rights) != 0 or max(rights) > LARGEST_RIGHT:
        raise ModelError(
            f"one of its inputs must have its output's scale, and the other one up to {LARGEST_RIGHT} powers of two "
            f"below it, not {rights[0]} and {rights[1]}"
        )
    if a.shape != b.shape:
        raise ModelError(
            f"inputs of int16 whose scales are powers of two must have the same shape, not {list(a.shape)} and "
            f"{list(b.shape)}"
        )
    return (*rights, 1)
