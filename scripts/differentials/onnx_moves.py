"""Operators that put what a tensor has into other places, other shapes, other tensors; in chains, before and after
operators that compute.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import prod
from typing import Any, TypeAlias

import numpy as np
import onnx
from onnx import TensorProto, helper

from scripts.differentials.onnx_elements import add, leaky_relu
from scripts.differentials.onnx_forms import activated, apply
from scripts.differentials.onnx_sketch import TYPES, Sketch, Value
from scripts.differentials.onnx_sums import convolution, gemm

COORDINATES = ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")
Mover: TypeAlias = Callable[[Sketch, Value], Value]


def through(s: Sketch, kind: str, x: Value, shape: tuple[int, ...], *more: str, **attributes: Any) -> Value:
    """``x`` through an operator that moves; among pairs now and then its reals are moved again before they are
    quantised.
    """
    if s.form == "integer":
        y = s.like(x, shape)
        s.node(kind, [x.name, *more], y.name, **attributes)
        return y
    made = s.node(kind, [s.reals(x), *more], s.name("r"), **attributes)
    if len(shape) > 1 and s.chance(0.3):
        order = s.rng.permutation(len(shape)).tolist()
        made, shape = s.node("Transpose", [made], s.name("r"), perm=order), tuple(shape[axis] for axis in order)
    y = s.like(x, shape)
    return s.quantised(activated(s, made, y) if s.chance(0.1) else made, y)


def numbers(s: Sketch, values: Any) -> str:
    return s.constant(s.name("n"), np.array(values, np.int64))


def axis_of(s: Sketch, rank: int) -> tuple[int, int]:
    """An axis, and one of its two names."""
    axis = s.number(0, rank - 1) if s.chance(0.3) else s.number(min(1, rank - 1), rank - 1)
    return axis, s.pick(axis, axis - rank)


def transpose(s: Sketch, x: Value) -> Value:
    order = s.pick(
        s.rng.permutation(len(x.shape)).tolist(),
        [0, 2, 3, 1] if len(x.shape) == 4 else [0, *range(len(x.shape))[:0:-1]],
    )
    return through(s, "Transpose", x, tuple(x.shape[axis] for axis in order), perm=order)


def reshape(s: Sketch, x: Value) -> Value:
    count = prod(x.shape)
    sizes = [size for size in range(1, count + 1) if count % size == 0]
    first = s.pick(*sizes)
    second = s.pick(*(size for size in sizes if count // first % size == 0))
    shape = s.pick(
        (1, count), (1, first, count // first), (1, first, second, count // first // second), (first, count // first)
    )
    named = [*shape]
    if s.chance(0.4):
        named[s.number(0, len(named) - 1)] = -1
    return through(s, "Reshape", x, shape, numbers(s, named))


def flatten(s: Sketch, x: Value) -> Value:
    axis = s.number(0, len(x.shape))
    return through(s, "Flatten", x, (prod(x.shape[:axis]), prod(x.shape[axis:])), axis=axis)


def squeeze(s: Sketch, x: Value) -> Value:
    ones = [axis for axis, length in enumerate(x.shape) if length == 1 and axis] or None
    if ones is None:
        return unsqueeze(s, x)
    gone = [axis for axis in ones if s.chance(0.6)] or ones[:1]
    shape = tuple(length for axis, length in enumerate(x.shape) if axis not in gone)
    return through(s, "Squeeze", x, shape, numbers(s, gone))


def unsqueeze(s: Sketch, x: Value) -> Value:
    axis, named = axis_of(s, len(x.shape) + 1)
    return through(s, "Unsqueeze", x, (*x.shape[:axis], 1, *x.shape[axis:]), numbers(s, [named]))


def slice_(s: Sketch, x: Value) -> Value:
    """Forwards, backwards, beyond the ends; axes that are not named stay whole."""
    shape, parts = [*x.shape], []
    for axis, length in enumerate(x.shape):
        step, start, end = s.pick(1, 1, 2, -1, -2), s.number(-length - 2, length + 2), s.number(-length - 2, length + 2)
        if s.chance(0.2):
            end = 1 << 62 if step > 0 else -(1 << 62)
        taken = range(*slice(start, end, step).indices(length))
        if taken and s.chance(0.5):
            parts.append((start, end, s.pick(axis, axis - len(x.shape)), step))
            shape[axis] = len(taken)
    if not parts:
        return transpose(s, x)
    inputs = [numbers(s, column) for column in zip(*parts, strict=True)]
    return through(s, "Slice", x, tuple(shape), *inputs)


def gather(s: Sketch, x: Value) -> Value:
    axis, named = axis_of(s, len(x.shape))
    places = s.rng.integers(-x.shape[axis], x.shape[axis], [s.number(1, 4) for _ in range(s.pick(0, 1, 1, 2))])
    shape = (*x.shape[:axis], *places.shape, *x.shape[axis + 1 :])
    if not shape or len(shape) > 4:
        return transpose(s, x)
    return through(s, "Gather", x, shape, numbers(s, places), axis=named)


def tile(s: Sketch, x: Value) -> Value:
    times = [s.pick(1, 1, 2, 3) for _ in x.shape]
    shape = tuple(length * count for length, count in zip(x.shape, times, strict=True))
    return through(s, "Tile", x, shape, numbers(s, times))


def concatenation(s: Sketch, x: Value) -> Value:
    """Along any axis, of what has one quantisation."""
    axis, named = axis_of(s, len(x.shape))
    parts = [x, *(s.pick(x, s.like_input(x)) for _ in range(s.number(0, 2)))]
    shape = (*x.shape[:axis], len(parts) * x.shape[axis], *x.shape[axis + 1 :])
    return apply(s, "Concat", parts, s.like(x, shape), axis=named)


def depth_to_space(s: Sketch, x: Value) -> Value:
    n, channels, height, width = x.shape
    blocks = [block for block in (1, 2, 3) if channels % block**2 == 0]
    block = s.pick(*blocks)
    shape = (n, channels // block**2, height * block, width * block)
    return through(s, "DepthToSpace", x, shape, blocksize=block, mode=s.pick("DCR", "CRD"))


def space_to_depth(s: Sketch, x: Value) -> Value:
    n, channels, height, width = x.shape
    block = s.pick(*(block for block in (1, 2, 3) if height % block == 0 and width % block == 0))
    return through(s, "SpaceToDepth", x, (n, channels * block**2, height // block, width // block), blocksize=block)


def split(s: Sketch, x: Value) -> tuple[Value, ...]:
    """Of sizes that are given, or equal ones."""
    axis, named = axis_of(s, len(x.shape))
    cuts = sorted({s.number(1, x.shape[axis]) for _ in range(s.number(0, 2))} - {x.shape[axis]})
    sizes = [int(size) for size in np.diff([0, *cuts, x.shape[axis]])]
    source = s.reals(x) if s.form == "pairs" else x.name
    shapes = [(*x.shape[:axis], size, *x.shape[axis + 1 :]) for size in sizes]
    parts = [s.like(x, shape) for shape in shapes]
    names = [s.name("r") if s.form == "pairs" else part.name for part in parts]
    s.nodes.append(helper.make_node("Split", [source, numbers(s, sizes)], names, axis=named))
    return tuple(
        s.quantised(name, part) if s.form == "pairs" else part for name, part in zip(names, parts, strict=True)
    )


def resize(mode: str, s: Sketch, x: Value) -> Value:
    """By scales or to sizes; means of reals get a scale of their own."""
    n, channels, height, width = x.shape
    size = [s.pick(s.number(1, 3 * length), 2 * length, length) for length in (height, width)]
    more: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": s.pick(*COORDINATES)}
    if mode == "nearest":
        more["nearest_mode"] = s.pick("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
    if s.chance(0.5):
        scales = np.array([1, 1, *(s.pick(1, 2, 0.5, 1.5, 1.1, s.rng.uniform(0.4, 3)) for _ in size)], np.float32)
        size = [
            max(1, int(np.floor(scale * np.float32(length))))
            for scale, length in zip(scales[2:], (height, width), strict=True)
        ]
        scales[2:] = np.maximum(scales[2:], 1 / np.array([height, width], np.float32))
        given = ["", s.constant(s.name("n"), scales)]
    else:
        given = ["", "", numbers(s, [n, channels, *size])]
    shape = (n, channels, *size)
    if mode == "nearest" or s.form == "integer":
        return through(s, "Resize", x, shape, *given, **more)
    y = s.like(x, shape) if s.chance(0.5) else s.result(shape, x.farthest, float(x.scale))
    made = s.node("Resize", [s.reals(x), *given], s.name("r"), **more)
    return s.quantised(activated(s, made, y) if s.chance(0.2) else made, y)


def shape(s: Sketch, x: Value) -> Value:
    """A reshape to a shape that the model computes, as exporters write it."""
    lengths = s.node("Shape", [s.reals(x) if s.form == "pairs" else x.name], s.name("shape"))
    first = s.node("Gather", [lengths, s.constant(s.name("n"), np.array(0, np.int64))], s.name("first"), axis=0)
    one = s.node("Unsqueeze", [first, numbers(s, [0])], s.name("one"))
    rest = s.node("Cast", [s.constant(s.name("n"), np.array([-1], np.int32))], s.name("rest"), to=TensorProto.INT64)
    wanted = s.node("Concat", [one, rest], s.name("wanted"), axis=0)
    return through(s, "Reshape", x, (x.shape[0], prod(x.shape[1:])), wanted)


OF_ANY: Mapping[str, Mover] = {
    "any_concat": concatenation,
    "gather": gather,
    "slice": slice_,
    "squeeze": squeeze,
    "tile": tile,
    "transpose": transpose,
    "unsqueeze": unsqueeze,
}
SHAPES: Mapping[str, Mover] = {"any_flatten": flatten, "any_reshape": reshape, "shape": shape}
OF_MAPS: Mapping[str, Mover] = {
    "depth_to_space": depth_to_space,
    "resize_linear": partial(resize, "linear"),
    "resize_nearest": partial(resize, "nearest"),
    "space_to_depth": space_to_depth,
}
MOVERS: Mapping[str, Mover] = {**OF_ANY, **SHAPES, **OF_MAPS}


def chain(first: Mover, s: Sketch, x: Value) -> Value:
    """A mover, and then up to three more operators, of which some compute."""
    x = first(s, x)
    for _ in range(s.number(0, 3)):
        x = s.pick(*following(x))(s, x)
    return x


def following(x: Value) -> tuple[Mover, ...]:
    """What may come next."""
    computing: list[Mover] = [leaky_relu] if x.dtype == np.int8 else []
    if len(x.shape) == 4 and max(x.shape) < 60:
        computing += [add, convolution]
    if len(x.shape) == 2 and x.shape[0] == 1 and x.shape[1] < 1500:
        computing += [gemm]
    movers = [*OF_ANY.values(), *SHAPES.values()] if prod(x.shape) < 20_000 else [transpose]
    return (*movers, *computing, *computing)


def ended(x: Value) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(x.name, TYPES.get(x.dtype, TensorProto.INT64), x.shape)
