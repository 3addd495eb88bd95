"""An operator in the form that a sketch is of, and the activation after it."""

from __future__ import annotations

from typing import Any

import numpy as np

from scripts.differentials.onnx_sketch import Sketch, Value

SUMS = ("AveragePool", "Conv", "Gemm", "GlobalAveragePool", "MatMul", "Softmax")
"""Operators that get no activation that takes something from their output's range: with one, ONNX Runtime computes them
in float32, in an order of its own that differs between processors. There tilesim refuses pools and softmax, and clamps
the integer result of the others.
"""
ACTIVATED = 0.3
"""How often an operator among pairs has an activation."""


def apply(s: Sketch, kind: str, operands: list[Value], y: Value, bias: str = "", **attributes: Any) -> Value:
    """``y``, as what the operator gives."""
    if s.form == "pairs":
        return _pairs(s, kind, operands, y, bias, **attributes)
    given, wanted = [part for x in operands for part in x.parts], y.parts[1:]
    if kind == "Concat":
        given, wanted = [*wanted, *given], []
    elif kind == "Gemm":
        given = [*given, bias]
    last = [bias] if bias and kind == "Conv" else []
    s.node("QGemm" if kind == "Gemm" else f"QLinear{kind}", [*given, *wanted, *last], y.name, **attributes)
    return y


def _pairs(s: Sketch, kind: str, operands: list[Value], y: Value, bias: str, **attributes: Any) -> Value:
    given = [s.reals(x) for x in operands]
    if bias:
        x, w = operands
        scale = np.asarray(x.scale * w.scale, np.float32)
        parts = [bias, s.constant(f"{bias}_scale", scale), s.constant(f"{bias}_zero", np.zeros(scale.shape, np.int32))]
        given.append(s.node("DequantizeLinear", parts, s.name("r"), **({"axis": 0} if scale.ndim else {})))
    made = s.node(kind, given, s.name("r"), **attributes)
    if s.chance(ACTIVATED):
        made = absorbed(s, made, y) if kind in SUMS else activated(s, made, y)
    return s.quantised(made, y)


def moved(s: Sketch, kind: str, x: Value, shape: tuple[int, ...], *more: str, **attributes: Any) -> Value:
    """``x`` through an operator that only moves: among integers, or between pairs of one quantisation."""
    y = s.like(x, shape)
    if s.form == "pairs":
        made = s.node(kind, [s.reals(x), *more], s.name("r"), **attributes)
        return s.quantised(activated(s, made, y) if s.chance(ACTIVATED / 2) else made, y)
    s.node(kind, [x.name, *more], y.name, **attributes)
    return y


def absorbed(s: Sketch, reals: str, y: Value) -> str:
    """A Relu or Clip that leaves all of the range of ``y``, or none."""
    if y.zero_point == np.iinfo(y.dtype).min and s.chance(0.5):
        return s.node("Relu", [reals], s.name("r"))
    bounds = [s.constant(s.name("bound"), np.float32(end * s.pick(1, 1, 2))) for end in y.ends]
    return s.node("Clip", [reals, *s.pick(bounds, bounds[:1], ["", bounds[1]])], s.name("r"))


def activated(s: Sketch, reals: str, y: Value) -> str:
    """A Relu, or a Clip that may lack a bound; some leave all of the range of ``y``."""
    if s.chance(0.5):
        return s.node("Relu", [reals], s.name("r"))
    lowest, highest = y.ends
    low, high = sorted(float(bound) for bound in s.rng.uniform(lowest, highest, 2))
    low, high = s.pick(0.0, low, lowest, lowest), s.pick(high, highest, highest)
    bounds = [s.constant(s.name("bound"), np.float32(bound)) for bound in (low, max(low, high))]
    return s.node("Clip", [reals, *s.pick(bounds, bounds[:1], ["", bounds[1]], [])], s.name("r"))
