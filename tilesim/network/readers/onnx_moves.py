"""ONNX operators that only move numbers: among integers, or among the reals of a DequantizeLinear, which are moved as
their integers are.

Source: ONNX operator specification.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TypeAlias

import numpy as np
import onnx

from tilesim.errors import ModelError
from tilesim.network.graph import Array, Operator, Tensor, titled
from tilesim.network.operators import DepthToSpace, Gather, Part, Reshape, Slice, SpaceToDepth, StridedSlice, Tile
from tilesim.network.readers import onnx_operands as operand
from tilesim.network.readers.builder import Built
from tilesim.network.readers.moving import bearable, box
from tilesim.network.readers.onnx_functions import rescaling
from tilesim.network.readers.onnx_graph import (
    MAP_AXES,
    Constant,
    Dequantised,
    Graph,
    Integers,
    Pending,
    Target,
    attribute,
)
from tilesim.network.readers.onnx_layouts import axes_of, in_file_order, settled, usual_axes
from tilesim.network.readers.onnx_resize import is_linear, linear, linear_of_reals, nearest

REQUANTISING = {"QuantizeLinear", "Relu", "Clip"}
"""What may come between reals that are moved and their integers."""


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


def move(graph: Graph, node: onnx.NodeProto) -> None:
    """Read a node of :data:`MOVES`: its outputs are what its first input is, integers or reals that they stand for."""
    value = graph.value(node.input[0])
    if not isinstance(value, Integers | Dequantised) or value.index < 0:
        raise ModelError(f"{titled(node.input[0])} must come from a DequantizeLinear, or be integers that are computed")
    if node.op_type == "Resize" and is_linear(node) and isinstance(value, Dequantised):
        graph.pend(node.output[0], linear_of_reals(graph, node, value))
        return
    made = MOVES[node.op_type](graph, node, graph.builder.tensors[value.index])
    if len(made) != len(node.output) or not all(node.output):
        raise ModelError(f"must have {len(made)} outputs, not {len(list(filter(None, node.output)))}")
    for name, moved in zip(node.output, made, strict=True):
        _keep(graph, name, value, moved)


def _keep(graph: Graph, name: str, value: Integers | Dequantised, moved: Moved) -> None:
    if isinstance(value, Dequantised) and len(graph.uses[name]) == 1 and {*graph.uses[name]} <= REQUANTISING:
        graph.pend(name, Pending(lambda wanted: _quantised(graph, value, moved, wanted), axes=moved.axes,
                                 flattened=moved.flattened))  # fmt: skip
        return
    tensor = graph.builder.tensors[moved.source]
    if isinstance(value, Integers):
        index = graph.add_integers(name, moved.built, tensor.dtype, tensor.quantisation, moved.axes)
    else:
        index = graph.add_derived(name, moved.built, tensor, moved.axes)
        graph.values[name] = replace(value, name=name, index=index)
    if moved.flattened is not None:
        graph.flattened[index] = moved.flattened


def _quantised(graph: Graph, x: Dequantised, moved: Moved, wanted: Target) -> Built:
    """What is moved, where its reals are quantised as they were; an activation may take something from them first."""
    operand.same_quantisation(x, wanted)
    if wanted.whole:
        return moved.built
    source = graph.builder.tensors[moved.source]
    clamped = graph.builder.between(f"{source.name}/clamped", rescaling(x, wanted), source.index, wanted.quantisation)
    return replace(moved.built, inputs=(clamped,))


def transpose(graph: Graph, node: onnx.NodeProto, x: Tensor) -> list[Moved]:
    """Nothing moves: only the file's axes are others."""
    x = _counted(graph, x)
    rank = len(x.shape)
    order = attribute(node, "perm", tuple(range(rank))[::-1])
    if sorted(order) != list(range(rank)):
        raise ModelError(f"perm must name each of {rank} axes once, not be {list(order)}")
    before = axes_of(x)
    return [Moved(Reshape(x.shape), x.index, x.shape, tuple(before[axis] for axis in order))]


def flatten(graph: Graph, node: onnx.NodeProto, x: Tensor) -> list[Moved]:
    shape = x.model_shape
    axis = attribute(node, "axis", 1)
    axis += len(shape) if axis < 0 else 0
    if not 0 <= axis <= len(shape):
        raise ModelError(f"axis must be one of {len(shape)}, not {attribute(node, 'axis', 1)}")
    return _renamed(graph, x, (prod(shape[:axis]), prod(shape[axis:])))


def reshape(graph: Graph, node: onnx.NodeProto, x: Tensor) -> list[Moved]:
    old = x.model_shape
    wanted = [int(size) for size in graph.constant(node.input[1]).ravel()]
    if not attribute(node, "allowzero", 0):
        wanted = [old[k] if size == 0 and k < len(old) else size for k, size in enumerate(wanted)]
    if wanted.count(-1) == 1:
        known = prod(size for size in wanted if size != -1)
        wanted = [prod(old) // known if size == -1 and known > 0 else size for size in wanted]
    if min(wanted, default=0) < 1 or prod(wanted) != prod(old):
        raise ModelError(f"cannot make shape {wanted} of shape {list(old)}")
    return _renamed(graph, x, tuple(wanted))


def squeeze(graph: Graph, node: onnx.NodeProto, x: Tensor) -> list[Moved]:
    old = x.model_shape
    named = _numbers(graph, node, 1, "axes")
    gone = {_axis(axis, len(old)) for axis in named} if named else {k for k, size in enumerate(old) if size == 1}
    if any(old[axis] != 1 for axis in gone) or len(gone) == len(old):
        raise ModelError(f"must leave out axes of one element, and not all, not {sorted(gone)} of shape {list(old)}")
    return _renamed(graph, x, tuple(size for axis, size in enumerate(old) if axis not in gone))


def unsqueeze(graph: Graph, node: onnx.NodeProto, x: Tensor) -> list[Moved]:
    old, named = [*x.model_shape], _numbers(graph, node, 1, "axes")
    rank = len(old) + len(named)
    more = {_axis(axis, rank) for axis in named}
    rest = iter(old)
    return _renamed(graph, x, tuple(1 if axis in more else next(rest) for axis in range(rank)))


def _renamed(graph: Graph, x: Tensor, model_shape: tuple[int, ...]) -> list[Moved]:
    """The elements in the file's order under another shape. A map's are put into that order first, unless they are in
    it, or a product takes them all and may count them as they are.
    """
    shape = (model_shape[0], *model_shape[2:], model_shape[1]) if len(model_shape) == 4 else model_shape
    if axes_of(x) == usual_axes(len(x.shape)) and x.index not in graph.flattened:
        usual = usual_axes(len(shape))
        if shape == x.shape or (_one_order(x.shape) and _one_order(shape)):
            return [Moved(Reshape(shape), x.index, shape, usual)]
        if shape == (x.shape[0], prod(x.shape[1:])) and len(x.shape) == 4:
            return [Moved(Reshape(shape), x.index, shape, usual, (x.shape[3], *x.shape[1:3]))]
    source = in_file_order(graph, x.index)
    return [Moved(Reshape(model_shape), source.index, model_shape, tuple(range(len(model_shape))))]


def _one_order(shape: tuple[int, ...]) -> bool:
    """Whether a map's elements come in the same order with channels first and last."""
    return len(shape) != 4 or shape[3] == 1 or shape[1] * shape[2] == 1


def split(graph: Graph, node: onnx.NodeProto, x: Tensor) -> list[Moved]:
    x = _counted(graph, x)
    axis = axes_of(x)[_axis(attribute(node, "axis", 0), len(x.shape))]
    length, count = x.shape[axis], len(node.output)
    part = -(-length // count)
    sizes = _numbers(graph, node, 1, "split") or [part] * (count - 1) + [length - part * (count - 1)]
    if min(sizes) < 1 or sum(sizes) != length or len(sizes) != count:
        raise ModelError(f"must cut the {length} elements of its axis into {count} sizes, not into {sizes}")
    starts = np.cumsum([0, *sizes[:-1]]).tolist()
    return [_boxed(x, box(x, axis, start, size)) for start, size in zip(starts, sizes, strict=True)]


def _boxed(x: Tensor, built: Built) -> Moved:
    return Moved(built.operator, built.inputs[0], built.shape, axes_of(x))


def slice_(graph: Graph, node: onnx.NodeProto, x: Tensor) -> list[Moved]:
    x = _counted(graph, x)
    starts, ends = (_numbers(graph, node, k, name) for k, name in ((1, "starts"), (2, "ends")))
    axes = _numbers(graph, node, 3, "axes") or [*range(len(starts))]
    steps = _numbers(graph, node, 4, "steps") or [1] * len(starts)
    if len({len(starts), len(ends), len(axes), len(steps)}) > 1 or 0 in steps:
        raise ModelError("must have as many starts as ends, axes and steps, and no step of 0")
    taken = [range(length) for length in x.shape]
    for start, end, named, step in zip(starts, ends, axes, steps, strict=True):
        axis = axes_of(x)[_axis(named, len(x.shape))]
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
    given, axis = graph.constant(node.input[1]), _axis(attribute(node, "axis", 0), len(x.shape))
    length = x.model_shape[axis]
    if given.dtype.kind != "i" or not given.size or not -length <= given.min() <= given.max() < length:
        raise ModelError(f"its places must be whole numbers from {-length} to {length - 1}")
    x = _counted(graph, x) if given.ndim == 1 else in_file_order(graph, x.index)
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


def tile(graph: Graph, node: onnx.NodeProto, x: Tensor) -> list[Moved]:
    x = _counted(graph, x)
    given = _numbers(graph, node, 1, "repeats")
    if len(given) != len(x.shape) or min(given) < 1:
        raise ModelError(f"its repeats must be {len(x.shape)} numbers of at least 1, not {given}")
    times = [1] * len(given)
    for axis, count in zip(axes_of(x), given, strict=True):
        times[axis] = count
    shape = bearable(tuple(length * count for length, count in zip(x.shape, times, strict=True)))
    return [Moved(Tile(tuple(times), x.shape[0]), x.index, shape, axes_of(x))]


def depth_to_space(graph: Graph, node: onnx.NodeProto, x: Tensor) -> list[Moved]:
    x, block, mode = _map(graph, x), attribute(node, "blocksize", 0), attribute(node, "mode", "DCR")
    n, height, width, channels = x.shape
    if block < 1 or channels % block**2 or mode not in {"DCR", "CRD"}:
        raise ModelError(
            f"must make blocks of {block} by {block} of {channels} channels, by mode DCR or CRD, not {mode}"
        )
    shape = (n, height * block, width * block, channels // block**2)
    return [Moved(DepthToSpace(block, mode == "CRD"), x.index, shape, MAP_AXES)]


def space_to_depth(graph: Graph, node: onnx.NodeProto, x: Tensor) -> list[Moved]:
    x, block = _map(graph, x), attribute(node, "blocksize", 0)
    n, height, width, channels = x.shape
    if block < 1 or height % block or width % block:
        raise ModelError(f"must make channels of blocks of {block} by {block} of {height} rows and {width} columns")
    shape = (n, height // block, width // block, channels * block**2)
    return [Moved(SpaceToDepth(block), x.index, shape, MAP_AXES)]


def resize(graph: Graph, node: onnx.NodeProto, x: Tensor) -> list[Moved]:
    source, operator, shape = (linear if is_linear(node) else nearest)(graph, node, x)
    return [Moved(operator, source.index, shape, MAP_AXES)]


def _map(graph: Graph, x: Tensor) -> Tensor:
    x = graph.builder.tensors[settled(graph, x.index)]
    if len(x.shape) != 4:
        raise ModelError(f"{x.title} must have 4 axes, not shape {list(x.model_shape)}")
    return x


def _counted(graph: Graph, x: Tensor) -> Tensor:
    """A tensor that counts its elements as the file does along each axis."""
    return graph.builder.tensors[settled(graph, x.index)] if x.index in graph.flattened else x


def _numbers(graph: Graph, node: onnx.NodeProto, position: int, name: str) -> list[int]:
    """Whole numbers: an input, as newer versions of the operator have it, or an attribute; nothing if there is none."""
    if len(node.input) <= position or not node.input[position]:
        return [*attribute(node, name, ())]
    value = graph.value(node.input[position])
    given: Array = value.array if isinstance(value, Constant) else np.zeros(0)
    if given.dtype.kind != "i":
        raise ModelError(f"its {name} must be constant whole numbers")
    return [int(number) for number in given.reshape(-1)]


def _axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise ModelError(f"axis must be from {-rank} to {rank - 1}, not {axis}")
    return axis % rank


MOVES: Mapping[str, Mover] = {
    "DepthToSpace": depth_to_space,
    "Flatten": flatten,
    "Gather": gather,
    "Reshape": reshape,
    "Resize": resize,
    "Slice": slice_,
    "SpaceToDepth": space_to_depth,
    "Split": split,
    "Squeeze": squeeze,
    "Tile": tile,
    "Transpose": transpose,
    "Unsqueeze": unsqueeze,
}
"""Operators that only move numbers, and so may stand among integers without a DequantizeLinear."""
