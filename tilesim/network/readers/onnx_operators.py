"""What each ONNX operator becomes: one short function an operator, in the table :data:`REAL`.

A function takes its operands as reals that integers stand for, and leaves the output's quantisation open; so one
function serves the operator between QuantizeLinear and DequantizeLinear and its QLinear form (:data:`INTEGER`) alike.

The rules, as found by comparing random models with ONNX Runtime (x86, FMA, optimiser on). All is float32, each step
rounded, the last one to the nearest integer, half to even; a, b, x, w and y are integers less their zero points, s_a
the scale of a, z_y the zero point of the output. The cases are families and seeds of ``scripts/differential``, where
another rule gives other bits (``tests/differentials/test_onnx_rules.py``).

=====================================  ===================================================  ==========================
operator                               rule                                                 case
=====================================  ===================================================  ==========================
Conv, Gemm, MatMul                     round((sum of x w + bias) ((s_x s_w) / s_y)) + z_y   integer-every_weight 34,
                                                                                            pairs-every_weight 19
Add                                    round(fma(A, r_a, fma(B, r_b, c))), A and B with     pairs-every_sum 2
                                       their zero points, r_a = s_a / s_y
its constant                           c = z_y - fma(z_a, r_a, z_b r_b)                     integer-every_sum 72
where one element of a is repeated     a and b change places                                test_onnx_corners, "sums"
Mul                                    round(a b ((s_a s_b) / s_y) + z_y)                   integer-every_product 2
Add, Mul, not fused                    round((a s_a + b s_b) / s_y) + z_y                   pairs-every_sum 4,
                                                                                            pairs-every_product 57
AveragePool                            round((sum of x s_x) / n / s_y + z_y), row by row    pairs-average_pool 7
GlobalAveragePool, AveragePool of a    round((sum of x) (s_x / (s_y n))) + z_y              global_average_pool 21,
whole map without padding                                                                   pairs-average_pool 131
Softmax                                exp by a table that log(float32 max / n), rounded    integer-softmax 42
                                       to float32, scales up;
                                       round(e floor(1 / s_y) / sum of e) + z_y             pairs-softmax 1
Sigmoid, LeakyRelu, Concat             round(f(x s_x) / s_y) + z_y, a table                 integer-concat 53,
                                                                                            pairs-leaky_relu 8
Quantize after Dequantize, Relu, Clip  the same                                             pairs-rescale 77
=====================================  ===================================================  ==========================

*Not fused* is an operator whose reals are wanted twice, or after which a Relu or Clip takes something from the output's
range: ONNX Runtime computes it in float32. What sums in float32 come to depends on their order, which differs between
processors. There Conv, Gemm and MatMul are computed as above and clamped; pools and Softmax are refused.

Refused as well is what ONNX Runtime has no kernel for (int8 by uint8; SAME padding with dilations; an average over a
whole map whose factor is not from 2**-32 to 2**8), where results leave int32 (Add, Mul, AveragePool: x86 makes them the
lowest integer), where SAME padding of a pool is negative before its first window, and two pairs of QuantizeLinear and
DequantizeLinear in a row, which it merges. x86 without VNNI instructions saturates sums of uint8 by int8 in 16 bits:
that is a defect of the platform, which no rule here follows.

Source: ONNX operator specification; ONNX Runtime 1.31 on x86, as measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import TypeAlias

import numpy as np
import onnx

from tilesim.arithmetic.add import add_scaling_float
from tilesim.arithmetic.reals import real_scaling
from tilesim.arithmetic.softmax import smallest_output_scale
from tilesim.errors import ModelError
from tilesim.network.graph import Node
from tilesim.network.operators import Add, Convolution, FullyConnected, Padding, Reshape, Softmax
from tilesim.network.readers import onnx_operands as operand
from tilesim.network.readers.builder import Built
from tilesim.network.readers.onnx_functions import concatenation, leaky_relu, logistic, multiply
from tilesim.network.readers.onnx_graph import Graph, attribute
from tilesim.network.readers.onnx_values import Dequantised, Pending, Target
from tilesim.network.readers.onnx_windows import average_pool, convolution, global_average_pool, max_pool


def gemm(graph: Graph, node: onnx.NodeProto, operands: operand.Operands) -> Pending:
    if attribute(node, "transA", 0) or attribute(node, "alpha", 1.0) != 1 or attribute(node, "beta", 1.0) != 1:
        raise ModelError("must have transA 0, alpha 1 and beta 1")
    return _product(graph, node, operands, transposed=bool(attribute(node, "transB", 0)))


def matmul(graph: Graph, node: onnx.NodeProto, operands: operand.Operands) -> Pending:
    return _product(graph, node, operands[:2], transposed=False)


def _product(graph: Graph, node: onnx.NodeProto, operands: operand.Operands, *, transposed: bool) -> Pending:
    """Of one row a vector; of several each row is a pixel, and the layer a convolution of one tap."""
    x, w = operands[:2]
    data = operand.constant_weights(x, w, 2, 0 if transposed else 1)
    columns = data if transposed else data.T
    shape = () if x.index < 0 else graph.builder.tensors[x.index].shape
    if len(shape) not in (2, 3) or shape[-1] != columns.shape[1]:
        most = columns.shape[1]
        raise ModelError(f"{x.title} must have 2 or 3 axes, the last of {most} elements, not shape {list(shape)}")
    if x.index in graph.flattened:
        own = columns.reshape(-1, *graph.flattened[x.index])
        columns = own.transpose(0, 2, 3, 1).reshape(columns.shape)
    made, rows = (*shape[:-1], len(columns)), prod(shape[:-1])

    def build(target: Target) -> Built:
        operand.same_dtype(x, target)
        factors = operand.scale_factors(x, w, target, len(columns))
        zeros = x.zero_point, w.zero_point, target.zero_point
        bias = operand.add_bias(graph, node.output[0], operands, len(columns))
        if made == (1, len(columns)):
            weights = graph.builder.constant(w.name, np.ascontiguousarray(columns))
            return Built(FullyConnected(*zeros, "float", *factors, target.clamp), (x.index, weights, bias), made)
        taps = graph.builder.constant(w.name, np.ascontiguousarray(columns)[:, None, None])
        layer = Convolution((1, 1), Padding(), (1, 1), 1, *zeros, "float", *factors, target.clamp)
        source = graph.builder.tensors[x.index]
        pixels = graph.builder.derived(
            f"{node.output[0]}/rows", Reshape((1, 1, rows, shape[-1])), source, (1, 1, rows, shape[-1])
        )
        like = replace(source, dtype=target.dtype, quantisation=target.quantisation)
        index = graph.builder.placed(f"{node.output[0]}/made", like, (1, 1, rows, len(columns)))
        graph.builder.nodes.append(Node(f"{node.output[0]}/made", layer, (pixels.index, taps, bias), index))
        return Built(Reshape(made), (index,), made)

    return Pending(build)


def add(graph: Graph, _node: onnx.NodeProto, operands: operand.Operands) -> Pending:
    shape = operand.common_shape(graph, *operands)
    a, b = operands if _in_order(graph, *operands) else operands[::-1]

    def build(target: Target) -> Built:
        operand.same_dtype(a, target)
        operand.same_dtype(b, target)
        largest = sum(float(operand.finite(x.scale / target.scale)) * operand.reach(x) for x in (a, b))
        known = operand.quantisations(a, b, target)
        if not target.fused:
            return Built(Add("real", real_scaling(*known), target.clamp), (a.index, b.index), shape)
        operand.convertible(largest)
        return Built(Add("float", add_scaling_float(*known), target.clamp), (a.index, b.index), shape)

    return Pending(build)


def _in_order(graph: Graph, a: Dequantised, b: Dequantised) -> bool:
    """Whether ONNX Runtime multiplies ``a`` last. It exchanges them where it repeats one element of ``a``."""
    shapes = zip(*(graph.builder.tensors[x.index].model_shape for x in (a, b)), strict=True)
    return next((size > 1 for size, other in reversed([*shapes]) if max(size, other) > 1), False)


def softmax(graph: Graph, node: onnx.NodeProto, operands: operand.Operands) -> Pending:
    x = operands[0]
    source = operand.source_tensor(graph, x)
    rank = len(source.shape)
    all_after = attribute(node, "opset", graph.opset) < 13  # it was then over all axes from the given one on
    axis = attribute(node, "axis", 1 if all_after else -1) % rank
    if axis != (1 if rank == 4 else rank - 1) or (all_after and prod(source.model_shape[axis + 1 :]) > 1):
        raise ModelError(f"axis must be that of the channels alone, not {axis}{' and those after it' * all_after}")

    def build(target: Target) -> Built:
        operand.same_dtype(x, target)
        operand.fused(target)
        if target.scale <= smallest_output_scale(source.shape[-1]):
            raise ModelError(f"its output's scale {target.scale:g} is too small: ONNX Runtime would overflow")
        scales = float(x.scale), float(target.scale)
        return Built(Softmax(*scales, target.zero_point, target.clamp, "aligned"), (x.index,), source.shape)

    return Pending(build)


def bounds(graph: Graph, node: onnx.NodeProto) -> tuple[float, float]:
    """Lowest and highest real that a Relu or Clip leaves."""
    if node.op_type == "Relu":
        return 0.0, float("inf")
    low, high = attribute(node, "min", float("-inf")), attribute(node, "max", float("inf"))
    names = (*node.input, "", "")
    low = float(graph.constant(names[1]).reshape(())) if names[1] else low
    high = float(graph.constant(names[2]).reshape(())) if names[2] else high
    if not low <= high:
        raise ModelError(f"its lowest value must not exceed its highest, {low:g} and {high:g}")
    return low, high


def activation(graph: Graph, node: onnx.NodeProto, before: Pending) -> Pending:
    """``before`` with a Relu or Clip after it."""
    low, high = bounds(graph, node)
    return replace(before, low=min(max(before.low, low), high), high=max(min(before.high, high), low))


OperatorReader: TypeAlias = Callable[[Graph, onnx.NodeProto, operand.Operands], Pending]

ACTIVATIONS = ("Relu", "Clip")

MOVERS = ("MaxPool",)
"""Operators that only move integers, and so may stand among integers without a DequantizeLinear."""

REAL: Mapping[str, tuple[OperatorReader, int, int]] = {
    "Add": (add, 2, 2),
    "AveragePool": (average_pool, 1, 1),
    "Concat": (concatenation, 1, 64),
    "Conv": (convolution, 2, 3),
    "Gemm": (gemm, 2, 3),
    "GlobalAveragePool": (global_average_pool, 1, 1),
    "LeakyRelu": (leaky_relu, 1, 1),
    "MatMul": (matmul, 2, 2),
    "MaxPool": (max_pool, 1, 1),
    "Mul": (multiply, 2, 2),
    "Sigmoid": (logistic, 1, 1),
    "Softmax": (softmax, 1, 1),
}
"""Operators on reals: what reads them, and the fewest and most operands."""


@dataclass(frozen=True)
class Positions:
    """Where an integer operator keeps its operands (value, scale, zero point), bias, and output (scale, zero point)."""

    reader: OperatorReader
    operands: tuple[int, ...]
    output: int
    bias: int | None = None
    several: bool = False
    """Whether as many operands follow as there are."""


INTEGER: Mapping[str, Positions] = {
    "QGemm": Positions(gemm, (0, 3), 7, 6),
    "QLinearAdd": Positions(add, (0, 3), 6),
    "QLinearAveragePool": Positions(average_pool, (0,), 3),
    "QLinearConcat": Positions(concatenation, (2,), 0, several=True),
    "QLinearConv": Positions(convolution, (0, 3), 6, 8),
    "QLinearGlobalAveragePool": Positions(global_average_pool, (0,), 3),
    "QLinearLeakyRelu": Positions(leaky_relu, (0,), 3),
    "QLinearMatMul": Positions(matmul, (0, 3), 6),
    "QLinearMul": Positions(multiply, (0, 3), 6),
    "QLinearSigmoid": Positions(logistic, (0,), 3),
    "QLinearSoftmax": Positions(softmax, (0,), 3),
}
