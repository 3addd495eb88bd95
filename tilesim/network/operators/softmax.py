"""Softmax over the last axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from tilesim.arithmetic.classify import RULES


@dataclass(frozen=True)
class Softmax:
    """Input: (..., n). Output of its shape and dtype.

    ``input_scale`` includes the layer's beta. ``rule`` is ``plain`` (in float32), ``aligned`` (ONNX Runtime), both of
    :mod:`tilesim.arithmetic.softmax`, or ``fixed`` (TensorFlow Lite), of :mod:`tilesim.arithmetic.softmax_fixed`.
    """

    input_scale: float
    output_scale: float
    output_zero_point: int
    clamp: tuple[int, int]
    rule: str = "plain"

    def evaluate(self, inputs: list[NDArray[Any]]) -> NDArray[Any]:
        return RULES[self.rule](inputs[0], self.input_scale, self.output_scale, self.output_zero_point, self.clamp)
