"""Workloads in YAML: a few layers with seeded weights, in TensorFlow Lite's arithmetic.

Weights are uniform int8 from ``numpy.random.default_rng(seed)``. A seeded sample runs along while layers are added, and
each output's scale is chosen so that three standard deviations of it fill the int8 range.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import PrivateAttr, model_validator

from tilesim import budgets
from tilesim.arithmetic.add import add_scaling_fixed
from tilesim.arithmetic.normalise import normalise_scaling, normalised_reals
from tilesim.config import load
from tilesim.errors import ModelError
from tilesim.network import operators
from tilesim.network.graph import Network, Node, Operator, Quantisation, Tensor
from tilesim.network.operators import Padding
from tilesim.network.readers import name_of
from tilesim.network.readers import yaml_layers as schema
from tilesim.network.readers.builder import NetworkBuilder, broadcast, sliding_window
from tilesim.network.readers.fault import collect
from tilesim.network.readers.fixed_point import clamp, multipliers, same_padding

INT8 = np.dtype(np.int8)
FULL = (-128, 127)
SPREAD = 3.0
"""Standard deviations of an output that its range holds."""
MOST_NAMED = 20
"""Layers that one might have meant."""


def read(path: Path) -> Network:
    """The network of a YAML workload; the last layer's output is the network's.

    Raises:
        ConfigError: a file that is not a workload, or layers that do not fit together.
    """
    return load(path, _WovenWorkload).network(name_of(path))


class _WovenWorkload(schema.Workload):
    """A workload whose layers have been put together, so that what does not fit is a fault of its place in the file."""

    _weaver: _Weaver = PrivateAttr()

    @model_validator(mode="after")
    def _weave(self) -> _WovenWorkload:
        faults: list[str] = []
        try:
            self._weaver = _Weaver.of(self)
            self._weaver.add_all(self.layers, faults)
        except ModelError as error:
            faults += error.faults
        if faults:
            raise ValueError("\n".join(faults))
        return self

    def network(self, name: str) -> Network:
        weaver = self._weaver
        return weaver.builder.network(name, (0,), (weaver.tensor(weaver.last).index,))


@dataclass
class _Weaver:
    """The network so far, with a sample of every activation."""

    builder: NetworkBuilder
    rng: np.random.Generator
    samples: dict[int, NDArray[np.int8]]
    indices: dict[str, int | None] = field(default_factory=lambda: {"input": 0})
    """Outputs by the layer's name; None where a fault, already reported, has left a layer without."""
    last: str = "input"
    elements: int = 0
    macs: int = 0
    """Of the sample so far."""

    @classmethod
    def of(cls, workload: schema.Workload) -> _Weaver:
        shape, rng = tuple(workload.input.shape), np.random.default_rng(workload.seed)
        known = Quantisation(np.array(workload.input.scale), workload.input.zero_point)
        if prod(shape) > budgets.MOST_SAMPLE_ELEMENTS:
            raise ModelError(
                f"input.shape must have at most {budgets.MOST_SAMPLE_ELEMENTS} elements, not {list(shape)}"
            )
        builder = NetworkBuilder({0: Tensor(0, "input", INT8, shape, known)})
        return cls(builder, rng, {0: rng.integers(-128, 128, shape, np.int8)})

    def add_all(self, layers: list[schema.AnyLayer], faults: list[str]) -> None:
        for place, layer in enumerate(layers):
            read = layer.input or self.last, getattr(layer, "other", "input")
            try:
                if None not in {self.indices.get(name, 0) for name in read}:
                    self.add(layer)
            except ModelError as error:
                collect(faults, f"layers.{place} ({layer.name})", error)
            self.indices.setdefault(layer.name, None)
            self.last = layer.name

    def tensor(self, name: str) -> Tensor:
        index = self.indices.get(name)
        if index is None:
            known = list(self.indices)
            names = ", ".join(known if len(known) <= MOST_NAMED else [*known[:MOST_NAMED], "..."])
            raise ModelError(f"must read a layer above it, one of {names}, not {name}")
        return self.builder.tensors[index]

    def add(self, layer: schema.AnyLayer) -> None:
        x = self.tensor(layer.input or self.last)
        self.afford(x.shape)
        if isinstance(layer, schema.ConvolutionSection | schema.DepthwiseSection):
            self.weighted_map(layer, x)
        elif isinstance(layer, schema.FullyConnectedSection):
            self.fully_connected(layer, x)
        elif isinstance(layer, schema.PoolSection):
            self.pool(layer, x)
        elif isinstance(layer, schema.AddSection):
            self.addition(layer, x)
        elif isinstance(layer, schema.NormaliseSection):
            self.normalisation(layer, x)
        elif isinstance(layer, schema.SoftmaxSection):
            scale, zero_point = 1 / 256, -128
            self.emit(layer, operators.Softmax(_scale(x), scale, zero_point, FULL), (x.index,), scale, zero_point)
        else:
            if prod(layer.shape) != prod(x.shape):
                raise ModelError(f"shape {layer.shape} must have as many elements as {list(x.shape)}")
            self.emit(layer, operators.Reshape(tuple(layer.shape)), (x.index,), _scale(x), _zero(x))

    def afford(self, shape: tuple[int, ...], windows: int = 0, macs: int = 0) -> None:
        """Refuse what would take the sample minutes, or gigabytes: a map, and the windows and products to make it."""
        self.elements, self.macs = self.elements + prod(shape), self.macs + macs
        counts = {
            f"make a map of {list(shape)}": (prod(shape), budgets.MOST_SAMPLE_ELEMENTS),
            "read its map by windows": (windows, budgets.MOST_SAMPLE_WINDOWS),
            "add to the elements of the layers before it": (self.elements, budgets.MOST_SAMPLE_TOTAL),
            "add to the multiplications of the layers before it": (self.macs, budgets.MOST_SAMPLE_MACS),
        }
        for what, (count, most) in counts.items():
            if count > most:
                raise ModelError(
                    f"must not {what}: a workload is computed while it is read, and {count} is above {most}"
                )

    def emit(
        self, layer: schema.LayerSection, operator: Operator, inputs: tuple[int, ...], scale: float, zero_point: int
    ) -> None:
        """Add the layer's node, and run the sample through it."""
        arrays = [self.samples[i] if i in self.samples else self.builder.tensors[i].data for i in inputs]
        sample = operator.evaluate([array for array in arrays if array is not None])
        index = self.builder.constant(layer.name, sample)  # takes the next index; what it holds is replaced at once
        known = Quantisation(np.array(scale), zero_point)
        self.builder.tensors[index] = Tensor(index, layer.name, INT8, sample.shape, known)
        self.builder.nodes.append(Node(layer.name, operator, inputs, index, layer.hints))
        self.samples[index], self.indices[layer.name] = sample, index

    def weights(
        self, layer: schema.LayerSection, shape: tuple[int, ...], channels: int, products: int
    ) -> tuple[tuple[int, int], float, float]:
        """Indices of new weights and bias, the weights' scale, and the deviation of their sums a step of the input."""
        if prod(shape) > budgets.MOST_SAMPLE_WEIGHTS:
            raise ModelError(f"must have at most {budgets.MOST_SAMPLE_WEIGHTS} weights, not shape {list(shape)}")
        data = self.rng.integers(-127, 128, shape, np.int8)
        squares = np.einsum("i,i->", data.reshape(-1), data.reshape(-1), dtype=np.int64)  # makes no copy of the weights
        deviation = float(np.sqrt(squares / data.size * products)) or 1.0
        bias = self.rng.integers(-8, 9, channels).astype(np.int32) * np.int32(deviation)
        indices = (
            self.builder.constant(f"{layer.name}/weights", data),
            self.builder.constant(f"{layer.name}/bias", bias),
        )
        scale = float(np.float32(1 / deviation))
        known = Quantisation(np.array(scale), 0)
        self.builder.tensors[indices[0]] = Tensor(indices[0], f"{layer.name}/weights", INT8, data.shape, known, data)
        return indices, scale, deviation

    def scaling(
        self, layer: schema.ActivatedSection, x: Tensor, w_scale: float, deviation: float, channels: int
    ) -> tuple[float, int, tuple[NDArray[np.int32], NDArray[np.int32]], tuple[int, int]]:
        """An output scale that spreads the sums over the range, and what follows from it: the output's zero point,
        multipliers and shifts of the sums, and the clamp.
        """
        steps = self.samples[x.index].astype(np.float64) - _zero(x)
        reals = SPREAD * (float(np.sqrt(np.mean(steps**2))) or 1.0) * deviation * _scale(x) * w_scale
        symmetric = layer.activation in {"none", "relu_n1_to_1"}
        limit = {"relu6": 6.0, "relu_n1_to_1": 1.0}.get(layer.activation, reals)
        scale = float(np.float32(min(reals, limit) / (127 if symmetric else 255)))
        zero_point = 0 if symmetric else -128
        factors = multipliers(np.array([_scale(x) * w_scale / scale]), channels)
        return scale, zero_point, factors, clamp(layer.activation, INT8, scale, zero_point)

    def weighted_map(self, layer: schema.ConvolutionSection | schema.DepthwiseSection, x: Tensor) -> None:
        padding = _padding(layer, x, layer.kernel, layer.dilations)
        made = sliding_window(x, layer.kernel, layer.strides, padding, layer.dilations).shape
        per_group = x.shape[3] // layer.groups if isinstance(layer, schema.ConvolutionSection) else 1
        shape, channels = _weights_shape(layer, x, per_group)
        self.afford(_padded(x, padding), prod(made) * prod(layer.kernel) * x.shape[3])
        self.afford((*made, channels), macs=prod(made) * channels * prod(layer.kernel) * per_group)
        (weights, bias), w_scale, deviation = self.weights(layer, shape, channels, prod(layer.kernel) * per_group)
        scale, zero_point, factors, limits = self.scaling(layer, x, w_scale, deviation, channels)
        groups = {"groups": layer.groups} if isinstance(layer, schema.ConvolutionSection) else {}
        kind: Any = operators.Convolution if groups else operators.DepthwiseConvolution
        operator = kind(
            strides=layer.strides, padding=padding, dilations=layer.dilations, **groups, input_zero_point=_zero(x),
            weight_zero_point=0, output_zero_point=zero_point, rule="double", multiplier=factors[0],
            shift=factors[1], clamp=limits,
        )  # fmt: skip
        self.emit(layer, operator, (x.index, weights, bias), scale, zero_point)

    def fully_connected(self, layer: schema.FullyConnectedSection, x: Tensor) -> None:
        inner = prod(x.shape[1:])
        self.afford((1, layer.units), macs=layer.units * inner)
        (weights, bias), w_scale, deviation = self.weights(layer, (layer.units, inner), layer.units, inner)
        scale, zero_point, factors, limits = self.scaling(layer, x, w_scale, deviation, layer.units)
        operator = operators.FullyConnected(_zero(x), 0, zero_point, "single", *factors, limits)
        self.emit(layer, operator, (x.index, weights, bias), scale, zero_point)

    def pool(self, layer: schema.PoolSection, x: Tensor) -> None:
        padding = _padding(layer, x, layer.window, (1, 1))
        made = sliding_window(x, layer.window, layer.strides, padding).shape
        self.afford(_padded(x, padding), prod(made) * prod(layer.window) * x.shape[3])
        limits = clamp(layer.activation, INT8, _scale(x), _zero(x))
        scales = _scale(x), _scale(x)
        operator: Operator = (
            operators.MaxPool(layer.window, layer.strides, padding, limits)
            if layer.kind == "max_pool"
            else operators.AveragePool(layer.window, layer.strides, padding, False, 0, 0, "divide", scales, limits)
        )
        self.emit(layer, operator, (x.index,), _scale(x), _zero(x))

    def addition(self, layer: schema.AddSection, x: Tensor) -> None:
        other = self.tensor(layer.other)
        self.afford(broadcast(x, other))
        zero_point = 0 if layer.activation in {"none", "relu_n1_to_1"} else -128
        scale = float(np.float32(np.hypot(_scale(x), _scale(other)) * (1.0 if zero_point == 0 else 0.5)))
        scaling = add_scaling_fixed((_scale(x), _scale(other), scale), (_zero(x), _zero(other), zero_point))
        operator = operators.Add("double", scaling, clamp(layer.activation, INT8, scale, zero_point))
        self.emit(layer, operator, (x.index, other.index), scale, zero_point)

    def normalisation(self, layer: schema.NormaliseSection, x: Tensor) -> None:
        how = layer.alpha, layer.beta, layer.bias
        scaling = normalise_scaling((_scale(x), 1.0), (_zero(x), 0), *how)  # reals don't depend on the output's scale
        deviation = float(np.sqrt(np.mean(normalised_reals(self.samples[x.index], layer.size, scaling) ** 2)))
        scale = float(np.float32(SPREAD * (deviation or 1.0) / 127))
        scaling = normalise_scaling((_scale(x), scale), (_zero(x), 0), *how)
        self.emit(layer, operators.Normalise(layer.size, scaling, FULL), (x.index,), scale, 0)


def _scale(tensor: Tensor) -> float:
    return 1.0 if tensor.quantisation is None else float(tensor.quantisation.scale)


def _zero(tensor: Tensor) -> int:
    return 0 if tensor.quantisation is None else tensor.quantisation.zero_point


def _padding(layer: schema.WindowSection, x: Tensor, window: tuple[int, int], dilations: tuple[int, int]) -> Padding:
    if layer.padding == "valid" or len(x.shape) != 4:
        return Padding()
    return same_padding(x.shape[1:3], window, layer.strides, dilations)


def _padded(x: Tensor, padding: Padding) -> tuple[int, ...]:
    n, height, width, channels = x.shape
    return n, height + padding.top + padding.bottom, width + padding.left + padding.right, channels


def _weights_shape(
    layer: schema.ConvolutionSection | schema.DepthwiseSection, x: Tensor, per_group: int
) -> tuple[tuple[int, ...], int]:
    if isinstance(layer, schema.DepthwiseSection):
        channels = x.shape[3] * layer.channel_multiplier
        return (*layer.kernel, channels), channels
    if per_group * layer.groups != x.shape[3] or layer.filters % layer.groups:
        raise ModelError(f"groups must divide {x.shape[3]} channels and {layer.filters} filters, not {layer.groups}")
    return (layer.filters, *layer.kernel, per_group), layer.filters
