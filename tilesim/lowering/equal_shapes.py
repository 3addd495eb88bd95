"""Pairs of tensors of different shapes, made pairs of the same: units take two maps, pixel by pixel.

A pixel that goes with all of a map becomes a map of copies of it; a channel that goes with all others, one of copies of
that; constants become maps in a layer whose weights are all zero and which adds them as its bias.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from operator import is_
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilesim.network.graph import Network, Node, Operator, Tensor
from tilesim.network.operators import (
    Add,
    Convolution,
    DepthwiseConvolution,
    Multiply,
    Padding,
    Reshape,
    ResizeNearest,
    TransposeConvolution,
)

PAIRS = (Add, Multiply)
ONE = (1 << 30, 1)
"""Multiplier and shift of the factor 1."""

Array: TypeAlias = NDArray[Any]


def with_equal_shapes(network: Network) -> Network:
    """The network, each of its pairs of one shape where that can be. Of transposed convolutions it leaves out the
    output's shape, which the model file has as well; it is no input then, unless something else reads it.
    """
    draft = _Draft(network)
    nodes = tuple(node for old in network.nodes for node in draft.of(old))
    if len(nodes) == len(network.nodes) and all(map(is_, nodes, network.nodes)):
        return network
    read, before = ({index for node in some for index in node.inputs} for some in (nodes, network.nodes))
    inputs = tuple(index for index in network.inputs if index in read or index not in before)
    return replace(network, nodes=nodes, tensors=draft.tensors, inputs=inputs)


class _Draft:
    """The tensors of a network, and those that are added to them."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.tensors = dict(network.tensors)

    def of(self, node: Node) -> Iterator[Node]:
        """What becomes of a node."""
        if isinstance(node.operator, TransposeConvolution) and len(node.inputs) > 3:
            yield replace(node, inputs=node.inputs[:3])
            return
        made, inputs = self.tensors[node.output], list(node.inputs)
        for place, index in enumerate(node.inputs if isinstance(node.operator, PAIRS) else ()):
            other = self.tensors[node.inputs[1 - place]]
            for spread in self._spread(self.tensors[index], other, made):
                yield spread
                inputs[place] = spread.output
        yield replace(node, inputs=tuple(inputs)) if inputs != [*node.inputs] else node

    def _spread(self, tensor: Tensor, other: Tensor, made: Tensor) -> Iterator[Node]:
        """What makes of a tensor a map of the shape that is made, if anything has to and can."""
        shape = (1,) * (len(made.shape) - len(tensor.shape)) + tensor.shape
        if len(made.shape) != 4 or made.shape[0] != 1 or (tensor.data is None and tensor.shape == made.shape):
            return
        if tensor.data is not None:
            if shape[:3] == (1, 1, 1) and other.data is None and other.shape == made.shape:
                yield self._constant(tensor, tensor.data, other, made)
        elif shape == (1, 1, 1, made.shape[3]):
            yield from self._pixel(tensor, shape, made)
        elif shape == (*made.shape[:3], 1):
            yield self._channels(tensor, made)

    def _pixel(self, tensor: Tensor, shape: tuple[int, ...], made: Tensor) -> Iterator[Node]:
        """Copies of a pixel, or of a vector, of all channels."""
        if tensor.shape != shape:
            pixel = self._add(replace(tensor, name=f"{tensor.name}/pixel", shape=shape, model_axes=None))
            yield Node(f"{tensor.name}/pixel", Reshape(shape), (tensor.index,), pixel)
            tensor = self.tensors[pixel]
        if made.shape[1:3] != (1, 1):
            op = ResizeNearest((0,) * made.shape[1], (0,) * made.shape[2])
            yield self._node(tensor, op, (tensor.index,), made)

    def _constant(self, tensor: Tensor, data: Array, other: Tensor, made: Tensor) -> Node:
        channels = made.shape[3]
        kind = np.dtype(np.uint8) if other.dtype == np.uint8 else np.dtype(np.int8)
        weights = self._parameter(f"{tensor.name}/none", np.zeros((1, 1, channels), kind))
        values = np.broadcast_to(data.reshape(-1), (channels,)).astype(np.int32)
        bias = self._parameter(f"{tensor.name}/values", values)
        zero = other.quantisation.zero_point if other.quantisation else 0
        scale, limits = _factors(channels), np.iinfo(tensor.dtype)
        op = DepthwiseConvolution(
            (1, 1), Padding(), (1, 1), zero, 0, 0, "double", *scale, (int(limits.min), int(limits.max))
        )
        return self._node(tensor, op, (other.index, weights, bias), made)

    def _channels(self, tensor: Tensor, made: Tensor) -> Node:
        channels = made.shape[3]
        kind = np.dtype(np.uint8) if tensor.dtype == np.uint8 else np.dtype(np.int8)
        weights = self._parameter(f"{tensor.name}/ones", np.ones((channels, 1, 1, 1), kind))
        bias = self._parameter(f"{tensor.name}/no_bias", np.zeros(channels, np.int32))
        zero = tensor.quantisation.zero_point if tensor.quantisation else 0
        limits = np.iinfo(tensor.dtype)
        op = Convolution(
            (1, 1), Padding(), (1, 1), 1, zero, 0, zero, "double", *_factors(channels),
            (int(limits.min), int(limits.max)),
        )  # fmt: skip
        return self._node(tensor, op, (tensor.index, weights, bias), made)

    def _node(self, tensor: Tensor, op: Operator, inputs: tuple[int, ...], made: Tensor) -> Node:
        """A node whose output has the values of ``tensor`` and the shape that is made."""
        name = f"{tensor.name}/spread"
        index = self._add(replace(tensor, name=name, shape=made.shape, data=None, model_axes=made.model_axes))
        return Node(name, op, inputs, index)

    def _parameter(self, name: str, data: Array) -> int:
        return self._add(Tensor(0, name, data.dtype, data.shape, data=data))

    def _add(self, tensor: Tensor) -> int:
        index = max(self.tensors) + 1
        self.tensors[index] = replace(tensor, index=index)
        return index


def _factors(channels: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    multiplier, shift = (np.full(channels, number, np.int32) for number in ONE)
    return multiplier, shift
