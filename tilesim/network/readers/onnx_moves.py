"""ONNX operators that only move numbers: among integers, or among the reals of a DequantizeLinear, which are moved as
their integers are.

Source: ONNX operator specification.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

import onnx

from tilesim.errors import ModelError
from tilesim.network.graph import Tensor, titled
from tilesim.network.operators import DepthToSpace, Reshape, SpaceToDepth, Tile
from tilesim.network.readers import onnx_operands as operand
from tilesim.network.readers.builder import Built
from tilesim.network.readers.moving import bearable
from tilesim.network.readers.onnx_functions import rescaling
from tilesim.network.readers.onnx_graph import MAP_AXES, Graph, attribute
from tilesim.network.readers.onnx_layouts import axes_of, in_file_order, settled, usual_axes
from tilesim.network.readers.onnx_parts import Moved, Mover, axis_of, counted, gather, numbers, slice_, split
from tilesim.network.readers.onnx_resize import is_linear, linear, linear_of_reals, nearest
from tilesim.network.readers.onnx_values import Dequantised, Integers, Pending, Reals, Target

REQUANTISING = {"QuantizeLinear", "Relu", "Clip"}
"""What may come between reals that are moved and their integers."""


def move(graph: Graph, node: onnx.NodeProto) -> None:
    """Read a node of :data:`MOVES`: its outputs are what its first input is, integers or reals that they stand for."""
    value = graph.value(node.input[0])
    if not isinstance(value, Integers | Dequantised | Reals) or value.index in {-1, *graph.real_inputs}:
        raise ModelError(f"{titled(node.input[0])} must come from a DequantizeLinear, or be integers that are computed")
    if node.op_type == "Resize" and is_linear(node) and isinstance(value, Dequantised):
        graph.pend(node.output[0], linear_of_reals(graph, node, value))
        return
    x = in_file_order(graph, value.index) if isinstance(value, Reals) else graph.builder.tensors[value.index]
    made = MOVES[node.op_type](graph, node, x)
    if len(made) != len(node.output) or not all(node.output):
        raise ModelError(f"must have {len(made)} outputs, not {len(list(filter(None, node.output)))}")
    for name, moved in zip(node.output, made, strict=True):
        _keep(graph, name, value, moved)


def _keep(graph: Graph, name: str, value: Integers | Dequantised | Reals, moved: Moved) -> None:
    if isinstance(value, Dequantised) and len(graph.uses[name]) == 1 and {*graph.uses[name]} <= REQUANTISING:
        graph.pend(name, Pending(lambda wanted: _quantised(graph, value, moved, wanted), axes=moved.axes,
                                 flattened=moved.flattened))  # fmt: skip
        return
    tensor = graph.builder.tensors[moved.source]
    if not isinstance(value, Dequantised):
        index = graph.add_integers(name, moved.built, tensor.dtype, tensor.quantisation, moved.axes)
    else:
        index = graph.add_derived(name, moved.built, tensor, moved.axes)
        graph.values[name] = replace(value, name=name, index=index)
    if isinstance(value, Reals):
        graph.values[name] = Reals(index)
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
    x = counted(graph, x)
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
    named = numbers(graph, node, 1, "axes")
    gone = {axis_of(axis, len(old)) for axis in named} if named else {k for k, size in enumerate(old) if size == 1}
    if any(old[axis] != 1 for axis in gone) or len(gone) == len(old):
        raise ModelError(f"must leave out axes of one element, and not all, not {sorted(gone)} of shape {list(old)}")
    return _renamed(graph, x, tuple(size for axis, size in enumerate(old) if axis not in gone))


def unsqueeze(graph: Graph, node: onnx.NodeProto, x: Tensor) -> list[Moved]:
    old, named = [*x.model_shape], numbers(graph, node, 1, "axes")
    rank = len(old) + len(named)
    more = {axis_of(axis, rank) for axis in named}
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


def tile(graph: Graph, node: onnx.NodeProto, x: Tensor) -> list[Moved]:
    x = counted(graph, x)
    given = numbers(graph, node, 1, "repeats")
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
