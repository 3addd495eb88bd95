"""Concatenations and slices of channels that don't fill words, made of such as do, and of products with 0 and 1.

A convolution of one tap whose weights are 0 and 1 picks channels, in any order and with gaps between. So tensors are
widened to whole words before they are put together, and what was put between is left out after that; and a slice that
begins within a word is picked. A factor of 1 and zero points of 0 leave every byte what it is.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import replace

import numpy as np

from tilesim.network.graph import Network, Node, Tensor
from tilesim.network.operators import Concatenation, Convolution, Padding, Slice

ONE = (1 << 30, 1)
"""Multiplier and shift of the factor 1."""
BYTES = (np.dtype(np.int8), np.dtype(np.uint8))


def with_whole_words(network: Network, some: Container[int], word_bytes: int) -> Network:
    """The network, with other layers instead of those concatenations and slices, by their outputs, that can be made so.
    Names of these end in ``/widened``, ``/together`` and ``/box``.
    """
    tensors, nodes = dict(network.tensors), list[Node]()
    for node in network.nodes:
        picks = node.output in some and is_odd(network, node, word_bytes)
        nodes += _layers(node, tensors, word_bytes) if picks else [node]
    return network if nodes == [*network.nodes] else replace(network, nodes=tuple(nodes), tensors=tensors)


def is_odd(network: Network, node: Node, word_bytes: int) -> bool:
    """Whether a node is a concatenation along channels, or a slice, of maps of bytes whose channels don't fill words of
    so many.
    """
    op, read = node.operator, [network.tensors[index] for index in node.inputs]
    if any(x.dtype not in BYTES or len(x.shape) != 4 or x.shape[0] != 1 or x.data is not None for x in read):
        return False
    if isinstance(op, Concatenation):
        return op.axis == 3 and any(x.shape[3] % word_bytes for x in read[:-1])
    return isinstance(op, Slice) and op.begin[3] % word_bytes > 0


def _layers(node: Node, tensors: dict[int, Tensor], word_bytes: int) -> Iterator[Node]:
    if isinstance(node.operator, Slice):
        yield from _sliced(node, node.operator, tensors)
        return
    parts, kept, first = list[int](), list[int](), 0
    for place, index in enumerate(node.inputs):
        channels = tensors[index].shape[3]
        width = channels if place == len(node.inputs) - 1 else -(-channels // word_bytes) * word_bytes
        parts.append(index)
        if width != channels:
            parts[-1] = _like(tensors, index, f"{tensors[index].name}/widened", width)
            yield _picked(f"{node.name}/widened{place}", index, parts[-1], range(channels), width, tensors)
        kept += range(first, first + channels)
        first += width
    both = _like(tensors, node.output, f"{tensors[node.output].name}/together", first)
    yield replace(node, name=f"{node.name}/together", inputs=tuple(parts), output=both)
    yield _picked(node.name, both, node.output, kept, len(kept), tensors)


def _sliced(node: Node, op: Slice, tensors: dict[int, Tensor]) -> Iterator[Node]:
    """The box with all channels, if it is not of all rows and columns, then some of these."""
    (source,), x = node.inputs, tensors[node.inputs[0]]
    if op.size[1:3] != x.shape[1:3]:
        size = (*op.size[:3], x.shape[3])
        box = _add(tensors, replace(tensors[node.output], name=f"{tensors[node.output].name}/box", shape=size))
        yield Node(f"{node.name}/box", replace(op, begin=(*op.begin[:3], 0), size=size), (source,), box)
        source = box
    kept = [*range(op.begin[3], op.begin[3] + op.size[3])]
    yield _picked(node.name, source, node.output, kept, len(kept), tensors)


def _picked(name: str, source: int, output: int, kept: Sequence[int], width: int, tensors: dict[int, Tensor]) -> Node:
    """A node that makes ``width`` channels: those ``kept``, then nothing."""
    x = tensors[source]
    weights = np.zeros((width, 1, 1, x.shape[3]), x.dtype)
    weights[np.arange(len(kept)), 0, 0, np.array(kept)] = 1
    multiplier, shift = (np.full(width, number, np.int32) for number in ONE)
    limits = np.iinfo(x.dtype)
    clamp = int(limits.min), int(limits.max)
    op = Convolution((1, 1), Padding(), (1, 1), 1, 0, 0, 0, "double", multiplier, shift, clamp)
    constants = [
        _add(tensors, Tensor(0, f"{name}/{what}", data.dtype, data.shape, data=data))
        for what, data in (("picks", weights), ("no_bias", np.zeros(width, np.int32)))
    ]
    return Node(name, op, (source, *constants), output)


def _like(tensors: dict[int, Tensor], index: int, name: str, channels: int) -> int:
    tensor = tensors[index]
    return _add(tensors, replace(tensor, name=name, shape=(*tensor.shape[:3], channels)))


def _add(tensors: dict[int, Tensor], tensor: Tensor) -> int:
    index = max(tensors) + 1
    tensors[index] = replace(tensor, index=index)
    return index
