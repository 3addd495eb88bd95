"""Small networks of any operators, put together node by node; shapes come from a sample that runs along."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.network.graph import Network, Node, Operator, Quantisation, Tensor
from tilesim.network.operators import Convolution, DepthwiseConvolution, FullyConnected, Padding

Array = NDArray[Any]
SCALE = 0.05


@dataclass
class Weave:
    """Tensors by index with a sample of each, and the nodes between them. Sums of int16 have 64 bits, as TFLite's have,
    if ``wide_sums``.
    """

    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    tensors: dict[int, Tensor] = field(default_factory=dict)
    samples: dict[int, Array] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    wide_sums: bool = False

    def _keep(self, name: str, sample: Array, zero_point: int, data: Array | None = None) -> int:
        index = len(self.tensors)
        known = Quantisation(np.array(SCALE), zero_point)
        self.tensors[index] = Tensor(index, name, sample.dtype, sample.shape, known, data)
        self.samples[index] = sample
        return index

    def integers(self, shape: tuple[int, ...], dtype: Any = np.int8) -> Array:
        limits = np.iinfo(dtype)
        return self.rng.integers(limits.min, limits.max + 1, shape).astype(dtype)

    def input(self, *shape: int, dtype: Any = np.int8, zero_point: int = -7) -> int:
        self.inputs.append(self._keep(f"input{len(self.inputs)}", self.integers((1, *shape), dtype), zero_point))
        return self.inputs[-1]

    def constant(self, data: Array) -> int:
        return self._keep("constant", data, 0, data)

    def add(self, operator: Operator, *inputs: int, zero_point: int = 0) -> int:
        sample = operator.evaluate([self.samples[i] for i in inputs])
        return self.join(operator, inputs, self._keep(self.name(operator), sample, zero_point))

    def name(self, operator: Operator) -> str:
        return f"{type(operator).__name__}{len(self.nodes)}"

    def join(self, operator: Operator, inputs: tuple[int, ...], index: int) -> int:
        self.nodes.append(Node(self.name(operator), operator, inputs, index))
        return index

    def zero_point(self, index: int) -> int:
        known = self.tensors[index].quantisation
        assert known is not None
        return known.zero_point

    def convolution(self, x: int, filters: int, kernel: int = 3, *, unsigned: bool = False, **moves: Any) -> int:
        """A convolution that keeps the dtype, its sums filling the range; ``unsigned`` weights have zero point 90."""
        w = self.integers((filters, kernel, kernel, self.samples[x].shape[3]), np.uint8 if unsigned else np.int8)
        operator = Convolution(
            strides=moves.get("strides", (1, 1)), padding=moves.get("padding", same(kernel)), groups=1,
            dilations=moves.get("dilations", (1, 1)), **self._finish(x, filters, w.size // filters, unsigned=unsigned),
        )  # fmt: skip
        return self.add(operator, x, self.constant(w), self._bias(x, filters), zero_point=operator.output_zero_point)

    def depthwise(self, x: int, kernel: int = 3, **moves: Any) -> int:
        channels = self.samples[x].shape[3]
        w = self.integers((kernel, kernel, channels))
        operator = DepthwiseConvolution(
            strides=moves.get("strides", (1, 1)), padding=moves.get("padding", same(kernel)),
            dilations=moves.get("dilations", (1, 1)), **self._finish(x, channels, kernel**2, unsigned=False),
        )  # fmt: skip
        return self.add(operator, x, self.constant(w), self._bias(x, channels), zero_point=operator.output_zero_point)

    def fully_connected(self, x: int, units: int, *, unsigned: bool = False) -> int:
        inner = self.samples[x].size
        w = self.integers((units, inner), np.uint8 if unsigned else np.int8)
        operator = FullyConnected(**self._finish(x, units, inner, unsigned=unsigned))
        return self.add(operator, x, self.constant(w), self._bias(x, units), zero_point=operator.output_zero_point)

    def is_wide(self, x: int) -> bool:
        """Whether it is int16 of which sums have 64 bits."""
        return self.wide_sums and self.samples[x].dtype == np.int16

    def _bias(self, x: int, channels: int) -> int:
        if self.is_wide(x):
            return self.constant(self.rng.integers(-(1 << 23), 1 << 23, channels))
        return self.constant(self.rng.integers(-500, 500, channels).astype(np.int32))

    def _finish(self, x: int, channels: int, products: int, *, unsigned: bool) -> dict[str, Any]:
        limits = np.iinfo(self.samples[x].dtype)
        shift = -int(np.log2(np.sqrt(products) * 70)) + 1
        return {
            "input_zero_point": self.zero_point(x), "weight_zero_point": 90 if unsigned else 0,
            "output_zero_point": 0 if self.is_wide(x) else int(limits.min) + 125,
            "rule": "long" if self.is_wide(x) else "double",
            "multiplier": self.rng.integers(1 << 30, 1 << 31, channels).astype(np.int32),
            "shift": np.full(channels, shift, np.int32), "clamp": (int(limits.min), int(limits.max)),
        }  # fmt: skip

    def network(self, *outputs: int) -> Network:
        return Network("net", dict(self.tensors), tuple(self.nodes), tuple(self.inputs), outputs)


def same(kernel: int) -> Padding:
    before = (kernel - 1) // 2
    return Padding(before, before, kernel - 1 - before, kernel - 1 - before)
