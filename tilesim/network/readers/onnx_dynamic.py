"""ONNX operators that quantise values as they come, and the reals between them: what `quantize_dynamic` writes.

Sums of MatMulInteger and ConvInteger stay sums; what they stand for, a Cast and products and sums of reals say. All
that is exact or rounded to float32 step by step, so that nothing depends on what ONNX Runtime fuses.

Source: ONNX operator specification.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import onnx

from tilesim.errors import ModelError
from tilesim.network.graph import Array, Tensor, titled
from tilesim.network.operators import DynamicQuantise, IntegerConvolution, IntegerMatmul, RealArithmetic
from tilesim.network.readers.builder import ACTIVATION_DTYPES, Built, broadcast, first_of
from tilesim.network.readers.fault import wrong_type
from tilesim.network.readers.moving import bearable
from tilesim.network.readers.onnx_graph import MAP_AXES, Graph, attribute
from tilesim.network.readers.onnx_layouts import Axes, axes_of, in_file_order, settled, usual_axes
from tilesim.network.readers.onnx_values import Constant, Integers, Reals
from tilesim.network.readers.onnx_windows import moving_window

FLOAT32 = np.dtype(np.float32)


def dynamic_quantise(graph: Graph, node: onnx.NodeProto) -> None:
    """Integers, their scale and their zero point: a node each, of those that are wanted."""
    value = graph.value(node.input[0])
    if not isinstance(value, Reals):
        raise ModelError(f"{titled(node.input[0])} must be reals that an input or a node gives")
    x = graph.builder.tensors[value.index]
    names = [*node.output, "", ""][:3]
    wanted = [bool(name and graph.uses.get(name)) for name in names]
    made = [
        Built(DynamicQuantise(gives, x.shape[0]), (x.index,), shape)
        for gives, shape in (("integers", x.shape), ("scale", (1,)), ("zero_point", (1,)))
    ]
    if wanted[0]:
        graph.add_integers(names[0], made[0], np.dtype(np.uint8), axes=axes_of(x))
    if wanted[1]:
        add_reals(graph, names[1], made[1], (0,))
    if wanted[2]:
        graph.add_integers(names[2], made[2], np.dtype(np.uint8))


def add_reals(graph: Graph, name: str, built: Built, axes: Axes) -> None:
    """Add a node that makes the reals ``name``."""
    graph.values[name] = Reals(graph.add_integers(name, built, FLOAT32, axes=axes))


def matmul_integer(graph: Graph, node: onnx.NodeProto) -> None:
    """Of a constant matrix, and one or several others."""
    x, w = _operands(graph, node)
    x = in_file_order(graph, x.index)
    if w.ndim != 2 or len(x.shape) < 2 or x.shape[-1] != w.shape[0]:
        raise ModelError(f"matrices of shapes {list(x.shape)} and {list(w.shape)} must suit each other")
    zeros = _zero_points(graph, node, x, w)
    if zeros[1].shape not in {(1,), (w.shape[1],)}:
        raise ModelError(f"its weights must have one zero point, or one for each of {w.shape[1]} columns")
    weights = graph.builder.tensors[graph.builder.constant(node.input[1], w)]
    tensors = (x, weights, *zeros)
    a, b, c, d = map(first_of, tensors)
    shape = bearable((*x.shape[:-1], w.shape[1]))
    built = Built(IntegerMatmul((a, b, c, d)), tuple(tensor.index for tensor in tensors), shape)
    graph.add_integers(node.output[0], built, np.dtype(np.int32), axes=tuple(range(len(shape))))


def convolution_integer(graph: Graph, node: onnx.NodeProto) -> None:
    x, w = _operands(graph, node)
    x = graph.builder.tensors[settled(graph, x.index)]
    groups = attribute(node, "group", 1)
    if w.ndim != 4 or len(x.shape) != 4 or groups < 1 or w.shape[1] * groups != x.shape[3] or w.shape[0] % groups:
        raise ModelError(f"weights of shape {list(w.shape)} must suit shape {list(x.model_shape)} in {groups} groups")
    window = moving_window(node, x, w.shape[2:])
    if window.size != w.shape[2:]:
        raise ModelError(f"kernel_shape must be that of the weights, {list(w.shape[2:])}, not {list(window.size)}")
    zeros = _zero_points(graph, node, x, w)
    if zeros[1].shape != (1,):
        raise ModelError("its weights must have one zero point")
    weights = graph.builder.tensors[graph.builder.constant(node.input[1], w.transpose(0, 2, 3, 1))]
    tensors = (x, weights, *zeros)
    a, b, c, d = map(first_of, tensors)
    operator = IntegerConvolution(window.strides, window.padding, window.dilations, groups, (a, b, c, d))
    shape = (*window.shape, w.shape[0])
    built = Built(operator, tuple(tensor.index for tensor in tensors), shape)
    graph.add_integers(node.output[0], built, np.dtype(np.int32), axes=MAP_AXES)


def _operands(graph: Graph, node: onnx.NodeProto) -> tuple[Tensor, Array]:
    """Integers of 8 bits that are computed, and constant ones."""
    value, weights = graph.value(node.input[0]), graph.constant(node.input[1])
    if not isinstance(value, Integers):
        raise ModelError(f"{titled(node.input[0])} must be integers that are computed")
    x = graph.builder.tensors[value.index]
    for title, dtype in ((x.title, x.dtype), (titled(node.input[1]), weights.dtype)):
        if dtype not in ACTIVATION_DTYPES:
            raise wrong_type(f"{title} must be int8 or uint8", dtype.name)
    return x, weights


def _zero_points(graph: Graph, node: onnx.NodeProto, x: Tensor, w: Array) -> tuple[Tensor, Tensor]:
    """Those of both operands, 0 where they are absent."""
    names = [*node.input, "", ""][2:4]
    first, second = (
        _zero_point(graph, name, node, dtype) for name, dtype in zip(names, (x.dtype, w.dtype), strict=True)
    )
    if first.shape != (1,) or second.data is None:
        raise ModelError("must have one zero point for its first input, and constant ones for its weights")
    return first, second


def _zero_point(graph: Graph, name: str, node: onnx.NodeProto, dtype: np.dtype[np.generic]) -> Tensor:
    value = graph.value(name) if name else Constant(np.zeros(1, dtype))
    if isinstance(value, Integers):
        tensor = graph.builder.tensors[value.index]
    elif isinstance(value, Constant):
        title = name or f"{node.output[0]}/no_zero_point"
        tensor = graph.builder.tensors[graph.builder.constant(title, value.array.reshape(-1))]
    else:
        raise ModelError(f"{titled(name)} must be a zero point")
    if tensor.dtype != dtype:
        raise ModelError(f"zero point {titled(name)} must be {dtype}, not {tensor.dtype}")
    return tensor


def is_of_reals(graph: Graph, node: onnx.NodeProto) -> bool:
    """Whether an operator takes reals that a node gives, and not only an input."""
    values = (graph.values.get(name) for name in node.input)
    return any(isinstance(value, Reals) and value.index not in graph.inputs for value in values)


def arithmetic(graph: Graph, node: onnx.NodeProto) -> None:
    """Sums and products of reals, and a Relu, which is the larger of them and 0."""
    function = ARITHMETIC[node.op_type]
    names = [*node.input[:1], ""] if node.op_type == "Relu" else [*node.input]
    values = [graph.value(name) if name else Constant(np.zeros((), FLOAT32)) for name in names]
    ranks = [_rank(graph, name, value) for name, value in zip(names, values, strict=True)]
    most = max(ranks)
    of_maps = most == 4 and all(rank == 4 or isinstance(value, Constant) or _is_one(graph, value)
                                for rank, value in zip(ranks, values, strict=True))  # fmt: skip
    pair = [_placed(graph, name, value, of_maps) for name, value in zip(names, values, strict=True)]
    shape, indices = broadcast(pair[0], pair[1]), (pair[0].index, pair[1].index)
    axes = usual_axes(4) if of_maps else tuple(range(len(shape)))
    operator = RealArithmetic(function, (first_of(pair[0]), first_of(pair[1])))
    add_reals(graph, node.output[0], Built(operator, indices, shape), axes)


def _rank(graph: Graph, name: str, value: object) -> int:
    if isinstance(value, Constant) and value.array.dtype == FLOAT32:
        return value.array.ndim
    if not isinstance(value, Reals):
        raise ModelError(f"{titled(name)} must be reals, as the other one is")
    return len(graph.builder.tensors[value.index].shape)


def _is_one(graph: Graph, value: object) -> bool:
    return isinstance(value, Reals) and graph.builder.tensors[value.index].shape == (1,)


def _placed(graph: Graph, name: str, value: object, of_maps: bool) -> Tensor:
    """An operand among maps that are channels last, or in the file's order."""
    if isinstance(value, Constant):
        data = value.array
        if of_maps and data.ndim:
            data = data.reshape((1,) * (4 - data.ndim) + data.shape).transpose(0, 2, 3, 1)
        return graph.builder.tensors[graph.builder.constant(name or "zero", data)]
    assert isinstance(value, Reals)
    if of_maps:
        return graph.builder.tensors[settled(graph, value.index)]
    return in_file_order(graph, value.index)


ARITHMETIC: Mapping[str, str] = {"Add": "add", "Mul": "multiply", "Relu": "maximum"}
"""Operators on reals, and what they are."""

DYNAMIC: Mapping[str, Callable[[Graph, onnx.NodeProto], None]] = {
    "ConvInteger": convolution_integer,
    "DynamicQuantizeLinear": dynamic_quantise,
    "MatMulInteger": matmul_integer,
}
"""Operators that quantise as they go, and those on what they give."""
