"""What each ONNX operator becomes: one short function an operator, in the table :data:`REAL`.

A function takes its operands as reals that integers stand for, and leaves the output's quantisation open; so one
function serves the operator between QuantizeLinear and DequantizeLinear and its QLinear form (:data:`INTEGER`) alike.
Sums are scaled by ``scale_x * scale_w / scale_y`` in float32, rounded half to even.

ONNX Runtime's AveragePool (not the global one) adds up reals in float32 and adds the zero point before it rounds, which
no rule on int32 sums can follow: where the exact average lies half-way between two integers, ours may be the other one.
The same holds for an activation that is fused where ONNX Runtime would compute it in float32.

Source: ONNX operator specification; ONNX Runtime on x86.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import TypeAlias

import numpy as np
import onnx
from numpy.typing import NDArray

from tilesim.arithmetic.add import add_scaling_float
from tilesim.arithmetic.requantise import float_bits
from tilesim.errors import ModelError
from tilesim.network.graph import Array, Tensor
from tilesim.network.operators import (
    Add,
    AveragePool,
    Convolution,
    DepthwiseConvolution,
    FullyConnected,
    MaxPool,
    Padding,
    Rescale,
    Reshape,
    Softmax,
)
from tilesim.network.readers.onnx_graph import Graph, Operand, Pending, Target, attribute
from tilesim.network.readers.scope import Built, broadcast, map_shape

Operands: TypeAlias = list[Operand]


def _tensor(graph: Graph, operand: Operand, rank: int | None = None) -> Tensor:
    """An operand that is a tensor of the network in the network's order."""
    if operand.index < 0:
        raise ModelError(f"{operand.name} must not be a constant")
    tensor = graph.scope.tensors[operand.index]
    if operand.index in graph.flattened:
        raise ModelError(f"{operand.name} is a flattened map: only Gemm and MatMul may take it")
    if rank is not None and len(tensor.shape) != rank:
        raise ModelError(f"{operand.name} must have {rank} axes, not shape {list(tensor.model_shape)}")
    return tensor


def _weights(operand: Operand, rank: int, channels_axis: int) -> Array:
    if operand.data is None or operand.data.dtype not in {np.dtype(np.int8), np.dtype(np.uint8)}:
        raise ModelError(f"weights {operand.name} must be constants of int8 or uint8")
    if operand.data.ndim != rank:
        raise ModelError(f"weights {operand.name} must have {rank} axes, not shape {list(operand.data.shape)}")
    scales, channels = operand.quantisation.scale, operand.data.shape[channels_axis]
    if scales.ndim and (scales.size != channels or operand.axis % rank != channels_axis):
        raise ModelError(f"weights {operand.name} must have 1 scale or {channels} along axis {channels_axis}")
    return operand.data


def _bias(graph: Graph, name: str, operands: Operands, channels: int) -> int:
    if len(operands) < 3:
        return graph.scope.constant(f"{name}/no_bias", np.zeros(channels, np.int32))
    data = operands[2].data
    if data is None or data.dtype != np.int32 or data.size != channels:
        raise ModelError(f"bias {operands[2].name} must be {channels} constants of int32")
    return graph.scope.constant(operands[2].name, data.reshape(-1))


def _factors(x: Operand, w: Operand, target: Target, channels: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Multipliers and shifts of rule ``float``."""
    scale = x.scale * w.quantisation.scale.astype(np.float32) / target.scale
    return np.broadcast_to(float_bits(scale), channels).copy(), np.zeros(channels, np.int32)


@dataclass(frozen=True)
class _Window:
    """How a window moves over a map, and the (1, H', W') that it makes."""

    size: tuple[int, int]
    strides: tuple[int, int]
    dilations: tuple[int, int]
    padding: Padding
    shape: tuple[int, int, int]


def _window(node: onnx.NodeProto, x: Tensor, size: tuple[int, ...]) -> _Window:
    size = attribute(node, "kernel_shape", size)
    strides, dilations = attribute(node, "strides", (1, 1)), attribute(node, "dilations", (1, 1))
    pads: tuple[int, ...] = attribute(node, "pads", (0, 0, 0, 0))
    if (len(size), len(strides), len(dilations), len(pads)) != (2, 2, 2, 4):
        raise ModelError(f"must work on maps of two dimensions, not with a window of {list(size)}")
    auto = attribute(node, "auto_pad", "NOTSET")
    if auto in {"SAME_UPPER", "SAME_LOWER"} and min(*size, *strides, *dilations) > 0:
        pads = _same(x.shape[1:3], size, strides, dilations, upper=auto == "SAME_UPPER")
    padding = Padding(*pads)
    shape = map_shape(x, _two(size), _two(strides), padding, _two(dilations))
    if attribute(node, "ceil_mode", 0):
        larger = map_shape(x, _two(size), _two(strides), _grown(padding, strides), _two(dilations))
        if larger != shape:
            raise ModelError("ceil_mode is not supported where it makes a larger map")
    return _Window(_two(size), _two(strides), _two(dilations), padding, shape)


def _two(values: tuple[int, ...]) -> tuple[int, int]:
    return values[0], values[1]


def _grown(padding: Padding, strides: tuple[int, ...]) -> Padding:
    return padding._replace(bottom=padding.bottom + strides[0] - 1, right=padding.right + strides[1] - 1)


def _same(
    lengths: tuple[int, ...],
    size: tuple[int, ...],
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
    *,
    upper: bool,
) -> tuple[int, ...]:
    """Padding (top, left, bottom, right) that makes ``ceil(length / stride)``; the odd one comes last if ``upper``."""
    totals = [
        max(0, (-(-length // stride) - 1) * stride + (taps - 1) * dilation + 1 - length)
        for length, taps, stride, dilation in zip(lengths, size, strides, dilations, strict=True)
    ]
    less, more = [total // 2 for total in totals], [total - total // 2 for total in totals]
    return (*less, *more) if upper else (*more, *less)


def _same_dtype(x: Operand, target: Target) -> None:
    if x.dtype != target.dtype:
        raise ModelError(f"its output must be {x.dtype} like {x.name}, not {target.dtype}")


def _same_quantisation(x: Operand, target: Target) -> None:
    _same_dtype(x, target)
    if (x.scale, x.zero_point) != (target.scale, target.zero_point):
        raise ModelError(
            f"its output must have the scale and zero point of {x.name}, {x.scale:g} and {x.zero_point}, "
            f"not {target.scale:g} and {target.zero_point}"
        )


def convolution(graph: Graph, node: onnx.NodeProto, operands: Operands) -> Pending:
    x, w = operands[:2]
    source, data = _tensor(graph, x, 4), _weights(w, 4, 0)
    outputs, per_group, height, width = data.shape
    groups = attribute(node, "group", 1)
    if groups < 1 or per_group * groups != source.shape[3] or outputs % groups:
        raise ModelError(f"weights of shape {list(data.shape)} must suit {source.shape[3]} channels in {groups} groups")
    window = _window(node, source, (height, width))
    if window.size != (height, width):
        raise ModelError(f"kernel_shape must be that of the weights, {[height, width]}, not {list(window.size)}")
    shape = (*window.shape, outputs)
    depthwise = per_group == 1 and groups > 1

    def build(target: Target) -> Built:
        _same_dtype(x, target)
        moves = window.strides, window.padding, window.dilations
        zero_points = x.zero_point, w.zero_point, target.zero_point
        factors = _factors(x, w, target, outputs)
        bias = _bias(graph, node.output[0], operands, outputs)
        if depthwise:
            weights = graph.scope.constant(w.name, data[:, 0].transpose(1, 2, 0))
            return Built(
                DepthwiseConvolution(*moves, *zero_points, "float", *factors, target.clamp),
                (x.index, weights, bias),
                shape,
            )
        weights = graph.scope.constant(w.name, data.transpose(0, 2, 3, 1))
        return Built(
            Convolution(*moves, groups, *zero_points, "float", *factors, target.clamp), (x.index, weights, bias), shape
        )

    return Pending(build)


def gemm(graph: Graph, node: onnx.NodeProto, operands: Operands) -> Pending:
    if attribute(node, "transA", 0) or attribute(node, "alpha", 1.0) != 1 or attribute(node, "beta", 1.0) != 1:
        raise ModelError("must have transA 0, alpha 1 and beta 1")
    return _product(graph, node, operands, transposed=bool(attribute(node, "transB", 0)))


def matmul(graph: Graph, node: onnx.NodeProto, operands: Operands) -> Pending:
    return _product(graph, node, operands[:2], transposed=False)


def _product(graph: Graph, node: onnx.NodeProto, operands: Operands, *, transposed: bool) -> Pending:
    x, w = operands[:2]
    data = _weights(w, 2, 0 if transposed else 1)
    rows = data if transposed else data.T
    shape = () if x.index < 0 else graph.scope.tensors[x.index].shape
    if len(shape) != 2 or shape[1] != rows.shape[1]:
        raise ModelError(f"{x.name} must have 2 axes, the last of {rows.shape[1]} elements, not shape {list(shape)}")
    if x.index in graph.flattened:
        own = rows.reshape(-1, *graph.flattened[x.index])
        rows = own.transpose(0, 2, 3, 1).reshape(rows.shape)

    def build(target: Target) -> Built:
        _same_dtype(x, target)
        factors = _factors(x, w, target, len(rows))
        operator = FullyConnected(x.zero_point, w.zero_point, target.zero_point, "float", *factors, target.clamp)
        weights = graph.scope.constant(w.name, np.ascontiguousarray(rows))
        bias = _bias(graph, node.output[0], operands, len(rows))
        return Built(operator, (x.index, weights, bias), (shape[0], len(rows)))

    return Pending(build)


def add(graph: Graph, _node: onnx.NodeProto, operands: Operands) -> Pending:
    a, b = operands
    tensors = _tensor(graph, a), _tensor(graph, b)
    shape = broadcast(*tensors)
    if len({len(tensor.shape) for tensor in tensors}) > 1:
        raise ModelError(f"{a.name} and {b.name} must have as many axes as each other")

    def build(target: Target) -> Built:
        _same_dtype(a, target)
        _same_dtype(b, target)
        scales = float(a.scale), float(b.scale), float(target.scale)
        scaling = add_scaling_float(scales, (a.zero_point, b.zero_point, target.zero_point))
        return Built(Add("float", scaling, target.clamp), (a.index, b.index), shape)

    return Pending(build)


def average_pool(graph: Graph, node: onnx.NodeProto, operands: Operands) -> Pending:
    window = _window(node, _tensor(graph, operands[0], 4), ())
    return _average(graph, operands[0], window, counts_padding=bool(attribute(node, "count_include_pad", 0)))


def global_average_pool(graph: Graph, _node: onnx.NodeProto, operands: Operands) -> Pending:
    size = _two(_tensor(graph, operands[0], 4).shape[1:3])
    return _average(graph, operands[0], _Window(size, (1, 1), (1, 1), Padding(), (1, 1, 1)), counts_padding=False)


def _average(graph: Graph, x: Operand, window: _Window, *, counts_padding: bool) -> Pending:
    source = _tensor(graph, x, 4)
    if window.dilations != (1, 1):
        raise ModelError(f"dilations must be 1, not {list(window.dilations)}")

    def build(target: Target) -> Built:
        _same_dtype(x, target)
        scales = float(x.scale), float(target.scale)
        operator = AveragePool(
            window.size, window.strides, window.padding, counts_padding, x.zero_point, target.zero_point,
            "float", scales, target.clamp,
        )  # fmt: skip
        return Built(operator, (x.index,), (source.shape[0], *window.shape[1:], source.shape[3]))

    return Pending(build)


def max_pool(graph: Graph, node: onnx.NodeProto, operands: Operands) -> Pending:
    x = operands[0]
    source = _tensor(graph, x, 4)
    window = _window(node, source, ())
    if window.dilations != (1, 1):
        raise ModelError(f"dilations must be 1, not {list(window.dilations)}")

    def build(target: Target) -> Built:
        _same_quantisation(x, target)
        operator = MaxPool(window.size, window.strides, window.padding, target.clamp)
        return Built(operator, (x.index,), (*window.shape, source.shape[3]))

    return Pending(build)


def flatten(graph: Graph, node: onnx.NodeProto, operands: Operands) -> Pending:
    shape = _tensor(graph, operands[0]).model_shape
    axis = attribute(node, "axis", 1) % (len(shape) + 1)
    return _renamed(graph, operands[0], (prod(shape[:axis]), prod(shape[axis:])))


def reshape(graph: Graph, node: onnx.NodeProto, operands: Operands) -> Pending:
    old = _tensor(graph, operands[0]).model_shape
    wanted = [int(size) for size in graph.constant(node.input[1]).ravel()]
    if not attribute(node, "allowzero", 0):
        wanted = [old[k] if size == 0 and k < len(old) else size for k, size in enumerate(wanted)]
    if wanted.count(-1) == 1:
        known = prod(size for size in wanted if size != -1)
        wanted = [prod(old) // known if size == -1 and known > 0 else size for size in wanted]
    if min(wanted, default=0) < 1 or prod(wanted) != prod(old):
        raise ModelError(f"cannot make shape {wanted} of shape {list(old)}")
    return _renamed(graph, operands[0], tuple(wanted))


def _renamed(graph: Graph, x: Operand, model_shape: tuple[int, ...]) -> Pending:
    """The elements in the file's order under another shape, refused where the network's order would differ."""
    source = _tensor(graph, x)
    shape = (model_shape[0], *model_shape[2:], model_shape[1]) if len(model_shape) == 4 else model_shape
    ordered = shape == source.shape or (_one_order(source.shape) and _one_order(shape))
    vector = shape == (source.shape[0], prod(source.shape[1:]))
    if not ordered and not vector:
        raise ModelError(f"cannot turn shape {list(source.model_shape)} into {list(model_shape)}: channels would mix")

    def build(target: Target) -> Built:
        _same_quantisation(x, target)
        return Built(Reshape(shape), (x.index,), shape)

    order = None if ordered else (source.shape[3], *source.shape[1:3])
    return Pending(build, flattened=order)


def _one_order(shape: tuple[int, ...]) -> bool:
    """Whether a map's elements come in the same order with channels first and last."""
    return len(shape) != 4 or shape[3] == 1 or shape[1] * shape[2] == 1


def softmax(graph: Graph, node: onnx.NodeProto, operands: Operands) -> Pending:
    x = operands[0]
    source = _tensor(graph, x)
    rank = len(source.shape)
    axis = attribute(node, "axis", -1) % rank
    if axis != (1 if rank == 4 else rank - 1):
        raise ModelError(f"axis must be that of the channels, not {axis}")

    def build(target: Target) -> Built:
        _same_dtype(x, target)
        scales = float(x.scale), float(target.scale)
        return Built(Softmax(*scales, target.zero_point, target.clamp, "aligned"), (x.index,), source.shape)

    return Pending(build)


def rescale(graph: Graph, _node: onnx.NodeProto, operands: Operands) -> Pending:
    """From one quantisation to another, with an activation or with nothing in between."""
    x = operands[0]
    source = _tensor(graph, x)

    def build(target: Target) -> Built:
        bits = int(float_bits(float(x.scale / target.scale))[0])
        operator = Rescale(x.zero_point, target.zero_point, "float", bits, 0, target.clamp, target.dtype)
        return Built(operator, (x.index,), source.shape)

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


Builder: TypeAlias = Callable[[Graph, onnx.NodeProto, Operands], Pending]

ACTIVATIONS = ("Relu", "Clip")

MOVERS = ("Flatten", "MaxPool", "Reshape")
"""Operators that only move integers, and so may stand among integers without a DequantizeLinear."""

REAL: Mapping[str, tuple[Builder, int, int]] = {
    "Add": (add, 2, 2),
    "AveragePool": (average_pool, 1, 1),
    "Conv": (convolution, 2, 3),
    "Flatten": (flatten, 1, 1),
    "Gemm": (gemm, 2, 3),
    "GlobalAveragePool": (global_average_pool, 1, 1),
    "MatMul": (matmul, 2, 2),
    "MaxPool": (max_pool, 1, 1),
    "Reshape": (reshape, 1, 1),
    "Softmax": (softmax, 1, 1),
}
"""Operators on reals: what reads them, and the fewest and most operands."""


@dataclass(frozen=True)
class Positions:
    """Where an integer operator keeps its operands (value, scale, zero point), bias, and output (scale, zero point)."""

    builder: Builder
    operands: tuple[int, ...]
    output: int
    bias: int | None = None


INTEGER: Mapping[str, Positions] = {
    "QGemm": Positions(gemm, (0, 3), 7, 6),
    "QLinearAdd": Positions(add, (0, 3), 6),
    "QLinearAveragePool": Positions(average_pool, (0,), 3),
    "QLinearConv": Positions(convolution, (0, 3), 6, 8),
    "QLinearGlobalAveragePool": Positions(global_average_pool, (0,), 3),
    "QLinearMatMul": Positions(matmul, (0, 3), 6),
    "QLinearSoftmax": Positions(softmax, (0,), 3),
}
