"""Two operands that hold every pair of bytes between them: 65,536 results, of which some lie next to half-way."""

from __future__ import annotations

import numpy as np

from scripts.differentials.onnx_forms import apply
from scripts.differentials.onnx_sketch import Sketch, Value

SIDE = 16
"""A map of that many rows and columns holds every byte."""


def every_sum(s: Sketch) -> Value:
    a, b = _pair(s)
    return apply(s, "Add", [a, b], _result(s, a, (a.farthest + b.farthest) / 150, float(a.scale)))


def every_product(s: Sketch) -> Value:
    a, b = _pair(s)
    return apply(s, "Mul", [a, b], _result(s, a, a.farthest * b.farthest / 150, float(a.scale * b.scale)))


def _pair(s: Sketch) -> tuple[Value, Value]:
    """Bytes in all channels, and one byte a channel: as often as there are pixels, or for ONNX Runtime to repeat."""
    every = np.broadcast_to(_bytes(s).reshape(1, 1, SIDE, SIDE), (1, 256, SIDE, SIDE))
    own = _bytes(s).reshape(1, 256, 1, 1)
    if s.chance(0.6):
        own = np.broadcast_to(own, every.shape)
    a = s.value("x", every.shape, s.scales(), s.zero_point(s.dtype))
    b = s.value("x", own.shape, s.scales((), float(a.scale)), s.zero_point(s.dtype))
    s.inputs |= {a.name: np.ascontiguousarray(every), b.name: np.ascontiguousarray(own)}
    return (a, b) if s.chance(0.5) else (b, a)


def every_weight(s: Sketch) -> Value:
    """A convolution of one tap, whose channels have a byte each for a weight."""
    x = s.value("x", (1, 1, SIDE, SIDE), s.scales(), s.zero_point(s.dtype))
    s.inputs[x.name] = _bytes(s).reshape(x.shape)
    scales = s.scales((256,), float(s.scales())) if s.chance(0.7) else s.scales()
    w = s.value("w", (256, 1, 1, 1), scales, 0 if s.dtype == np.int8 else s.zero_point(s.dtype), axis=0)
    s.constant(w.name, _bytes(s).reshape(w.shape))
    y = _result(s, x, x.farthest * w.farthest / 150, float(np.median(x.scale * w.scale)))
    return apply(s, "Conv", [x, w], y)


def _bytes(s: Sketch) -> np.ndarray:
    return np.arange(256, dtype=np.uint8).view(s.dtype)


def _result(s: Sketch, x: Value, scale: float, step: float) -> Value:
    """Of a scale that suits, half of the time a simple multiple of the step of what is rounded."""
    whole = max(1, round(scale / step)) * step
    shape = (1, 256, SIDE, SIDE)
    return s.value("y", shape, whole if s.chance(0.5) else s.scales((), scale), s.zero_point(x.dtype))
