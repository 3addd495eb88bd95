"""Small .tflite models of pictures, with random weights: a backbone, heads, a tail that tiles have no unit for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod, sqrt
from typing import Any

import numpy as np

from scripts.tflite_writer import TfliteFile

SCALE = 0.05
INT8 = np.dtype(np.int8)


@dataclass
class Picture:
    """A file in the making. All maps have one quantisation, so that they can be put together."""

    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    file: TfliteFile = field(default_factory=TfliteFile)
    shapes: dict[int, tuple[int, ...]] = field(default_factory=dict)

    def tensor(self, shape: Sequence[int], dtype: Any = INT8, scale: float = SCALE, zero_point: int = 0) -> int:
        scales = [scale] if scale else []
        index = self.file.tensor(shape, dtype, scales, zero_point=zero_point)
        self.shapes[index] = tuple(shape)
        return index

    def constant(self, data: Any, dtype: Any = np.int32, scales: Sequence[float] = ()) -> int:
        array = np.asarray(data, dtype)
        return self.file.tensor(array.shape, dtype, scales, data=array)

    def add(self, kind: str, inputs: Sequence[int], output: int, **options: Any) -> int:
        self.file.operator(kind, inputs, [output], **options)
        return output

    def like(self, kind: str, x: int, shape: Sequence[int], *others: int, **options: Any) -> int:
        """An operator that leaves numbers what they are."""
        return self.add(kind, [x, *others], self.tensor(shape), **options)

    def convolution(self, x: int, filters: int, kernel: int = 3, stride: int = 1) -> int:
        _, height, width, channels = self.shapes[x]
        w, b = self._weights((filters, kernel, kernel, channels), filters)
        y = self.tensor((1, -(-height // stride), -(-width // stride), filters))
        return self.add("CONV_2D", [x, w, b], y, Padding=0, StrideH=stride, StrideW=stride, FusedActivationFunction=3)

    def depthwise(self, x: int, stride: int = 1) -> int:
        _, height, width, channels = self.shapes[x]
        w, b = self._weights((1, 3, 3, channels), channels)
        y = self.tensor((1, -(-height // stride), -(-width // stride), channels))
        moves = {"Padding": 0, "StrideH": stride, "StrideW": stride, "DepthMultiplier": 1}
        return self.add("DEPTHWISE_CONV_2D", [x, w, b], y, **moves)

    def _weights(self, shape: tuple[int, ...], filters: int) -> tuple[int, int]:
        scale = 1 / sqrt(prod(shape) / filters) / 70
        weights = self.constant(self.rng.integers(-127, 128, shape), np.int8, [scale])
        return weights, self.constant(self.rng.integers(-300, 300, filters), np.int32, [SCALE * scale])

    def sum(self, a: int, b: int) -> int:
        return self.like("ADD", a, self.shapes[a], b)

    def resized(self, x: int, size: tuple[int, int]) -> int:
        shape = (1, *size, self.shapes[x][3])
        return self.like("RESIZE_BILINEAR", x, shape, self.constant(size), HalfPixelCenters=True)

    def together(self, parts: Sequence[int], axis: int) -> int:
        shape = list(self.shapes[parts[0]])
        shape[axis] = sum(self.shapes[part][axis] for part in parts)
        return self.add("CONCATENATION", parts, self.tensor(shape), Axis=axis)

    def reshaped(self, x: int, shape: Sequence[int], like: dict[str, Any] | None = None) -> int:
        return self.add("RESHAPE", [x, self.constant(shape)], self.tensor(shape, **(like or {})))

    def dequantised(self, x: int) -> int:
        return self.add("DEQUANTIZE", [x], self.tensor(self.shapes[x], np.float32, 0.0))

    def arg_max(self, x: int, axis: int) -> int:
        shape = [length for k, length in enumerate(self.shapes[x]) if k != axis % len(self.shapes[x])]
        return self.add("ARG_MAX", [x, self.constant(axis)], self.tensor(shape, np.int32, 0.0), OutputType=2)

    def written(self, inputs: Sequence[int], *outputs: int) -> bytes:
        return self.file.written(inputs, outputs)


def pose() -> bytes:
    """As MoveNet: a feature pyramid whose coarse maps are resized and added to the fine ones, heads, and the place of
    the largest of a heat map, with what another head says there.
    """
    p = Picture()
    x = p.tensor((1, 32, 32, 3))
    fine = p.convolution(p.depthwise(p.convolution(x, 8, stride=2)), 16, 1)
    middle = p.convolution(p.depthwise(fine, stride=2), 24, 1)
    coarse = p.convolution(p.depthwise(middle, stride=2), 32, 1)
    merged = p.sum(p.resized(p.convolution(coarse, 24, 1), (8, 8)), middle)
    merged = p.sum(p.resized(p.convolution(merged, 16, 1), (16, 16)), fine)
    merged = p.convolution(merged, 16)
    centre, offsets = p.convolution(p.convolution(merged, 16), 1, 1), p.convolution(p.convolution(merged, 16), 6, 1)
    place = p.arg_max(p.reshaped(centre, (1, 256)), 1)
    at = p.add("GATHER", [p.reshaped(offsets, (256, 6)), place], p.tensor((1, 6)), Axis=0)
    where = p.add("CAST", [place], p.tensor((1,), np.float32, 0.0))
    return p.written([x], p.dequantised(at), where, p.dequantised(centre))


def detector() -> bytes:
    """Heads at two scales, their boxes and scores put together; a custom operator that takes them is cut off."""
    p = Picture()
    x = p.tensor((1, 32, 32, 3))
    fine = p.convolution(p.depthwise(p.convolution(x, 8, stride=2), stride=2), 16, 1)
    coarse = p.convolution(p.depthwise(fine, stride=2), 32, 1)
    boxes, scores = [], []
    for map_, pixels in ((fine, 64), (coarse, 16)):
        boxes.append(p.reshaped(p.convolution(map_, 12), (1, 3 * pixels, 4)))
        scores.append(p.reshaped(p.convolution(map_, 9), (1, 3 * pixels, 3)))
    all_boxes, all_scores = p.together(boxes, 1), p.together(scores, 1)
    likely = p.add("LOGISTIC", [all_scores], p.tensor(p.shapes[all_scores], scale=1 / 256, zero_point=-128))
    anchors = p.constant(p.rng.random((240, 4)), np.float32)
    found = p.tensor((1, 10, 4), np.float32, 0.0)
    p.add("TFLite_Detection_PostProcess", [p.dequantised(all_boxes), p.dequantised(likely), anchors], found)
    return p.written([x], found)


def segmenter() -> bytes:
    """A map of classes, as large as the picture, and of each pixel the likeliest."""
    p = Picture()
    x = p.tensor((1, 24, 24, 3))
    deep = p.convolution(p.depthwise(p.convolution(x, 8, stride=2), stride=2), 16, 1)
    pooled = p.add("MEAN", [deep, p.constant([1, 2])], p.tensor((1, 1, 1, 16)), KeepDims=True)
    context = p.resized(p.convolution(pooled, 16, 1), (6, 6))
    classes = p.convolution(p.convolution(p.together([deep, context], 3), 16, 1), 5, 1)
    return p.written([x], p.arg_max(p.resized(classes, (24, 24)), -1))
