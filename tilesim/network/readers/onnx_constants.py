"""ONNX operators on constants alone, and the shapes of tensors, which are some: what they make are constants, too."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
import onnx

from tilesim.errors import ModelError
from tilesim.network.graph import Array
from tilesim.network.readers.builder import must_be_bearable
from tilesim.network.readers.onnx_graph import Graph, attribute, onnx_dtype
from tilesim.network.readers.onnx_moves import MOVES
from tilesim.network.readers.onnx_parts import Moved, numbers
from tilesim.network.readers.onnx_values import Constant, Pending

SHAPE = "Shape"
FOLDED = frozenset({"Cast", "Concat", "Gather", *MOVES}) - {"Resize"}


def folded(graph: Graph, node: onnx.NodeProto) -> bool:
    """Whether a node made constants, as it does of such, and of the shape of anything that has one."""
    if node.op_type == SHAPE:
        graph.values[node.output[0]] = Constant(_shape(graph, node))
        return True
    values = [graph.values.get(name) for name in node.input if name]
    arrays = [value.array for value in values if isinstance(value, Constant)]
    if node.op_type not in FOLDED or not values or len(arrays) < len(values):
        return False
    for name, array in zip(node.output, _made(graph, node, arrays), strict=False):
        graph.builder.constant_bytes += array.nbytes
        must_be_bearable(graph.builder.constant_bytes)
        graph.values[name] = Constant(array)
    return True


def _shape(graph: Graph, node: onnx.NodeProto) -> Array:
    value = graph.value(node.input[0])
    if isinstance(value, Pending):
        raise ModelError("must be of integers, or of what comes from a DequantizeLinear")
    if isinstance(value, Constant) or value.index < 0:
        raise ModelError("must be of a tensor that is computed")
    lengths = graph.builder.tensors[value.index].model_shape
    some = slice(attribute(node, "start", 0), attribute(node, "end", len(lengths)))
    return np.array(lengths[some], np.int64)


def _made(graph: Graph, node: onnx.NodeProto, arrays: Sequence[Array]) -> Sequence[Array]:
    try:
        if node.op_type == "Cast":
            return [arrays[0].astype(onnx_dtype(attribute(node, "to", 0)))]
        if node.op_type == "Concat":
            return [np.concatenate(arrays, axis=attribute(node, "axis", 0))]
        if node.op_type == "Gather":
            return [np.take(arrays[0], arrays[1], axis=attribute(node, "axis", 0))]
        if node.op_type in {"Squeeze", "Unsqueeze"}:  # of a number without axes, or to one
            axes = tuple(numbers(graph, node, 1, "axes"))
            return [
                np.expand_dims(arrays[0], axes) if node.op_type == "Unsqueeze" else np.squeeze(arrays[0], axes or None)
            ]
    except (ValueError, IndexError, TypeError) as error:
        raise ModelError(f"cannot be computed of constants of shapes {[a.shape for a in arrays]} ({error})") from None
    if not arrays[0].ndim:
        arrays = [arrays[0].reshape(1), *arrays[1:]]
    source = graph.builder.tensors[graph.builder.constant(node.input[0], arrays[0])]
    return [_evaluated(graph, moved) for moved in MOVES[node.op_type](graph, node, source)]


def _evaluated(graph: Graph, moved: Moved) -> Array:
    """What becomes of a constant, in the file's order."""
    data = graph.builder.tensors[moved.source].data
    assert data is not None
    must_be_bearable(graph.builder.constant_bytes + prod(moved.shape) * data.itemsize)
    return np.transpose(moved.operator.evaluate([data]).reshape(moved.shape), moved.axes)
