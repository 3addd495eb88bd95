"""A random .tflite file in the making: tensors with random quantisations, the operators between them.

Quantisations are drawn to hurt: scales over six decades, many of them powers of two, where results lie half-way between
two integers; zero points at the ends; data of corners only. Most output scales suit what comes out; some do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from scripts.differentials.case import Array, Drawn
from scripts.tflite_writer import TfliteFile

T = TypeVar("T")

DECADES = (-4.0, 2.0)
"""Scales, as powers of ten."""
WILD = 0.12
"""How often a scale has nothing to do with those around it."""


@dataclass(frozen=True)
class Wire:
    """A tensor that an operator reads or writes."""

    index: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    scale: float = 0.0
    zero_point: int = 0


@dataclass
class Draft:
    """The file, its inputs so far, and where its randomness comes from."""

    rng: np.random.Generator
    file: TfliteFile = field(default_factory=TfliteFile)
    inputs: dict[str, Array] = field(default_factory=dict)
    given: list[int] = field(default_factory=list)
    outputs: list[Wire] = field(default_factory=list)
    """Those of the file beside the last operator's."""

    def pick(self, *choices: T) -> T:
        return choices[int(self.rng.integers(len(choices)))]

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def number(self, low: int, high: int) -> int:
        """From ``low`` to ``high``, both included."""
        return int(self.rng.integers(low, high + 1))

    def near(self, scale: float, spread: float = 1.0) -> float:
        """A scale about this large, within ``spread`` octaves or so; now and then any. Often the ratio of the two is a
        simple one, or as near to that as float32 comes.
        """
        if self.chance(WILD):
            return self.scale()
        ratio = 2 ** self.rng.normal(0, spread)
        power = 2.0 ** round(np.log2(ratio))
        simple = power * self.number(1, 15) / self.number(1, 15)
        real = self.pick(ratio * scale, ratio * scale, simple * scale, power * scale, 2.0 ** round(np.log2(scale)))
        single = np.float32(real)
        return float(np.nextafter(single, np.float32(self.pick(0, 1e9))) if self.chance(0.1) else single)

    def scale(self) -> float:
        """Any; often an odd number of few bits times a power of two."""
        real = 10 ** self.rng.uniform(*DECADES)
        short = (2 * self.number(0, 127) + 1) * 2.0 ** round(np.log2(real) - 7)
        return float(np.float32(self.pick(real, real, short)))

    def zero_point(self, dtype: Any) -> int:
        """Any; of types wider than a byte always 0."""
        if np.dtype(dtype).itemsize > 1:
            return 0
        limits = np.iinfo(dtype)
        low, high = int(limits.min), int(limits.max)
        return self.pick(low, high, (low + high + 1) // 2, self.number(low, high), self.number(low, high))

    def data(self, shape: Sequence[int], dtype: Any, zero_point: int = 0) -> Array:
        """Integers: any, corners alone, or few that are not the zero point."""
        limits = np.iinfo(dtype)
        anything = self.rng.integers(limits.min, limits.max, shape, endpoint=True)
        corners = self.rng.choice([limits.min, limits.min + 1, zero_point, limits.max - 1, limits.max], shape)
        sparse = np.where(self.rng.random(shape) < 0.2, anything, zero_point)
        return np.asarray(self.pick(anything, anything, corners, sparse), dtype)

    def input(self, shape: Sequence[int], dtype: Any, scale: float = 0.0, zero_point: int | None = None) -> Wire:
        """Another input of the file, with data for it; what is not said of it is drawn."""
        zero_point = self.zero_point(dtype) if zero_point is None else zero_point
        wire = self.wire(shape, dtype, scale or self.scale(), zero_point)
        return self.feed(wire, self.data(shape, dtype, zero_point))

    def feed(self, wire: Wire, data: Array) -> Wire:
        self.given.append(wire.index)
        self.inputs[f"t{wire.index}"] = data
        return wire

    def wire(self, shape: Sequence[int], dtype: Any, scale: float, zero_point: int) -> Wire:
        """A tensor of one scale."""
        index = self.file.tensor(shape, dtype, [scale], zero_point=zero_point)
        return Wire(index, tuple(shape), np.dtype(dtype), scale, zero_point)

    def constant(self, data: Any, dtype: Any = np.int32, scales: Sequence[float] = (), **more: Any) -> int:
        array = np.asarray(data, dtype)
        return self.file.tensor(array.shape, dtype, scales, data=array, **more)

    def made(self, kind: str, inputs: Sequence[int], output: Wire, **options: Any) -> Wire:
        """The output of an operator that is added with it."""
        self.file.operator(kind, inputs, [output.index], **options)
        return output

    def drawn(self, *outputs: Wire) -> Drawn:
        return self.file.written(self.given, [output.index for output in outputs]), self.inputs
