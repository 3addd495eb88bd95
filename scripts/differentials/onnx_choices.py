"""Operators that choose the largest elements, whose results end a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import TensorProto, ValueInfoProto, helper

from scripts.differentials.onnx_elements import leaky_relu, softmax
from scripts.differentials.onnx_sketch import TYPES, Sketch, Value

Ends = tuple[ValueInfoProto, ...]


def arg_max(s: Sketch, x: Value) -> Ends:
    axis = _axis(s, x)
    keepdims, version = s.pick(0, 1), {"select_last_index": 1} if s.chance(0.05) else {}
    made = s.node("ArgMax", [_source(s, x)], s.name("places"), axis=axis, keepdims=keepdims, **version)
    ones = (1,) if keepdims else ()
    if s.chance(0.3):
        to = s.pick(TensorProto.INT32, TensorProto.INT64, TensorProto.UINT8, TensorProto.FLOAT)
        cast = s.node("Cast", [made], s.name("cast"), to=to)
        return (helper.make_tensor_value_info(cast, to, _shaped(x.shape, axis, ones)),)
    return (helper.make_tensor_value_info(made, TensorProto.INT64, _shaped(x.shape, axis, ones)),)


def top_k(s: Sketch, x: Value) -> Ends:
    """Values and places, of which the file gives one or both; now and then values that are quantised again."""
    axis = _axis(s, x)
    length = x.shape[axis]
    k = s.pick(1, length, s.number(1, length))
    shape = _shaped(x.shape, axis, (k,))
    outputs, given = [s.name("v"), s.name("p")], s.pick((0,), (1,), (0, 1), (1, 0))
    attributes: dict[str, Any] = {"largest": 0} if s.chance(0.05) else {}
    count = s.constant(s.name("k"), np.array([k], np.int64))
    s.nodes.append(helper.make_node("TopK", [_source(s, x), count], outputs, axis=axis, **attributes))
    return tuple(_given(s, x, outputs[number], shape, values=not number) for number in given)


def _given(s: Sketch, x: Value, name: str, shape: Sequence[int], *, values: bool) -> ValueInfoProto:
    if not values:
        return helper.make_tensor_value_info(name, TensorProto.INT64, shape)
    if s.form == "integer":
        return helper.make_tensor_value_info(name, TYPES[x.dtype], shape)
    if s.chance(0.5):
        y = s.like(x, tuple(shape)) if s.chance(0.5) else s.result(tuple(shape), x.farthest, float(x.scale))
        return helper.make_tensor_value_info(s.quantised(name, y).name, TYPES[y.dtype], shape)
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def _source(s: Sketch, x: Value) -> str:
    return s.reals(x) if s.form == "pairs" else x.name


def _axis(s: Sketch, x: Value) -> int:
    """That of the channels, by either name; often another."""
    axis = s.number(0, len(x.shape) - 1) if s.chance(0.3) else 1
    return s.pick(axis, axis - len(x.shape))


def _shaped(shape: Sequence[int], axis: int, made: tuple[int, ...]) -> tuple[int, ...]:
    axis %= len(shape)
    return (*shape[:axis], *made, *shape[axis + 1 :])


def before(s: Sketch, x: Value) -> Value:
    """What is chosen from: an input, or what an operator made of it."""
    return s.pick(softmax, leaky_relu)(s, x) if s.chance(0.5) else x
