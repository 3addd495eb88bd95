"""ONNX operators that move a window over a map: convolutions and pools."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any, TypeAlias

import onnx

from tilesim.errors import ModelError
from tilesim.network.graph import Tensor
from tilesim.network.operators import AveragePool, Convolution, DepthwiseConvolution, MaxPool, Padding
from tilesim.network.readers import onnx_operands as operand
from tilesim.network.readers.builder import Built, SlidingWindow, sliding_window
from tilesim.network.readers.onnx_graph import Graph, attribute
from tilesim.network.readers.onnx_values import Dequantised, Pending, Target

Lengths: TypeAlias = tuple[int, ...]

SAME = ("SAME_UPPER", "SAME_LOWER")
LEAST_FACTOR, FACTOR_LIMIT = 2.0**-32, 2.0**8
"""Of what an average over a whole map multiplies its sum with, in ONNX Runtime."""


def moving_window(node: onnx.NodeProto, x: Tensor, size: tuple[int, ...]) -> SlidingWindow:
    size = attribute(node, "kernel_shape", size)
    strides, dilations = attribute(node, "strides", (1, 1)), attribute(node, "dilations", (1, 1))
    pads: tuple[int, ...] = attribute(node, "pads", (0, 0, 0, 0))
    if (len(size), len(strides), len(dilations), len(pads)) != (2, 2, 2, 4):
        raise ModelError(f"must work on maps of two dimensions, not with a window of {list(size)}")
    auto = attribute(node, "auto_pad", "NOTSET")
    if auto in SAME and min(*size, *strides, *dilations) > 0:
        if dilations != (1, 1):
            raise ModelError(f"auto_pad {auto} must come without dilations: ONNX Runtime refuses {list(dilations)}")
        pads = _same(x.shape[1:3], size, strides, upper=auto == "SAME_UPPER")
    padding = Padding(*pads)
    window = sliding_window(x, _two(size), _two(strides), padding, _two(dilations))
    if attribute(node, "ceil_mode", 0):
        grown = padding._replace(bottom=padding.bottom + strides[0] - 1, right=padding.right + strides[1] - 1)
        if sliding_window(x, window.size, window.strides, grown, window.dilations).shape != window.shape:
            raise ModelError("ceil_mode is not supported where it makes a larger map")
    return window


def _two(values: tuple[int, ...]) -> tuple[int, int]:
    return values[0], values[1]


def _same(lengths: Lengths, size: Lengths, strides: Lengths, *, upper: bool) -> Lengths:
    """Padding (top, left, bottom, right) that makes ``ceil(length / stride)``; the odd one comes last if ``upper``."""
    totals = [max(0, total) for total in _lacking(lengths, size, strides)]
    less, more = [total // 2 for total in totals], [total - total // 2 for total in totals]
    return (*less, *more) if upper else (*more, *less)


def _lacking(lengths: Lengths, size: Lengths, strides: Lengths) -> Lengths:
    """What each axis is too short by for ``ceil(length / stride)`` windows; below 0, what none of them reads."""
    axes = zip(lengths, size, strides, strict=True)
    return tuple((-(-length // stride) - 1) * stride + taps - length for length, taps, stride in axes)


def convolution(graph: Graph, node: onnx.NodeProto, operands: operand.Operands) -> Pending:
    x, w = operands[:2]
    source, data = operand.source_tensor(graph, x, 4), operand.constant_weights(x, w, 4, 0)
    outputs, per_group, height, width = data.shape
    groups = attribute(node, "group", 1)
    if groups < 1 or per_group * groups != source.shape[3] or outputs % groups:
        raise ModelError(f"weights of shape {list(data.shape)} must suit {source.shape[3]} channels in {groups} groups")
    window = moving_window(node, source, (height, width))
    if window.size != (height, width):
        raise ModelError(f"kernel_shape must be that of the weights, {[height, width]}, not {list(window.size)}")
    depthwise = per_group == 1 and groups > 1

    def build(target: Target) -> Built:
        operand.same_dtype(x, target)
        kind: Any = DepthwiseConvolution if depthwise else partial(Convolution, groups=groups)
        multiplier, shift = operand.scale_factors(x, w, target, outputs)
        operator = kind(
            strides=window.strides, padding=window.padding, dilations=window.dilations, input_zero_point=x.zero_point,
            weight_zero_point=w.zero_point, output_zero_point=target.zero_point, rule="float", multiplier=multiplier,
            shift=shift, clamp=target.clamp,
        )  # fmt: skip
        ordered = data[:, 0].transpose(1, 2, 0) if depthwise else data.transpose(0, 2, 3, 1)
        weights, bias = (
            graph.builder.constant(w.name, ordered),
            operand.add_bias(graph, node.output[0], operands, outputs),
        )
        return Built(operator, (x.index, weights, bias), (*window.shape, outputs))

    return Pending(build)


def average_pool(graph: Graph, node: onnx.NodeProto, operands: operand.Operands) -> Pending:
    source = operand.source_tensor(graph, operands[0], 4)
    window = _pool_window(node, source)
    rule = "float" if window.size == source.shape[1:3] and not any(window.padding) else "real"
    return _average(graph, operands[0], window, rule, counts_padding=bool(attribute(node, "count_include_pad", 0)))


def global_average_pool(graph: Graph, _node: onnx.NodeProto, operands: operand.Operands) -> Pending:
    size = _two(operand.source_tensor(graph, operands[0], 4).shape[1:3])
    return _average(graph, operands[0], SlidingWindow(size, (1, 1), Padding(), (1, 1), (1, 1, 1)), "float")


def _average(
    graph: Graph, x: Dequantised, window: SlidingWindow, rule: str, *, counts_padding: bool = False
) -> Pending:
    source = operand.source_tensor(graph, x, 4)

    def build(target: Target) -> Built:
        operand.same_dtype(x, target)
        operand.fused(target)
        ratio = float(operand.finite(x.scale / target.scale))
        if rule == "real":
            operand.convertible(ratio * operand.reach(x))
        elif not LEAST_FACTOR <= ratio / prod(window.size) < FACTOR_LIMIT:
            raise ModelError(
                f"its scales must have a ratio of 2**-32 to 2**8 of a sum, not {ratio / prod(window.size):g}"
            )
        operator = AveragePool(
            window.size, window.strides, window.padding, counts_padding, x.zero_point, target.zero_point,
            rule, (float(x.scale), float(target.scale)), target.clamp,
        )  # fmt: skip
        return Built(operator, (x.index,), (source.shape[0], *window.shape[1:], source.shape[3]))

    return Pending(build)


def max_pool(graph: Graph, node: onnx.NodeProto, operands: operand.Operands) -> Pending:
    x = operands[0]
    source = operand.source_tensor(graph, x, 4)
    window = _pool_window(node, source)

    def build(target: Target) -> Built:
        operand.same_quantisation(x, target)
        operator = MaxPool(window.size, window.strides, window.padding, target.clamp)
        return Built(operator, (x.index,), (*window.shape, source.shape[3]))

    return Pending(build)


def _pool_window(node: onnx.NodeProto, x: Tensor) -> SlidingWindow:
    window = moving_window(node, x, ())
    if window.dilations != (1, 1):
        raise ModelError(f"dilations must be 1, not {list(window.dilations)}")
    auto = attribute(node, "auto_pad", "NOTSET")
    least = {"SAME_UPPER": -1, "SAME_LOWER": -2}.get(auto, -x.shape[1] - x.shape[2])
    if min(_lacking(x.shape[1:3], window.size, window.strides)) < least:
        raise ModelError(
            f"auto_pad {auto} must suit its strides: ONNX Runtime would skip what is before a first window"
        )
    if any(side >= window.size[k % 2] for k, side in enumerate(window.padding)):
        raise ModelError(f"padding {list(window.padding)} must be smaller than its window {list(window.size)}")
    return window
