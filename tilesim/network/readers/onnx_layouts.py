"""In what order a tensor's axes lie. Maps are channels last, whatever the file says; a Transpose of the file moves
nothing, but leaves a tensor in another order than others of its kind. What needs the usual order gets it here.
"""

from __future__ import annotations

from dataclasses import replace

from tilesim.network.graph import Node, Tensor
from tilesim.network.operators import Reshape
from tilesim.network.readers.builder import Built
from tilesim.network.readers.moving import transposed
from tilesim.network.readers.onnx_graph import MAP_AXES, Graph

Axes = tuple[int, ...]


def usual_axes(rank: int) -> Axes:
    """The canonical axis of each axis of the file, of a tensor of so many."""
    return MAP_AXES if rank == 4 else tuple(range(rank))


def axes_of(tensor: Tensor) -> Axes:
    """The canonical axis of each axis of the file."""
    return tensor.model_axes or tuple(range(len(tensor.shape)))


def settled(graph: Graph, index: int) -> int:
    """A tensor as what works on its axes takes it: a map with channels last, anything else as in the file."""
    index = _unflattened(graph, index)
    return _ordered(graph, index, usual_axes(len(graph.builder.tensors[index].shape)))


def in_file_order(graph: Graph, index: int) -> Tensor:
    """A tensor whose axes lie as the file says."""
    index = _unflattened(graph, index)
    rank = len(graph.builder.tensors[index].shape)
    return graph.builder.tensors[_ordered(graph, index, tuple(range(rank)))]


def _ordered(graph: Graph, index: int, wanted: Axes) -> int:
    tensor = graph.builder.tensors[index]
    now = axes_of(tensor)
    if now == wanted:
        return index
    if (index, wanted) not in graph.turned:
        axes = tuple(now[wanted.index(axis)] for axis in range(len(wanted)))
        made = _added(graph, f"{tensor.name}/turned", tensor, transposed(tensor, axes), wanted)
        graph.turned[index, wanted] = made
    return graph.turned[index, wanted]


def _unflattened(graph: Graph, index: int) -> int:
    """A vector that a map was flattened into, as the file counts it."""
    if index not in graph.flattened:
        return index
    if (index, ()) not in graph.turned:
        vector, (channels, height, width) = graph.builder.tensors[index], graph.flattened[index]
        last = len(vector.shape) - 1
        shape = (vector.shape[0], height, width, channels)
        as_map = _added(graph, f"{vector.name}/map", vector, Built(Reshape(shape), (index,), shape), MAP_AXES)
        first = in_file_order(graph, as_map)
        flat = Built(Reshape(vector.shape), (first.index,), vector.shape)
        graph.turned[index, ()] = _added(graph, f"{vector.name}/counted", vector, flat, tuple(range(last + 1)))
    return graph.turned[index, ()]


def _added(graph: Graph, name: str, like: Tensor, built: Built, axes: Axes) -> int:
    """A tensor that the file does not hold, with the numbers of another one."""
    index = graph.builder.placed(name, like, built.shape)
    own = None if axes == tuple(range(len(axes))) else axes
    graph.builder.tensors[index] = replace(graph.builder.tensors[index], model_axes=own)
    graph.builder.nodes.append(Node(name, built.operator, built.inputs, index))
    return index
