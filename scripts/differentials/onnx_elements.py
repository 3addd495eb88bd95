"""Operators on each element by itself, on two tensors, and those that only change shapes."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from scripts.differentials.onnx_forms import activated, apply, moved
from scripts.differentials.onnx_sketch import Sketch, Value
from scripts.differentials.onnx_sums import convolution, gemm, matmul

# ---- two tensors


def other(s: Sketch, x: Value) -> Value:
    """What ``x`` is combined with: itself, an input of its shape, or one that is broadcast."""
    shape = x.shape
    if s.chance(0.15):
        return x
    if s.chance(0.3):
        shape = tuple(1 if k and s.chance(0.5) else size for k, size in enumerate(shape))
    scale = s.scales((), 0.0 if s.chance(0.2) else float(x.scale))
    return s.input(shape, x.scale * np.float32(s.pick(1, 0.5, 2, 3)) if s.chance(0.2) else scale)


def add(s: Sketch, x: Value) -> Value:
    a, b = _either_way(s, x, other(s, x))
    return apply(s, "Add", [a, b], s.result(x.shape, a.farthest + b.farthest, min(float(a.scale), float(b.scale))))


def multiply(s: Sketch, x: Value) -> Value:
    a, b = _either_way(s, x, other(s, x))
    y = s.result(x.shape, s.pick(1, 0.3) * a.farthest * b.farthest, float(a.scale) * float(b.scale))
    return apply(s, "Mul", [a, b], y)


def _either_way(s: Sketch, a: Value, b: Value) -> tuple[Value, Value]:
    return (b, a) if s.chance(0.5) else (a, b)


def concatenation(s: Sketch, x: Value) -> Value:
    axis = s.number(1, len(x.shape) - 1)
    parts = [x]
    for _ in range(s.number(1, 2)):
        shape = tuple(s.number(1, 6) if k == axis else size for k, size in enumerate(x.shape))
        parts.append(s.input(shape, x.scale if s.chance(0.3) else s.scales((), float(x.scale))))
    total = sum(part.shape[axis] for part in parts)
    shape = tuple(total if k == axis else size for k, size in enumerate(x.shape))
    y = s.like(x, shape) if s.chance(0.3) else s.result(shape, x.farthest, float(x.scale))
    return apply(s, "Concat", [parts[k] for k in s.rng.permutation(len(parts))], y, axis=axis)


# ---- functions of one byte


def sigmoid(s: Sketch, x: Value) -> Value:
    return apply(s, "Sigmoid", [x], s.result(x.shape, 1.0, 1 / 256))


def leaky_relu(s: Sketch, x: Value) -> Value:
    alpha = float(s.pick(0.01, 0.1, 0.25, s.rng.uniform(-1, 2)))
    return apply(s, "LeakyRelu", [x], s.result(x.shape, x.farthest, float(x.scale)), alpha=alpha)


def rescale(s: Sketch, x: Value) -> Value:
    """Between integers of any two types."""
    y = s.result(x.shape, x.farthest, float(x.scale))
    if s.chance(0.5):
        s.dtype = np.dtype(np.uint8)
        y = s.value("y", x.shape, y.scale, s.zero_point(s.dtype))
    return s.quantised(s.reals(x), y)


def activation(s: Sketch, x: Value) -> Value:
    """A Relu or Clip by itself."""
    y = s.like(x, x.shape) if s.chance(0.4) else s.result(x.shape, x.farthest, float(x.scale))
    return s.quantised(activated(s, s.reals(x), y), y)


def softmax(s: Sketch, x: Value) -> Value:
    lowest = int(np.iinfo(x.dtype).min)
    y = s.value("y", x.shape, 1 / 256, lowest) if s.chance(0.4) else s.result(x.shape, 1.0, 1 / 256)
    attributes: dict[str, Any] = {"opset": 13} if s.form == "integer" else {}
    return apply(s, "Softmax", [x], y, axis=s.pick(1, 1 - len(x.shape)), **attributes)


# ---- shapes


def flatten(s: Sketch, x: Value) -> Value:
    """A map as a vector, which a product takes."""
    vector = moved(s, "Flatten", x, (x.shape[0], prod(x.shape[1:])), axis=s.pick(1, -3))
    return s.pick(gemm, matmul)(s, vector)


def reshape(s: Sketch, x: Value) -> Value:
    """Likewise, or the vector as a map of one pixel, which a convolution takes."""
    elements = prod(x.shape)
    wanted = s.constant(s.name("shape"), np.array(s.pick([1, -1], [0, -1], [-1, elements])))
    vector = moved(s, "Reshape", x, (1, elements), wanted)
    if s.chance(0.5):
        return s.pick(gemm, matmul)(s, vector)
    made = matmul(s, vector)
    wanted = s.constant(s.name("shape"), np.array(s.pick([1, -1, 1, 1], [0, 0, 1, 1], [1, made.shape[1], 1, -1])))
    return convolution(s, moved(s, "Reshape", made, (*made.shape, 1, 1), wanted))
