"""Models that quantise values as they come, as ``quantize_dynamic`` writes them, and sums of integers by themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto, helper

from scripts.differentials.case import Drawn
from scripts.differentials.onnx_sketch import Sketch
from scripts.differentials.onnx_windows import window

Ends = tuple[str, tuple[int, ...]]


def sums(kind: str, s: Sketch) -> Drawn:
    """MatMulInteger or ConvInteger of an input of integers, with or without zero points."""
    s.form, shape = "integer", _shape(s, kind)
    name, dtype = s.name("x"), np.dtype(s.pick(np.uint8, np.uint8, np.int8))
    s.inputs[name] = s.integers(dtype, shape, 0)
    zeros = []
    if s.chance(0.7):
        zeros.append(s.constant(s.name("zero"), np.array(s.zero_point(dtype), dtype)))
    made, made_shape = _summed(s, kind, name, shape, zeros, dtype)
    return s.written([helper.make_tensor_value_info(made, TensorProto.INT32, made_shape)])


def quantised(s: Sketch) -> Drawn:
    """All that a DynamicQuantizeLinear gives."""
    shape = tuple(s.number(1, 9) for _ in range(s.number(1, 4)))
    name = _reals(s, shape)
    outputs = [s.name("y"), s.name("scale"), s.name("zero")]
    s.nodes.append(helper.make_node("DynamicQuantizeLinear", [name], outputs))
    return s.written([helper.make_tensor_value_info(outputs[0], TensorProto.UINT8, shape)])


def layers(s: Sketch) -> Drawn:
    """One or two layers: a product or convolution of what is quantised as it comes, a bias, a Relu."""
    kind = s.pick("MatMulInteger", "ConvInteger")
    shape = _shape(s, kind)
    x = _reals(s, shape)
    for _ in range(s.number(1, 2)):
        kind = "ConvInteger" if len(shape) == 4 else "MatMulInteger"
        x, shape = _layer(s, kind, x, shape)
        if len(shape) == 4 and s.chance(0.3):
            x, shape = s.node("Flatten", [x], s.name("flat"), axis=1), (shape[0], int(np.prod(shape[1:])))
    return s.written([helper.make_tensor_value_info(x, TensorProto.FLOAT, shape)])


def _layer(s: Sketch, kind: str, x: str, shape: tuple[int, ...]) -> Ends:
    outputs = [s.name("q"), s.name("scale"), s.name("zero")]
    s.nodes.append(helper.make_node("DynamicQuantizeLinear", [x], outputs))
    made, shape = _summed(s, kind, outputs[0], shape, [outputs[2]], np.dtype(np.uint8))
    cast = s.node("Cast", [made], s.name("cast"), to=TensorProto.FLOAT)
    per_channel = s.chance(0.3)
    scales = s.scales((shape[1] if len(shape) == 4 else shape[-1],) if per_channel else (), 0.01)
    if per_channel and len(shape) == 4:
        scales = scales.reshape(1, -1, 1, 1)
    product = s.node("Mul", [outputs[1], s.constant(s.name("w_scale"), scales)], s.name("scales"))
    reals = s.node("Mul", s.pick([cast, product], [product, cast]), s.name("r"))
    if s.chance(0.6):
        bias = s.rng.normal(0, 10, (1, shape[1], 1, 1) if len(shape) == 4 else (shape[-1],)).astype(np.float32)
        reals = s.node("Add", [reals, s.constant(s.name("bias"), bias)], s.name("r"))
    return (s.node("Relu", [reals], s.name("r")) if s.chance(0.5) else reals), shape


def _shape(s: Sketch, kind: str) -> tuple[int, ...]:
    if kind == "ConvInteger":
        return 1, s.number(1, 8), s.number(1, 9), s.number(1, 9)
    inner = s.pick(s.number(1, 40), s.number(1, 400))
    return s.pick((1, inner), (s.number(1, 6), inner), (1, s.number(1, 6), inner))


def _reals(s: Sketch, shape: tuple[int, ...]) -> str:
    name = s.name("reals")
    usual = s.rng.normal(s.pick(0, 1, -1), 1, shape) * float(s.scales())
    s.inputs[name] = np.asarray(s.pick(usual, usual, np.abs(usual), -np.abs(usual), np.zeros(shape)), np.float32)
    return name


def _summed(s: Sketch, kind: str, x: str, shape: tuple[int, ...], zeros: list[str], x_dtype: np.dtype[Any]) -> Ends:
    dtype = np.dtype(s.pick(np.int8, np.uint8) if x_dtype == np.uint8 else np.int8)
    wanted: tuple[int, ...] = (shape[-1], s.number(1, 20))
    made: tuple[int, ...] = (*shape[:-1], wanted[1])
    more: dict[str, Any] = {}
    if kind == "ConvInteger":
        more, size = window(s, shape, dilated=True)
        outputs = s.number(1, 9)
        wanted, made = (outputs, shape[1], *more["kernel_shape"]), (shape[0], outputs, *size)
    w = s.constant(s.name("w"), s.integers(dtype, wanted, 0))
    if zeros:
        zeros = [*zeros, s.constant(s.name("w_zero"), np.array(s.zero_point(dtype), dtype))]
    return s.node(kind, [x, w, *zeros], s.name("sums"), **more), made
