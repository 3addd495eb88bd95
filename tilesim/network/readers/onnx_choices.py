"""ONNX operators that choose the largest elements: among integers, or among the reals of a DequantizeLinear, which are
ordered as their integers are. Places are int64.

Source: ONNX operator specification; ONNX Runtime: of equal elements the first comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import onnx

from tilesim.errors import ModelError
from tilesim.network.graph import Tensor, titled
from tilesim.network.operators import ArgMax, TopK
from tilesim.network.readers.builder import Built
from tilesim.network.readers.onnx_graph import Dequantised, Graph, Integers, attribute

PLACES = np.dtype(np.int64)


def arg_max(graph: Graph, node: onnx.NodeProto) -> None:
    source = _source(graph, node, 0)
    if attribute(node, "select_last_index", 0):
        raise ModelError("must choose the first of equal elements, not the last")
    keeps = bool(attribute(node, "keepdims", 1))
    shape = (*source.shape[:-1], 1) if keeps else source.shape[:-1]
    graph.add_integers(node.output[0], Built(ArgMax(PLACES, keeps), (source.index,), shape), PLACES)


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
    value = graph.value(node.input[0])
    if not isinstance(value, Integers | Dequantised) or value.index < 0:
        raise ModelError(f"{titled(node.input[0])} must come from a DequantizeLinear, or be integers that are computed")
    if value.index in graph.flattened:
        raise ModelError(f"{titled(node.input[0])} is a flattened map: only Gemm and MatMul may take it")
    source = graph.builder.tensors[value.index]
    rank, axis = len(source.shape), attribute(node, "axis", default_axis)
    if rank < 2 or axis not in ((1, -3) if rank == 4 else (rank - 1, -1)):
        raise ModelError(f"axis must be that of the channels, not {axis}")
    return source


def _count(graph: Graph, node: onnx.NodeProto, source: Tensor) -> int:
    if len(node.input) != 2:
        raise ModelError("must have its k as an input, as from version 10 of ONNX's operators on")
    given = graph.constant(node.input[1])
    if given.size != 1 or given.dtype.kind != "i" or not 1 <= int(given.reshape(())) <= source.shape[-1]:
        most = source.shape[-1]
        raise ModelError(f"its k must be a whole number from 1 to {most}, not {given.reshape(-1)[:4].tolist()}")
    return int(given.reshape(()))


CHOICES: Mapping[str, Callable[[Graph, onnx.NodeProto], None]] = {"ArgMax": arg_max, "TopK": top_k}
"""Operators whose results are not quantised, or that have several."""
