"""ONNX operators that choose the largest elements: among integers, or among the reals of a DequantizeLinear, which are
ordered as their integers are. Places are int64.

Source: ONNX operator specification; ONNX Runtime: of equal elements the first comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import onnx

from tilesim.errors import ModelError
from tilesim.network.graph import Tensor, titled
from tilesim.network.operators import ArgMax, Cast, Reshape, TopK
from tilesim.network.readers.builder import INTEGER_DTYPES, Built
from tilesim.network.readers.fault import wrong_type
from tilesim.network.readers.moving import transposed
from tilesim.network.readers.onnx_graph import Graph, attribute, onnx_dtype
from tilesim.network.readers.onnx_layouts import axes_of, in_file_order, settled
from tilesim.network.readers.onnx_values import Dequantised, Integers, Reals

PLACES = np.dtype(np.int64)


def arg_max(graph: Graph, node: onnx.NodeProto) -> None:
    """Along the channels, or after the tensor is turned along any axis of the file."""
    if attribute(node, "select_last_index", 0):
        raise ModelError("must choose the first of equal elements, not the last")
    source, keeps = _computed(graph, node), bool(attribute(node, "keepdims", 1))
    rank, axis = len(source.shape), attribute(node, "axis", 0)
    if not -rank <= axis < rank or rank < 2:
        raise ModelError(f"axis must be from {-rank} to {rank - 1}, of at least 2 axes, not {axis}")
    if _of_channels(source, axis):
        shape = (*source.shape[:-1], 1) if keeps else source.shape[:-1]
        graph.add_integers(node.output[0], Built(ArgMax(PLACES, keeps), (source.index,), shape), PLACES)
        return
    first, axis = in_file_order(graph, source.index), axis % rank
    turned = transposed(first, (*(other for other in range(rank) if other != axis), axis))
    last = graph.builder.derived(f"{node.output[0]}/turned", turned.operator, first, turned.shape)
    built = Built(ArgMax(PLACES), (last.index,), last.shape[:-1])
    if keeps:
        shape = (*first.shape[:axis], 1, *first.shape[axis + 1 :])
        chosen = graph.add_derived(
            f"{node.output[0]}/chosen", built, replace(last, dtype=PLACES, quantisation=None), ()
        )
        built = Built(Reshape(shape), (chosen,), shape)
    graph.add_integers(node.output[0], built, PLACES, axes=tuple(range(len(built.shape))))


def top_k(graph: Graph, node: onnx.NodeProto) -> None:
    """Values and places, a node each."""
    source = _source(graph, node, -1)
    if attribute(node, "largest", 1) != 1 or attribute(node, "sorted", 1) != 1:
        raise ModelError("must give the largest elements, the largest first: largest 1 and sorted 1")
    k, shape = _count(graph, node, source), source.shape[:-1]
    values, places = node.output
    _add_values(graph, node, values, Built(TopK(k), (source.index,), (*shape, k)))
    graph.add_integers(places, Built(TopK(k, PLACES), (source.index,), (*shape, k)), PLACES)


def _add_values(graph: Graph, node: onnx.NodeProto, name: str, built: Built) -> None:
    """Integers in the quantisation of those that they were, or the reals that they stand for."""
    before, tensor = graph.value(node.input[0]), graph.builder.tensors[built.inputs[0]]
    if isinstance(before, Dequantised):
        known = before.quantisation
        index = graph.builder.between(f"{name}/integers", built.operator, tensor.index, known, built.shape)
        graph.values[name] = Dequantised(name, index, None, tensor.dtype, known)
    else:
        graph.add_integers(name, built, tensor.dtype, tensor.quantisation)


def _source(graph: Graph, node: onnx.NodeProto, default_axis: int) -> Tensor:
    """What is chosen from, along its channels or its only row."""
    source = _computed(graph, node)
    axis = attribute(node, "axis", default_axis)
    if len(source.shape) < 2 or not _of_channels(source, axis):
        raise ModelError(f"axis must be that of the channels, not {axis}")
    return source


def _computed(graph: Graph, node: onnx.NodeProto) -> Tensor:
    value = graph.value(node.input[0])
    if not isinstance(value, Integers | Dequantised) or value.index < 0:
        raise ModelError(f"{titled(node.input[0])} must come from a DequantizeLinear, or be integers that are computed")
    return graph.builder.tensors[settled(graph, value.index)]


def _of_channels(source: Tensor, axis: int) -> bool:
    rank = len(source.shape)
    return axis in ((1, -3) if rank == 4 else (rank - 1, -1))


def _count(graph: Graph, node: onnx.NodeProto, source: Tensor) -> int:
    if len(node.input) != 2:
        raise ModelError("must have its k as an input, as from version 10 of ONNX's operators on")
    given = graph.constant(node.input[1])
    if given.size != 1 or given.dtype.kind != "i" or not 1 <= int(given.reshape(())) <= source.shape[-1]:
        most = source.shape[-1]
        raise ModelError(f"its k must be a whole number from 1 to {most}, not {given.reshape(-1)[:4].tolist()}")
    return int(given.reshape(()))


def cast(graph: Graph, node: onnx.NodeProto) -> None:
    """Integers as they are, whatever they stand for: into other integers, or reals."""
    value, dtype = graph.value(node.input[0]), onnx_dtype(attribute(node, "to", 0))
    if not isinstance(value, Integers):
        raise ModelError(f"{titled(node.input[0])} must be integers that are computed")
    source = graph.builder.tensors[value.index]
    if dtype not in (*INTEGER_DTYPES, np.dtype(np.float32)):
        raise wrong_type("it must make integers or float32", dtype.name)
    operator = Reshape(source.shape) if dtype == source.dtype else Cast(dtype)
    graph.add_integers(node.output[0], Built(operator, (source.index,), source.shape), dtype, axes=axes_of(source))
    if dtype == np.float32:
        graph.values[node.output[0]] = Reals(graph.indices[node.output[0]])


CHOICES: Mapping[str, Callable[[Graph, onnx.NodeProto], None]] = {"ArgMax": arg_max, "Cast": cast, "TopK": top_k}
"""Operators whose results are not quantised, or that have several."""
