"""Operators of TensorFlow Lite that take element by element, or only move what there is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from scripts.differentials.tflite_draft import Draft, Wire
from scripts.differentials.tflite_sums import ACTIVATIONS

BYTES = (np.int8, np.uint8)


def function(kind: str, draft: Draft, x: Wire) -> Wire:
    """LEAKY_RELU, HARD_SWISH and stand-alone activations."""
    y = draft.wire(x.shape, x.dtype, draft.near(x.scale, 0.7), draft.zero_point(x.dtype))
    alpha = {"Alpha": draft.pick(0.0, 0.1, 0.01, 0.25, 1.0, 1.5, -0.3, float(draft.rng.uniform()))}
    return draft.made(kind, [x.index], y, **(alpha if kind == "LEAKY_RELU" else {}))


def fixed_output(kind: str, steps: int, draft: Draft, x: Wire) -> Wire:
    """LOGISTIC, TANH and SOFTMAX, which allow one output scale; now and then it is another."""
    low = int(np.iinfo(x.dtype).min) if kind != "TANH" else 128 * (x.dtype == np.uint8)
    scale, zero_point = 1 / steps, low
    if draft.chance(0.04):
        scale, zero_point = draft.near(scale), draft.zero_point(x.dtype)
    y = draft.wire(x.shape, x.dtype, scale, zero_point)
    beta = {"Beta": draft.pick(1.0, 1.0, 1.0, 0.5, float(10 ** draft.rng.uniform(-1, 1)))}
    return draft.made(kind, [x.index], y, **(beta if kind == "SOFTMAX" else {}))


def prelu(draft: Draft, x: Wire) -> Wire:
    """With a slope for each channel, or for each element."""
    shape = draft.pick(x.shape[1:], (*(1,) * (len(x.shape) - 2), x.shape[-1]), x.shape[-1:])
    scale, zero_point = draft.pick(1 / 128, draft.near(1 / 128), draft.scale()), draft.zero_point(x.dtype)
    slopes = draft.constant(draft.data(shape, x.dtype, zero_point), x.dtype, [scale], zero_point=zero_point)
    y = draft.wire(x.shape, x.dtype, draft.near(x.scale, 0.7), draft.zero_point(x.dtype))
    return draft.made("PRELU", [x.index, slopes], y)


def pair(kind: str, draft: Draft, x: Wire) -> Wire:
    """ADD, SUB and MUL of two inputs, of an input and a constant, of an input and itself; alike or broadcast."""
    other = second(draft, x)
    both = [x, other] if draft.chance(0.7) else [other, x]
    usual = 64 if x.dtype.itemsize == 1 else 1 << 14
    scale = x.scale * other.scale * usual if kind == "MUL" else max(x.scale, other.scale)
    shape = np.broadcast_shapes(x.shape, other.shape)
    y = draft.wire(shape, x.dtype, draft.near(scale), draft.zero_point(x.dtype))
    return _paired(kind, draft, both, y)


def _paired(kind: str, draft: Draft, both: Sequence[Wire], y: Wire) -> Wire:
    options: dict[str, int] = {"FusedActivationFunction": draft.pick(*ACTIVATIONS)}
    if kind != "MUL":
        options["PotScaleInt16"] = draft.chance(0.5)
    return draft.made(kind, [wire.index for wire in both], y, **options)


def shifted_pair(kind: str, draft: Draft, _x: Wire) -> Wire:
    """ADD and SUB of int16 whose scales are powers of two, or nearly; now and then no kernel takes them."""
    shape = [1, draft.number(1, 9), draft.number(1, 9)]
    scale = 2.0 ** draft.number(-20, 3)
    below = [0, draft.pick(0, 1, 2, draft.number(0, 15))]
    if draft.chance(0.05):
        below = [draft.number(-1, 2), draft.number(0, 16)]
    nearly = 1 + draft.pick(0, 0, 0, 1e-4)
    scales = [nearly * scale * 2.0**-places for places in draft.rng.permutation(below).tolist()]
    both = [draft.input(shape, np.int16, own) for own in scales]
    return _paired(kind, draft, both, draft.wire(shape, np.int16, scale, 0))


def second(draft: Draft, x: Wire) -> Wire:
    if draft.chance(0.1):
        return x
    shape = x.shape
    if draft.chance(0.5):
        ones = tuple(length if draft.chance(0.6) else 1 for length in shape)
        shape = draft.pick((1,), (), shape[-1:], ones, ones[1:])
    scale = draft.near(x.scale, 3)
    if draft.chance(0.6):
        return (
            draft.input(shape, x.dtype, scale) if len(shape) == len(x.shape) else draft.input(x.shape, x.dtype, scale)
        )
    zero_point = draft.zero_point(x.dtype)
    data = draft.data(shape, x.dtype, zero_point)
    return Wire(draft.constant(data, x.dtype, [scale], zero_point=zero_point), shape, x.dtype, scale, zero_point)


def like(draft: Draft, x: Wire, shape: Sequence[int]) -> Wire:
    """A tensor with the quantisation of ``x``."""
    return draft.wire(shape, x.dtype, x.scale, x.zero_point)


def reshape(draft: Draft, x: Wire) -> Wire:
    count = prod(x.shape[1:])
    sizes = [size for size in range(1, count + 1) if count % size == 0]
    first = draft.pick(*sizes)
    shape = draft.pick((x.shape[0], count), (x.shape[0], first, count // first), (x.shape[0], 1, 1, count))
    named = [draft.constant(shape)] if draft.chance(0.7) else []
    return draft.made("RESHAPE", [x.index, *named], like(draft, x, shape), NewShape=shape)


def pad(kind: str, draft: Draft, x: Wire) -> Wire:
    borders = [(0, 0), *((draft.number(0, 3), draft.number(0, 3)) for _ in x.shape[1:])]
    shape = [before + length + after for (before, after), length in zip(borders, x.shape, strict=True)]
    inputs = [x.index, draft.constant(borders, draft.pick(np.int32, np.int64))]
    if kind == "PADV2":
        same = draft.chance(0.9)
        scale, zero_point = (x.scale, x.zero_point) if same else (draft.scale(), draft.zero_point(x.dtype))
        value = draft.data((), x.dtype, zero_point)
        inputs.append(draft.constant(value, x.dtype, [scale], zero_point=zero_point))
    return draft.made(kind, inputs, like(draft, x, shape))


def resize_nearest(draft: Draft, x: Wire) -> Wire:
    size = (draft.number(1, 2 * x.shape[1]), draft.number(1, 2 * x.shape[2]))
    align, centred = draft.pick((False, False), (True, False), (False, True), (True, True))
    y = like(draft, x, (x.shape[0], *size, x.shape[3]))
    inputs = [x.index, draft.constant(size)]
    return draft.made("RESIZE_NEAREST_NEIGHBOR", inputs, y, AlignCorners=align, HalfPixelCenters=centred)


def concatenation(draft: Draft, x: Wire) -> Wire:
    """Of uint8 also from other quantisations; of int8 all alike."""
    axis = draft.number(1, len(x.shape) - 1)
    parts = [x, *(_part(draft, x, axis) for _ in range(draft.pick(0, 1, 1, 1, 2, 3)))]
    own = x
    if x.dtype == np.uint8 and draft.chance(0.7):
        own = replace(x, scale=draft.near(x.scale), zero_point=draft.zero_point(x.dtype))
    total = sum(part.shape[axis] for part in parts)
    y = like(draft, own, (*x.shape[:axis], total, *x.shape[axis + 1 :]))
    order = draft.rng.permutation([part.index for part in parts])
    named = draft.pick(axis, axis - len(x.shape))
    fused = draft.pick(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1)
    return draft.made("CONCATENATION", order.tolist(), y, Axis=named, FusedActivationFunction=fused)


def _part(draft: Draft, x: Wire, axis: int) -> Wire:
    shape = (*x.shape[:axis], draft.number(1, 6), *x.shape[axis + 1 :])
    if x.dtype == np.uint8 and draft.chance(0.7):
        return draft.input(shape, x.dtype, draft.near(x.scale))
    return draft.input(shape, x.dtype, x.scale, x.zero_point)


def top_k(draft: Draft, x: Wire) -> Wire:
    """Values and places, of which the file gives one or both."""
    k = draft.pick(1, x.shape[-1], draft.number(1, x.shape[-1]))
    shape = (*x.shape[:-1], k)
    values, places = like(draft, x, shape), Wire(draft.file.tensor(shape, np.int32), shape, np.dtype(np.int32))
    draft.file.operator("TOPK_V2", [x.index, draft.constant(k)], [values.index, places.index])
    first, *others = draft.pick((values,), (places,), (values, places), (places, values))
    draft.outputs += others
    return first


def reals(draft: Draft) -> Wire:
    """An input of reals about as large as its scale suggests; or of ties; or of any size."""
    shape = [1, *(draft.number(1, 9) for _ in range(draft.number(1, 3)))]
    usual = draft.rng.normal(0, draft.pick(20, 60, 200), shape)
    ties = draft.rng.integers(-300, 300, shape) + 0.5
    wild = 10 ** draft.rng.uniform(-30, 9, shape) * draft.rng.choice([-1, 1], shape)  # beyond, C++ says nothing
    scale = draft.scale()
    wire = Wire(draft.file.tensor(shape, np.float32), tuple(shape), np.dtype(np.float32), scale)
    return draft.feed(wire, (draft.pick(usual, usual, ties, wild) * scale).astype(np.float32))


def quantise(draft: Draft, x: Wire, dtypes: Sequence[Any] = BYTES) -> Wire:
    """From reals."""
    dtype = draft.pick(*dtypes)
    return draft.made("QUANTIZE", [x.index], draft.wire(x.shape, dtype, x.scale, draft.zero_point(dtype)))


REQUANTISED = {np.dtype(np.int16): (np.int8, np.int16, np.int32), np.dtype(np.int32): (np.int8, np.int16)}
"""What becomes of integers that are no bytes."""


def requantise(draft: Draft, x: Wire, dtypes: Sequence[Any] = BYTES) -> Wire:
    """From integers; of one type to the next, the steps grow as the range shrinks."""
    dtype = np.dtype(draft.pick(*REQUANTISED.get(x.dtype, dtypes)))
    usual = x.scale * 256.0 ** (x.dtype.itemsize - dtype.itemsize)
    y = draft.wire(x.shape, dtype, draft.pick(x.scale, draft.near(usual)), draft.zero_point(dtype))
    return draft.made("QUANTIZE", [x.index], y)


def dequantise(draft: Draft, x: Wire) -> Wire:
    y = Wire(draft.file.tensor(x.shape, np.float32), x.shape, np.dtype(np.float32))
    return draft.made("DEQUANTIZE", [x.index], y)
