"""ONNX's Resize: copies of the nearest pixels, or means of four.

Means of integers are cut off after the point; means of the reals of a DequantizeLinear are computed in float32, as ONNX
Runtime makes no operator on integers of them.

Source: ONNX operator specification; ONNX Runtime on x86.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
import onnx
from numpy.typing import NDArray

from tilesim.errors import ModelError
from tilesim.network.graph import Array, Tensor, titled
from tilesim.network.operators import ResizeLinear, ResizeNearest
from tilesim.network.operators.resize_linear import Place
from tilesim.network.readers import onnx_operands as operand
from tilesim.network.readers.builder import MAX_ELEMENTS, Built
from tilesim.network.readers.moving import bearable
from tilesim.network.readers.onnx_graph import MAP_AXES, Graph, attribute
from tilesim.network.readers.onnx_layouts import settled
from tilesim.network.readers.onnx_values import Constant, Dequantised, Pending, Target

Reals: TypeAlias = NDArray[np.float32]
F32 = np.float32


def _aligned(places: Reals, _scale: np.float32, old: int, new: int) -> Reals:
    return places * F32(old - 1) / F32(new - 1) if new > 1 else np.zeros(1, F32)


def _halves(places: Reals, scale: np.float32, _old: int, _new: int) -> Reals:
    return (places + F32(0.5)) / scale - F32(0.5)


COORDINATES: Mapping[str, Callable[[Reals, np.float32, int, int], Reals]] = {
    "align_corners": _aligned,
    "asymmetric": lambda places, scale, _old, _new: places / scale,
    "half_pixel": _halves,
    "pytorch_half_pixel": lambda places, scale, old, new: _halves(places, scale, old, new) if new > 1 else places,
}
"""Where in the input a place of the output lies, each step rounded to float32."""

NEAREST: Mapping[str, Callable[[Reals], Reals]] = {
    "ceil": np.ceil,
    "floor": np.floor,
    "round_prefer_ceil": lambda places: np.floor(places + F32(0.5)),
    "round_prefer_floor": lambda places: np.ceil(places - F32(0.5)),
}
"""Which position is the nearest."""


def is_linear(node: onnx.NodeProto) -> bool:
    return attribute(node, "mode", "nearest") == "linear"


def nearest(graph: Graph, node: onnx.NodeProto, x: Tensor) -> tuple[Tensor, ResizeNearest, tuple[int, ...]]:
    """The map in the usual order, what copies its pixels, and the shape that this makes."""
    x, sizes, scales = _sizes(graph, node, x)
    mode = attribute(node, "nearest_mode", "round_prefer_floor")
    if mode not in NEAREST or attribute(node, "mode", "nearest") != "nearest":
        raise ModelError(f"must have mode nearest or linear, and one of {', '.join(NEAREST)}, not {mode}")
    rows, columns = (
        tuple(int(place) for place in np.clip(NEAREST[mode](_places(node, *each)), 0, each[1] - 1))
        for each in zip(sizes, x.shape[1:3], scales, strict=True)
    )
    return x, ResizeNearest(rows, columns), (x.shape[0], *sizes, x.shape[3])


def linear(graph: Graph, node: onnx.NodeProto, x: Tensor) -> tuple[Tensor, ResizeLinear, tuple[int, ...]]:
    """The same for means of four pixels, of integers."""
    x, sizes, scales = _sizes(graph, node, x)
    rows, columns = (_weights(_places(node, *each), each[1]) for each in zip(sizes, x.shape[1:3], scales, strict=True))
    limits = np.iinfo(x.dtype)
    clamp = int(limits.min), int(limits.max)
    return x, ResizeLinear(rows, columns, clamp), (x.shape[0], *sizes, x.shape[3])


def linear_of_reals(graph: Graph, node: onnx.NodeProto, value: Dequantised) -> Pending:
    x, made, shape = linear(graph, node, graph.builder.tensors[value.index])

    def build(target: Target) -> Built:
        operand.same_dtype(value, target)
        reals = (float(value.scale), value.zero_point), (float(target.scale), target.zero_point)
        return Built(ResizeLinear(made.rows, made.columns, target.clamp, reals), (x.index,), shape)

    return Pending(build)


def _weights(places: Reals, old: int) -> tuple[Place, ...]:
    """Two positions for each place, and the weight of each: its distance from the other one."""
    within = np.clip(places, F32(0), F32(old - 1))
    before = within.astype(np.int64)
    after = np.minimum(before + 1, old - 1)
    far, near = np.abs(within - before.astype(F32)), np.abs(within - after.astype(F32))
    near, far = (np.where(before == after, F32(0.5), weight) for weight in (near, far))
    return tuple(zip(before.tolist(), after.tolist(), near.tolist(), far.tolist(), strict=True))


def _places(node: onnx.NodeProto, new: int, old: int, scale: np.float32) -> Reals:
    kind = attribute(node, "coordinate_transformation_mode", "half_pixel")
    if kind not in COORDINATES:
        raise ModelError(f"must count places by one of {', '.join(COORDINATES)}, not by {kind}")
    places = np.arange(new, dtype=F32)
    return places if scale == 1 else COORDINATES[kind](places, scale, old, new)


def _sizes(
    graph: Graph, node: onnx.NodeProto, x: Tensor
) -> tuple[Tensor, tuple[int, int], tuple[np.float32, np.float32]]:
    """The map in the usual order; how many rows and columns it gets, and by how much they grow."""
    x = graph.builder.tensors[settled(graph, x.index)]
    for name, usual in (
        ("exclude_outside", 0),
        ("antialias", 0),
        ("axes", ()),
        ("keep_aspect_ratio_policy", "stretch"),
    ):
        if attribute(node, name, usual) != usual:
            raise ModelError(f"must have {name} {usual or 'unset'}, not {attribute(node, name, usual)}")
    if len(x.shape) != 4:
        raise ModelError(f"{x.title} must have 4 axes, not shape {list(x.model_shape)}")
    old = np.array(x.model_shape)
    scales, sizes = _given(graph, node, 2 if graph.opset > 10 else 1), _given(graph, node, 3)
    if sizes.size == 4 and sizes.dtype.kind == "i":
        new, scales = sizes.astype(np.int64), sizes.astype(F32) / old.astype(F32)
    elif scales.size == 4 and scales.dtype == F32 and ((scales > 0) & (scales < MAX_ELEMENTS)).all():
        new = np.floor(scales * old.astype(F32)).astype(np.int64)
    else:
        raise ModelError("must have 4 constant scales above 0, or 4 constant sizes")
    if (new[:2] != old[:2]).any() or (new < 1).any():
        raise ModelError(
            f"must make more or fewer rows and columns, and nothing else, not {new.tolist()} of {old.tolist()}"
        )
    if (new == old).all():  # then nothing is done, whatever the scales are
        scales = np.ones(4, F32)
    bearable(tuple(new[list(np.argsort(MAP_AXES))].tolist()))
    return x, (int(new[2]), int(new[3])), (F32(scales[2]), F32(scales[3]))


def _given(graph: Graph, node: onnx.NodeProto, position: int) -> Array:
    if len(node.input) <= position or not node.input[position]:
        return np.zeros(0)
    value = graph.value(node.input[position])
    if not isinstance(value, Constant):
        raise ModelError(f"{titled(node.input[position])} must be a constant")
    return value.array.reshape(-1)
