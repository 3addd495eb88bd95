"""Operators of TensorFlow Lite that add up products or elements: convolutions, fully connected layers, pools, means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod, sqrt
from typing import Any

import numpy as np

from scripts.differentials.case import Array
from scripts.differentials.tflite_draft import Draft, Wire

SPREAD = 74.0
"""The standard deviation of a byte of which every value is equally likely."""
WIDE = 256
"""How much larger int16 is."""
INT32, INT64 = 2, 4
"""The schema's codes of types."""
ACTIVATIONS = (0, 0, 0, 1, 2, 3)


@dataclass
class Layer:
    """Weights, bias and output of a layer in the making."""

    draft: Draft
    x: Wire
    shape: tuple[int, ...]
    """Of the weights."""
    axis: int
    """That of the weights' output channels."""
    per_channel: bool
    optional: Sequence[Sequence[int]] = ()
    """What may stand for the bias."""
    short_sums: bool = False
    """Whether sums of int16 may be of 32 bits."""

    def __post_init__(self) -> None:
        common = self.draft.scale()
        self.channels = self.shape[self.axis]
        self.scales = [self.draft.near(common) for _ in range(self.channels if self.per_channel else 1)]
        wide = WIDE if self.x.dtype == np.int16 else 1
        self.dtype = np.dtype(np.int8) if wide > 1 else self.x.dtype
        self.short = wide == 1 or (self.short_sums and self.draft.chance(0.3))
        self.spread = sqrt(prod(self.shape) / self.channels) * SPREAD * SPREAD * wide
        self.edgy = self.draft.chance(0.3)
        steps = self.x.scale * self.scales[0] * self.spread / (60 * wide)
        if self.edgy:
            steps *= 2 ** self.draft.rng.uniform(0, 16)
        self.output_scale = self.draft.near(steps, 1.5)

    def inputs(self) -> list[int]:
        """Of an edgy layer many channels have no weights, and a bias that lies at the edge of a rounding."""
        edges = self.draft.rng.random(self.channels) < (0.7 if self.edgy else 0)
        weights = self._weights(edges)
        if self.optional and self.draft.chance(0.15):
            return [self.x.index, weights, *self.draft.pick(*self.optional)]
        usual = self.draft.rng.normal(0, self.spread * self.draft.pick(0.1, 1.0, 4.0), self.channels)
        data = np.where(edges, self._edges(), usual)
        scales = [float(np.float32(self.x.scale) * np.float32(scale)) for scale in self.scales]
        most, dtype = (2**30, np.int32) if self.short else (2**44, np.int64)
        return [self.x.index, weights, self.draft.constant(np.clip(np.rint(data), -most, most), dtype, scales)]

    @property
    def options(self) -> dict[str, int]:
        """Those that say in how many bits int16 is added up; now and then none of 32 bits does."""
        if self.x.dtype != np.int16 or not self.short_sums or self.draft.chance(0.03):
            return {}
        return {"QuantizedBiasType": INT32} if self.short else self.draft.pick({}, {"QuantizedBiasType": INT64})

    def _weights(self, edges: Array) -> int:
        odd = self.draft.chance(0.03)
        zero_point = self.draft.zero_point(self.dtype) if odd or self.dtype == np.uint8 else 0
        data = np.moveaxis(self.draft.data(self.shape, self.dtype, zero_point), self.axis, 0)
        data[edges] = zero_point
        data = np.moveaxis(data, 0, self.axis)
        return self.draft.constant(data, self.dtype, self.scales, zero_point=zero_point, axis=self.axis)

    def _edges(self) -> Array:
        """Sums that lie half-way between two outputs, but for what is lost in rounding."""
        steps = self.draft.rng.integers(-260, 260, self.channels) + 0.5
        nearby = self.draft.rng.integers(-1, 2, self.channels)
        return np.asarray(steps * self.output_scale / (self.x.scale * np.array(self.scales)) + nearby)

    def output(self, shape: Sequence[int]) -> Wire:
        return self.draft.wire(shape, self.x.dtype, self.output_scale, self.draft.zero_point(self.x.dtype))


def convolution(draft: Draft, x: Wire, per_channel: bool = False, groups: int = 1) -> Wire:
    channels = groups * draft.pick(1, 2, 4, draft.number(1, 20))
    window, options, size = moves(draft, x, dilated=True)
    layer = Layer(draft, x, (channels, *window, x.shape[3] // groups), 0, per_channel, short_sums=True)
    return draft.made(
        "CONV_2D", layer.inputs(), layer.output((x.shape[0], *size, channels)), **options, **layer.options
    )


def depthwise_convolution(draft: Draft, x: Wire, per_channel: bool = False) -> Wire:
    times = draft.pick(1, 1, 2, 3)
    channels = x.shape[3] * times
    window, options, size = moves(draft, x, dilated=True)
    layer = Layer(draft, x, (1, *window, channels), 3, per_channel, optional=[()])
    y = layer.output((x.shape[0], *size, channels))
    return draft.made("DEPTHWISE_CONV_2D", layer.inputs(), y, DepthMultiplier=times, **options)


def transpose_convolution(draft: Draft, x: Wire, per_channel: bool = False) -> Wire:
    """Most outputs are as large as the padding suggests, some a few rows smaller or larger."""
    channels = draft.pick(1, 2, 4, draft.number(1, 20))
    window, strides = ((draft.number(1, most), draft.number(1, most)) for most in (5, 3))
    layer = Layer(draft, x, (channels, *window, x.shape[3]), 0, per_channel, [(), (-1,)], short_sums=True)
    same, odd = draft.chance(0.5), draft.chance(0.2)
    size = [
        max(1, (length * step if same else (length - 1) * step + taps) + odd * draft.number(-2, 2))
        for length, step, taps in zip(x.shape[1:3], strides, window, strict=True)
    ]
    shape = (x.shape[0], *size, channels)
    source, weights, *bias = layer.inputs()
    told = draft.constant(shape) if draft.chance(0.8) else _fed_shape(draft, shape)
    options = {"Padding": 0 if same else 1, "StrideH": strides[0], "StrideW": strides[1]}
    options |= {"FusedActivationFunction": draft.pick(*ACTIVATIONS), **layer.options}
    return draft.made("TRANSPOSE_CONV", [told, weights, source, *bias], layer.output(shape), **options)


def _fed_shape(draft: Draft, shape: Sequence[int]) -> int:
    """A shape that is an input."""
    wire = Wire(draft.file.tensor((len(shape),), np.int32), (len(shape),), np.dtype(np.int32))
    return draft.feed(wire, np.array(shape, np.int32)).index


def fully_connected(draft: Draft, x: Wire, per_channel: bool = False, several: bool = False) -> Wire:
    """Of a vector, or of all that a map has; now and then, or always, of ``several`` rows."""
    units = draft.pick(1, 10, draft.number(1, 40))
    rows = draft.pick(1, 1, 1, x.shape[0])
    keep = len(x.shape) > 1 and draft.chance(0.7 if several else 0.1)
    inner = x.shape[-1] if keep or several else prod(x.shape) // rows
    layer = Layer(draft, x, (units, inner), 0, per_channel, [(), (-1,)], short_sums=True)
    y = layer.output((*x.shape[:-1], units) if keep else (prod(x.shape) // inner, units))
    options = {"FusedActivationFunction": draft.pick(*ACTIVATIONS), "KeepNumDims": keep}
    options |= layer.options
    return draft.made("FULLY_CONNECTED", layer.inputs(), y, **options)


def batch_matmul(draft: Draft, x: Wire) -> Wire:
    """Of two inputs, either turned; now and then of sums that lie at the edge of a rounding."""
    if draft.chance(0.3):
        return _edgy_products(draft, x)
    if len(x.shape) < 2:
        x = draft.input((x.shape[0], x.shape[0]), x.dtype, x.scale, x.zero_point)
    turned = draft.chance(0.4), draft.chance(0.4)
    rows, inner = x.shape[-1:-3:-1] if turned[0] else x.shape[-2:]
    columns = draft.number(1, 9)
    before = tuple(length if draft.chance(0.7) else 1 for length in x.shape[:-2])
    shape = (*before, *((columns, inner) if turned[1] else (inner, columns)))
    scale = draft.near(x.scale)
    other = draft.input(shape, x.dtype, scale)
    steps = x.scale * scale * sqrt(inner) * SPREAD
    y = draft.wire((*x.shape[:-2], rows, columns), x.dtype, draft.near(steps), draft.zero_point(x.dtype))
    return draft.made("BATCH_MATMUL", [x.index, other.index], y, AdjX=turned[0], AdjY=turned[1])


def _edgy_products(draft: Draft, x: Wire) -> Wire:
    """A row of 127s and a 1, whose products with a column add up to anything."""
    scale, columns = draft.near(x.scale), 60
    output_scale = draft.near(x.scale * scale * 60)
    steps = draft.rng.integers(-120, 120, columns) + 0.5
    sums = np.rint(steps * output_scale / (x.scale * scale) + draft.rng.integers(-1, 2, columns))
    times, rest = np.divmod(np.clip(sums, -100_000, 100_000).astype(np.int64), 127)
    parts = [np.clip(times - 127 * k * np.sign(times), -127, 127) * (abs(times) > 127 * k) for k in range(7)]
    a, b = (draft.wire(shape, np.int8, own, 0) for shape, own in (((1, 8), x.scale), ((8, columns), scale)))
    draft.feed(a, np.array([[127] * 7 + [1]], np.int8))
    draft.feed(b, np.array([*parts, rest], np.int8))
    y = draft.wire((1, columns), np.int8, output_scale, 0)
    return draft.made("BATCH_MATMUL", [a.index, b.index], y, AdjX=False, AdjY=False)


def moves(draft: Draft, x: Wire, dilated: bool = False) -> tuple[tuple[int, int], dict[str, Any], tuple[int, int]]:
    """A window with the options that say how it moves over a map, and how many results it makes each way."""
    same = draft.chance(0.5)
    strides = draft.pick((1, 1), (1, 1), (2, 2), (draft.number(1, 3), draft.number(1, 3)))
    dilations = (draft.number(1, 3), draft.number(1, 3)) if dilated and draft.chance(0.25) else (1, 1)
    most = [5 if same else 1 + (length - 1) // step for length, step in zip(x.shape[1:3], dilations, strict=True)]
    window = (draft.number(1, min(5, most[0])), draft.number(1, min(5, most[1])))
    if max(x.shape[1:3]) <= 12 and not same and draft.chance(0.15):
        window, dilations = (x.shape[1], x.shape[2]), (1, 1)
    size = [
        -(-length // stride) if same else (length - (taps - 1) * step - 1) // stride + 1
        for length, taps, stride, step in zip(x.shape[1:3], window, strides, dilations, strict=True)
    ]
    options = {"Padding": 0 if same else 1, "StrideH": strides[0], "StrideW": strides[1]}
    if dilated:
        options |= {"DilationHFactor": dilations[0], "DilationWFactor": dilations[1]}
    return window, options | {"FusedActivationFunction": draft.pick(*ACTIVATIONS)}, (size[0], size[1])


def pool(kind: str, draft: Draft, x: Wire) -> Wire:
    window, options, size = moves(draft, x)
    y = draft.wire((x.shape[0], *size, x.shape[3]), x.dtype, x.scale, x.zero_point)
    return draft.made(kind, [x.index], y, FilterHeight=window[0], FilterWidth=window[1], **options)


def mean(draft: Draft, x: Wire) -> Wire:
    """Over rows and columns."""
    keep = draft.chance(0.5)
    shape = (x.shape[0], 1, 1, x.shape[3]) if keep else (x.shape[0], x.shape[3])
    same = draft.chance(0.4)
    scale = x.scale if same else draft.near(x.scale)
    y = draft.wire(shape, x.dtype, scale, x.zero_point if same else draft.zero_point(x.dtype))
    axes = draft.constant(draft.pick([1, 2], [2, 1], [-3, -2], [1, -2]))
    return draft.made("MEAN", [x.index, axes], y, KeepDims=keep)
