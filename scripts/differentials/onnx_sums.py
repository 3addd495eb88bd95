"""Convolutions and products with a matrix, with random weights."""

from __future__ import annotations

from math import prod, sqrt
from typing import Any

import numpy as np

from scripts.differentials.onnx_forms import apply
from scripts.differentials.onnx_sketch import Sketch, Value
from scripts.differentials.onnx_windows import window

TYPICAL = 74.0
"""Root mean square of 8-bit integers, less their middle."""


def convolution(s: Sketch, x: Value) -> Value:
    divisors = [groups for groups in range(1, x.shape[1] + 1) if x.shape[1] % groups == 0]
    groups = s.pick(1, 1, *divisors)
    return _convolution(s, x, groups, groups * s.number(1, max(1, 18 // groups)))


def depthwise_convolution(s: Sketch, x: Value) -> Value:
    return _convolution(s, x, x.shape[1], x.shape[1] * s.pick(1, 1, 2))


def _convolution(s: Sketch, x: Value, groups: int, outputs: int) -> Value:
    attributes, size = window(s, x.shape, dilated=True)
    shape = (outputs, x.shape[1] // groups, *attributes["kernel_shape"])
    w, bias = weights(s, x, shape, 0)
    y = _result(s, x, w, (x.shape[0], outputs, *size), prod(shape[1:]))
    return apply(s, "Conv", [x, w], y, bias, group=groups, **attributes)


def gemm(s: Sketch, x: Value) -> Value:
    return _product(s, x, "Gemm", transposed=s.chance(0.5))


def matmul(s: Sketch, x: Value) -> Value:
    return _product(s, x, "MatMul", transposed=False)


def _product(s: Sketch, x: Value, kind: str, *, transposed: bool) -> Value:
    inner, outputs = x.shape[-1], s.number(1, 40)
    w, bias = weights(s, x, (outputs, inner) if transposed else (inner, outputs), 0 if transposed else 1)
    y = _result(s, x, w, (*x.shape[:-1], outputs), inner)
    more: dict[str, Any] = {"transB": 1} if transposed else {}
    return apply(s, kind, [x, w], y, bias if kind == "Gemm" else "", **more)


def weights(s: Sketch, x: Value, shape: tuple[int, ...], axis: int) -> tuple[Value, str]:
    """Constant weights with one scale or one a channel of ``axis``, and the name of a bias, or nothing.

    Unsigned weights come with unsigned activations only: ONNX Runtime has no kernel for the other pair.
    """
    dtype = np.dtype(s.pick(np.int8, np.uint8) if x.dtype == np.uint8 else np.int8)
    scales = s.scales((shape[axis],), float(s.scales())) if s.chance(0.5) else s.scales()
    zero_point = 0 if dtype == np.int8 and s.chance(0.7) else s.zero_point(dtype)
    w = s.value("w", shape, scales, zero_point, dtype, axis)
    s.constant(w.name, s.integers(dtype, shape, zero_point))
    if s.chance(0.3):
        return w, ""
    largest = int(10 ** s.rng.uniform(1, 9.3))
    return w, s.constant(s.name("bias"), s.rng.integers(-largest, largest, shape[axis]).astype(np.int32))


def _result(s: Sketch, x: Value, w: Value, shape: tuple[int, ...], taps: int) -> Value:
    step = float(np.median(x.scale * w.scale))
    return s.result(shape, step * TYPICAL**2 * sqrt(taps) * 2, step)
