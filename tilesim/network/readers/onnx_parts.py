"""ONNX operators that take a part of a tensor, and what all that only move numbers share.

Source: ONNX operator specification.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import onnx

from tilesim.errors import ModelError
from tilesim.network.graph import Array, Operator, Tensor
from tilesim.network.operators import Gather, Part, Reshape, Slice, StridedSlice
from tilesim.network.readers.builder import Built
from tilesim.network.readers.moving import bearable, box
from tilesim.network.readers.onnx_graph import Graph, attribute
from tilesim.network.readers.onnx_layouts import axes_of, in_file_order, settled
from tilesim.network.readers.onnx_values import Constant


@dataclass(frozen=True)
class Moved:
    """What becomes of a tensor: ``axes`` are the canonical ones of the file's, ``flattened`` says the map (C, H, W)
    that a vector was, if the file counts it in another order.
    """

    operator: Operator
    source: int
    shape: tuple[int, ...]
    axes: tuple[int, ...]
    flattened: tuple[int, ...] | None = None

    @property
    def built(self) -> Built:
        return Built(self.operator, (self.source,), self.shape)


Mover: TypeAlias = Callable[[Graph, onnx.NodeProto, Tensor], Sequence[Moved]]


def counted(graph: Graph, x: Tensor) -> Tensor:
    """A tensor that counts its elements as the file does along each axis."""
    return graph.builder.tensors[settled(graph, x.index)] if x.index in graph.flattened else x


def numbers(graph: Graph, node: onnx.NodeProto, position: int, name: str) -> list[int]:
    """Whole numbers: an input, as newer versions of the operator have it, or an attribute; nothing if there is none."""
    if len(node.input) <= position or not node.input[position]:
        return [*attribute(node, name, ())]
    value = graph.value(node.input[position])
    given: Array = value.array if isinstance(value, Constant) else np.zeros(0)
    if given.dtype.kind != "i":
        raise ModelError(f"its {name} must be constant whole numbers")
    return [int(number) for number in given.reshape(-1)]


def axis_of(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise ModelError(f"axis must be from {-rank} to {rank - 1}, not {axis}")
    return axis % rank


def split(graph: Graph, node: onnx.NodeProto, x: Tensor) -> list[Moved]:
    x = counted(graph, x)
    axis = axes_of(x)[axis_of(attribute(node, "axis", 0), len(x.shape))]
    length, count = x.shape[axis], len(node.output)
    part = -(-length // count)
    sizes = numbers(graph, node, 1, "split") or [part] * (count - 1) + [length - part * (count - 1)]
    if min(sizes) < 1 or sum(sizes) != length or len(sizes) != count:
        raise ModelError(f"must cut the {length} elements of its axis into {count} sizes, not into {sizes}")
    starts = np.cumsum([0, *sizes[:-1]]).tolist()
    return [_boxed(x, box(x, axis, start, size)) for start, size in zip(starts, sizes, strict=True)]


def _boxed(x: Tensor, built: Built) -> Moved:
    return Moved(built.operator, built.inputs[0], built.shape, axes_of(x))


def slice_(graph: Graph, node: onnx.NodeProto, x: Tensor) -> list[Moved]:
    x = counted(graph, x)
    starts, ends = (numbers(graph, node, k, name) for k, name in ((1, "starts"), (2, "ends")))
    axes = numbers(graph, node, 3, "axes") or [*range(len(starts))]
    steps = numbers(graph, node, 4, "steps") or [1] * len(starts)
    if len({len(starts), len(ends), len(axes), len(steps)}) > 1 or 0 in steps:
        raise ModelError("must have as many starts as ends, axes and steps, and no step of 0")
    taken = [range(length) for length in x.shape]
    for start, end, named, step in zip(starts, ends, axes, steps, strict=True):
        axis = axes_of(x)[axis_of(named, len(x.shape))]
        taken[axis] = range(*slice(start, end, step).indices(x.shape[axis]))
        if not taken[axis]:
            raise ModelError(f"must take some of the {x.shape[axis]} elements of axis {named}, not none")
    return [_taken(graph, node, x, taken)]


def _taken(graph: Graph, node: onnx.NodeProto, x: Tensor, taken: list[range]) -> Moved:
    """Along each axis the elements of a range; what is cut along the first one is a layer of its own."""
    first, *rest = taken
    size = tuple(map(len, taken))
    whole = [axis == range(length) for axis, length in zip(taken, x.shape, strict=True)]
    if not whole[0]:
        part = Part(x.shape[0], first.start, first.step, len(first))
        if all(whole[1:]):
            return Moved(part, x.index, size, axes_of(x))
        axes = x.model_axes
        x = graph.builder.derived(f"{node.output[0]}/part", part, x, (len(first), *x.shape[1:]))
        x = graph.builder.tensors[x.index] = replace(x, model_axes=axes)
    begin, steps = (0, *(axis.start for axis in rest)), (1, *(axis.step for axis in rest))
    operator: Operator = Slice(begin, size) if set(steps) == {1} else StridedSlice(begin, steps, size, size)
    return Moved(operator, x.index, size, axes_of(x))


def gather(graph: Graph, node: onnx.NodeProto, x: Tensor) -> list[Moved]:
    """By places that are constants; where these have not one axis, the tensor is in the file's order first."""
    given, axis = graph.constant(node.input[1]), axis_of(attribute(node, "axis", 0), len(x.shape))
    length = x.model_shape[axis]
    if given.dtype.kind != "i" or not given.size or not -length <= given.min() <= given.max() < length:
        raise ModelError(f"its places must be whole numbers from {-length} to {length - 1}")
    x = counted(graph, x) if given.ndim == 1 else in_file_order(graph, x.index)
    own = axes_of(x)
    places = graph.builder.constant(node.input[1], np.where(given < 0, given + length, given).astype(np.int64))
    shape = bearable((*x.shape[: own[axis]], *given.shape, *x.shape[own[axis] + 1 :]))
    if not shape:
        raise ModelError("must leave at least 1 axis")
    axes = own if given.ndim == 1 else tuple(range(len(shape)))
    operator = Gather(own[axis], 0, (x.shape[0], 0))
    return [_of_two(graph, node, x, places, Moved(operator, x.index, shape, axes))]


def _of_two(graph: Graph, node: onnx.NodeProto, x: Tensor, places: int, moved: Moved) -> Moved:
    """A node of two inputs, and after it nothing."""
    index = graph.add_derived(
        f"{node.output[0]}/gathered", replace(moved.built, inputs=(x.index, places)), x, moved.axes
    )
    return replace(moved, operator=Reshape(moved.shape), source=index)
