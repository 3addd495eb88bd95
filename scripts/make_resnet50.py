"""Make a ResNet-50 for measurements: int8 ONNX in QDQ form, 224 x 224, with weights from a seed.

    python scripts/make_resnet50.py resnet50.onnx

The network is version 1.5, whose blocks take their stride in the 3 x 3 convolution. Nobody has trained it: integer
weights are drawn at random, and each channel's scale and bias are chosen such that a few random images leave it with
mean 0 and variance 1, as folded batch normalisation would. The same images say how far each activation reaches, so that
int8 is used from end to end. What is measured is rounded to a few bits: a seed gives the same bytes every time. The
model has 25 MB and is not committed; small ones (``--size 32 --width 8 --blocks 1,1,1,1``) serve tests.

Source: He et al., "Deep Residual Learning for Image Recognition", 2015, table 1; version 1.5 as in MLPerf Inference.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Array = NDArray[np.float32]
Integers = NDArray[Any]

BLOCKS = (3, 4, 6, 3)
EXPANSION = 4
IMAGES = 4
KEPT_BITS = 8
WEIGHT_SPREAD = 36.0
"""Standard deviation of the integer weights, before they are cut to +-127."""
LEAST_SPREAD = 0.05
"""What a channel's standard deviation is at least taken for, over that of the layer: four pixels may agree."""


@dataclass(frozen=True)
class Value:
    """An activation: the name of its reals in the graph, those of the images (n, h, w, c), and its quantisation."""

    name: str
    data: Array
    scale: np.float32
    zero_point: int


@dataclass(frozen=True)
class Use:
    """What an activation makes of int8: the part of its values at either end, and how many of the 256 occur."""

    name: str
    saturated: float
    values: int


@dataclass
class Maker:
    """A graph that grows layer by layer, and the images in it."""

    rng: np.random.Generator
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: list[TensorProto] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)

    def images(self, size: int) -> Value:
        return self._quantised("in0", self.rng.standard_normal((IMAGES, size, size, 3)).astype(np.float32), "in0")

    def convolution(self, name: str, x: Value, filters: int, window: int, stride: int = 1, *, relu: bool) -> Value:
        weights = self._drawn((filters, x.data.shape[3], window, window))
        sums = np.tensordot(windows(x.data, window, stride), weights.astype(np.float32), ((3, 4, 5), (1, 2, 3)))
        parameters, y = self._normalised(name, x, weights, sums)
        moves = {"kernel_shape": [window] * 2, "strides": [stride] * 2, "pads": [window // 2] * 4}
        self._node("Conv", [x.name, *parameters], f"{name}.sum", **moves)
        return self._quantised(name, y, f"{name}.sum", relu=relu)

    def add(self, name: str, a: Value, b: Value) -> Value:
        self._node("Add", [a.name, b.name], f"{name}.sum")
        return self._quantised(name, a.data + b.data, f"{name}.sum", relu=True)

    def max_pool(self, name: str, x: Value) -> Value:
        """Of a map without negative values, which padding with zeros leaves as it is."""
        self._node("MaxPool", [x.name], f"{name}.max", kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
        y = windows(x.data, 3, 2).max(axis=(4, 5))
        return Value(self._pair(name, f"{name}.max", x.scale, x.zero_point), y, x.scale, x.zero_point)

    def average(self, name: str, x: Value) -> Value:
        self._node("GlobalAveragePool", [x.name], f"{name}.mean")
        return self._quantised(name, x.data.mean(axis=(1, 2)), f"{name}.mean")

    def classifier(self, name: str, x: Value, outputs: int) -> Value:
        flat = self._pair(f"{name}.in", self._node("Flatten", [x.name], f"{name}.flat"), x.scale, x.zero_point)
        weights = self._drawn((outputs, x.data.shape[1]))
        parameters, y = self._normalised(name, x, weights, x.data @ weights.T.astype(np.float32))
        self._node("Gemm", [flat, *parameters], f"{name}.sum", transB=1)
        return self._quantised(name, y, f"{name}.sum", output="out0")

    def _drawn(self, shape: tuple[int, ...]) -> Integers:
        reals = self.rng.standard_normal(shape, np.float32) * np.float32(WEIGHT_SPREAD)
        integers: Integers = np.clip(np.rint(reals), -127, 127).astype(np.int8)
        return integers

    def _normalised(self, name: str, x: Value, weights: Integers, sums: Array) -> tuple[list[str], Array]:
        """Names of the weights' and the biases' reals that turn ``sums`` into outputs of mean 0 and variance 1."""
        flat = sums.reshape(-1, sums.shape[-1]).astype(np.float64)
        scales = rounded(1 / np.maximum(flat.std(axis=0), LEAST_SPREAD * flat.std()))
        steps = (x.scale * scales).astype(np.float32)
        biases = np.rint(rounded(-flat.mean(axis=0) / float(x.scale))).astype(np.int32)
        parts = (("weight", weights, scales), ("bias", biases, steps))
        names = [self._constant(f"{name}.{part}", data, scale) for part, data, scale in parts]
        return names, (sums * scales + biases * steps).astype(np.float32)

    def _quantised(self, name: str, y: Array, last: str, *, relu: bool = False, output: str = "") -> Value:
        """The value ``last``, through a Relu if so asked for, in int8 that reaches as far as the images do."""
        if relu:
            y, last = np.maximum(y, 0), self._node("Relu", [last], f"{name}.relu")
        zero_point = -128 if y.min() >= 0 else 0
        scale = rounded(np.abs(y).max() / (127 - zero_point))
        integers = np.clip(np.rint(y / scale) + zero_point, -128, 127)
        ends = (integers == 127) | ((integers == -128) & (zero_point == 0))
        self.uses.append(Use(name, float(ends.mean()), len(np.unique(integers))))
        return Value(self._pair(name, last, scale, zero_point, output), y, scale, zero_point)

    def _pair(self, name: str, last: str, scale: np.float32, zero_point: int, output: str = "") -> str:
        known = self._quantisation(name, np.asarray(scale), np.asarray(zero_point, np.int8))
        integers = self._node("QuantizeLinear", [last, *known], f"{name}.integers")
        return self._node("DequantizeLinear", [integers, *known], output or f"{name}.reals")

    def _constant(self, name: str, data: Integers, scales: Array) -> str:
        self.constants.append(numpy_helper.from_array(data, name))
        known = self._quantisation(name, scales, np.zeros(len(scales), data.dtype))
        return self._node("DequantizeLinear", [name, *known], f"{name}.reals", axis=0)

    def _quantisation(self, name: str, scale: Array, zero_point: Integers) -> list[str]:
        parts = {f"{name}.scale": scale, f"{name}.zero_point": zero_point}
        self.constants += [numpy_helper.from_array(data, part) for part, data in parts.items()]
        return list(parts)

    def _node(self, kind: str, inputs: Sequence[str], output: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [output], output, **attributes))
        return output


def rounded(values: Any) -> Any:
    """In float32, to a few bits: what a sum's order does to its last ones leaves no trace."""
    fractions, exponents = np.frexp(np.asarray(values, np.float64))
    return np.ldexp(np.rint(np.ldexp(fractions, KEPT_BITS)), exponents - KEPT_BITS).astype(np.float32)


def windows(x: Array, size: int, stride: int) -> Array:
    """The neighbourhoods of (n, h, w, c), padded with zeros by half their size: (n, h', w', c, size, size)."""
    padded = np.pad(x, ((0, 0), *[(size // 2, size // 2)] * 2, (0, 0)))
    return sliding_window_view(padded, (size, size), axis=(1, 2))[:, ::stride, ::stride]


def bottleneck(maker: Maker, name: str, x: Value, width: int, stride: int) -> Value:
    """Down to ``width`` channels, over them, up to four times as many, and its input on top."""
    y = maker.convolution(f"{name}.a", x, width, 1, relu=True)
    y = maker.convolution(f"{name}.b", y, width, 3, stride, relu=True)
    y = maker.convolution(f"{name}.c", y, EXPANSION * width, 1, relu=False)
    if x.data.shape != y.data.shape:
        x = maker.convolution(f"{name}.short", x, EXPANSION * width, 1, stride, relu=False)
    return maker.add(name, x, y)


def resnet(
    seed: int = 0, size: int = 224, blocks: Sequence[int] = BLOCKS, width: int = 64, outputs: int = 1000
) -> tuple[onnx.ModelProto, list[Use]]:
    """The network from reals ``in0`` (1, 3, size, size) to ``out0`` (1, outputs), and how its activations use int8."""
    maker = Maker(np.random.default_rng(seed))
    x = maker.convolution("stem", maker.images(size), width, 7, 2, relu=True)
    x = maker.max_pool("pool", x)
    for stage, count in enumerate(blocks):
        for block in range(count):
            stride = 2 if stage and not block else 1
            x = bottleneck(maker, f"stage{stage + 1}.{block}", x, width << stage, stride)
    maker.classifier("classifier", maker.average("average", x), outputs)
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in (("in0", [1, 3, size, size]), ("out0", [1, outputs]))
    ]
    graph = helper.make_graph(maker.nodes, "resnet50", ends[:1], ends[1:], maker.constants)
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, producer_name="tilesim", opset_imports=opsets, ir_version=8), maker.uses


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="Make a ResNet-50 of int8 pairs with weights from a seed.")
    parser.add_argument("output", type=Path, metavar="OUT.onnx")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--size", type=int, default=224, help="rows and columns of the image, a multiple of 32")
    parser.add_argument("--blocks", default=",".join(map(str, BLOCKS)), help="residual blocks of each stage")
    parser.add_argument("--width", type=int, default=64, help="channels of the stem")
    parser.add_argument("--outputs", type=int, default=1000, help="classes")
    given = parser.parse_args(arguments)
    blocks = [int(count) for count in given.blocks.split(",")]
    model, uses = resnet(given.seed, given.size, blocks, given.width, given.outputs)
    onnx.save_model(model, given.output)
    for use in uses:
        print(f"{use.name}: {use.values} of 256 values, {use.saturated:.2%} at an end")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
