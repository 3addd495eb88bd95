"""A random .onnx file in the making: values with random quantisations, and operators in either quantised form.

Quantisations are drawn to hurt: scales over six decades, many of them simple fractions of one another or powers of two,
where results lie half-way between two integers; zero points at the ends; data of corners only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from scripts.differentials.case import Array, Drawn

T = TypeVar("T")

DECADES = (-4.0, 2.0)
"""Scales, as powers of ten."""
WILD = 0.1
"""How often a scale has nothing to do with those around it."""
OPSETS = (13, 17, 19, 21)
FORMS = ("pairs", "integer")
MICROSOFT = "com.microsoft"
STANDARD = {"QLinearConv", "QLinearMatMul", "QuantizeLinear"}
"""Operators that ONNX itself defines, of those whose name begins with a Q; the others are ONNX Runtime's."""
TYPES = {
    np.dtype(np.int8): TensorProto.INT8,
    np.dtype(np.uint8): TensorProto.UINT8,
    np.dtype(np.float32): TensorProto.FLOAT,
}


@dataclass(frozen=True)
class Value:
    """Integers of the model and how they stand for reals; ``axis`` is that of the channels, if each has a scale."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    scale: Array
    zero_point: int
    axis: int = 1

    @property
    def parts(self) -> list[str]:
        """The names that an operator is given."""
        return [self.name, f"{self.name}_scale", f"{self.name}_zero"]

    @property
    def ends(self) -> tuple[float, float]:
        """The lowest and the highest real."""
        limits = np.iinfo(self.dtype)
        scale = np.max(self.scale)
        return float(scale * np.float32(limits.min - self.zero_point)), float(
            scale * np.float32(limits.max - self.zero_point)
        )

    @property
    def farthest(self) -> float:
        """How far from 0 the reals go."""
        return max(abs(end) for end in self.ends)


@dataclass
class Sketch:
    """Nodes, constants and inputs so far; activations are of ``dtype``."""

    rng: np.random.Generator
    form: str
    """``pairs`` (QuantizeLinear and DequantizeLinear around operators on reals) or ``integer``."""
    dtype: np.dtype[Any] = field(default_factory=lambda: np.dtype(np.int8))
    exact: bool = False
    """Whether all scales are powers of two."""
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: list[TensorProto] = field(default_factory=list)
    inputs: dict[str, Array] = field(default_factory=dict)
    names: int = 0

    def pick(self, *choices: T) -> T:
        return choices[int(self.rng.integers(len(choices)))]

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def number(self, low: int, high: int) -> int:
        """From ``low`` to ``high``, both included."""
        return int(self.rng.integers(low, high + 1))

    # ---- numbers

    def scales(self, shape: tuple[int, ...] = (), around: float = 0.0) -> Array:
        """Any scales, or what lies within three times ``around``."""
        exponents = (
            self.rng.uniform(*DECADES, shape) if around <= 0 else np.log10(around) + self.rng.uniform(-0.5, 0.5, shape)
        )
        return np.asarray(2.0 ** np.rint(np.log2(10.0**exponents)) if self.exact else 10.0**exponents, np.float32)

    def zero_point(self, dtype: np.dtype[Any]) -> int:
        low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
        return self.pick(low, high, 0, (low + high + 1) // 2, self.number(low, high), self.number(low, high))

    def integers(self, dtype: np.dtype[Any], shape: tuple[int, ...], zero_point: int) -> Array:
        """Any integers, corners alone, one for all, or what is near the zero point."""
        low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
        anything = self.rng.integers(low, high + 1, shape)
        corners = self.rng.choice([low, low + 1, zero_point, high - 1, high], shape)
        one = np.full(shape, self.pick(low, high, zero_point))
        near = np.clip(zero_point + self.rng.integers(-3, 4, shape), low, high)
        return np.asarray(self.pick(anything, anything, anything, anything, corners, corners, one, near), dtype)

    # ---- values

    def name(self, stem: str) -> str:
        self.names += 1
        return f"{stem}{self.names}"

    def constant(self, name: str, data: Any) -> str:
        """An initialiser, or now and then a node."""
        proto = numpy_helper.from_array(np.asarray(data), name)
        if self.chance(0.05):
            self.nodes.append(helper.make_node("Constant", [], [name], value=proto))
        else:
            self.constants.append(proto)
        return name

    def value(
        self, stem: str, shape: tuple[int, ...], scale: Any, zero_point: int, dtype: Any = None, axis: int = 1
    ) -> Value:
        """Constants for a scale and zero point; what they belong to is still to come."""
        made = Value(
            self.name(stem), np.dtype(dtype or self.dtype), shape, np.asarray(scale, np.float32), zero_point, axis
        )
        self.constant(made.parts[1], made.scale)
        self.constant(made.parts[2], np.full(made.scale.shape, zero_point, made.dtype))
        return made

    def input(self, shape: tuple[int, ...], scale: Array | None = None) -> Value:
        """An input of the model, with data for it."""
        x = self.value("x", shape, self.scales() if scale is None else scale, self.zero_point(self.dtype))
        self.inputs[x.name] = self.integers(x.dtype, shape, x.zero_point)
        return x

    def like_input(self, x: Value) -> Value:
        """Another input, of the shape and quantisation of ``x``."""
        made = self.like(x, x.shape)
        self.inputs[made.name] = self.integers(x.dtype, x.shape, x.zero_point)
        return made

    def result(self, shape: tuple[int, ...], reals: float, step: float) -> Value:
        """What an operator is to give: of reals up to about ``reals``, most of them multiples of ``step``.

        Its scale is a simple fraction of the step, suits the reals in another way, or is any.
        """
        around = reals / 150
        scale: Any = self.scales((), 0.0 if self.chance(WILD) else around)
        if self.chance(0.35) and 1e-30 < step < 1e30:
            ratio = float(self.scales((), around)) / step
            scale = np.float32(step) * np.float32(max(1, round(2 * ratio)) / 2 if ratio > 0.4 else 1 / round(1 / ratio))
        return self.value("y", shape, np.clip(scale, 1e-30, 1e29), self.zero_point(self.dtype))

    def like(self, x: Value, shape: tuple[int, ...]) -> Value:
        """Of the quantisation of ``x``."""
        return self.value("y", shape, x.scale, x.zero_point, x.dtype)

    # ---- operators

    def node(self, kind: str, inputs: Sequence[str], output: str, **attributes: Any) -> str:
        domain = MICROSOFT if kind.startswith("Q") and kind not in STANDARD else ""
        self.nodes.append(helper.make_node(kind, inputs, [output], domain=domain, **attributes))
        return output

    def reals(self, value: Value) -> str:
        axis = {"axis": value.axis} if value.scale.ndim else {}
        return self.node("DequantizeLinear", value.parts, self.name("r"), **axis)

    def quantised(self, reals: str, y: Value) -> Value:
        self.node("QuantizeLinear", [reals, *y.parts[1:]], y.name)
        return y

    def drawn(self, y: Value, *, floating: bool = False) -> Drawn:
        """The file that gives ``y``, or the reals that it stands for, and its inputs."""
        name = self.reals(y) if floating else y.name
        kind = TYPES[np.dtype(np.float32) if floating else y.dtype]
        return self.written([helper.make_tensor_value_info(name, kind, y.shape)])

    def written(self, results: Sequence[onnx.ValueInfoProto]) -> Drawn:
        """The file that gives some values, and its inputs."""
        given = [helper.make_tensor_value_info(key, TYPES[data.dtype], data.shape) for key, data in self.inputs.items()]
        graph = helper.make_graph(self.nodes, "random", given, results, self.constants)
        opsets = [helper.make_opsetid("", self.pick(*OPSETS)), helper.make_opsetid(MICROSOFT, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
        return bytes(model.SerializeToString()), self.inputs
