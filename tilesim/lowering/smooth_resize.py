"""Bilinear resizes by powers of two, made of layers that units have: copies of the nearest pixel, then a mean of some.

Of a map that is f times as large each pixel is copied f times side by side. Of the copies, f + 1 with the weights 1,
2 ... 2, 1 make up the mean of the nearest two where places count from the middle of a pixel, and f with the weight 1
where they count from its edge. Beyond the edge of the map the outermost pixels are copied once more, as the mean of
one pixel with itself. For powers of two all weights are binary fractions: the sums are exact, and so is their
quotient, which is rounded half away from zero, as the reference kernels do.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import replace

import numpy as np

from tilesim.arithmetic.requantise import wide_bits
from tilesim.network.graph import Network, Node, Tensor
from tilesim.network.operators import DepthwiseConvolution, Padding, ResizeBilinear, ResizeNearest

MOST = 8
"""By more than so many times, the mean would be one over too many pixels."""
BYTES = (np.dtype(np.int8), np.dtype(np.uint8))


def with_smooth_resizes(network: Network, some: Container[int]) -> Network:
    """The network, with copies and a mean instead of those bilinear resizes, by their outputs, that can be made so.
    Names of the copies end in ``/nearest``; of one pixel, they are all there is.
    """
    tensors, nodes = dict(network.tensors), list[Node]()
    for node in network.nodes:
        nodes += _layers(node, tensors) if node.output in some and is_smooth(network, node) else [node]
    return network if nodes == [*network.nodes] else replace(network, nodes=tuple(nodes), tensors=tensors)


def is_smooth(network: Network, node: Node) -> bool:
    """Whether a node is a bilinear resize that can be made of other layers."""
    op, x = node.operator, network.tensors[node.inputs[0]]
    if not isinstance(op, ResizeBilinear) or op.align or x.dtype not in BYTES or len(x.shape) != 4 or x.shape[0] != 1:
        return False
    return x.data is None and all(_divides(old, new) for old, new in zip(x.shape[1:3], op.size, strict=True))


def _divides(old: int, new: int) -> bool:
    times, rest = divmod(new, old)
    return old == 1 or (not rest and times & (times - 1) == 0 and times <= MOST)


def _layers(node: Node, tensors: dict[int, Tensor]) -> Iterator[Node]:
    op, x, made = node.operator, tensors[node.inputs[0]], tensors[node.output]
    assert isinstance(op, ResizeBilinear)
    sides = [_side(old, new, centred=op.centred) for old, new in zip(x.shape[1:3], op.size, strict=True)]
    (rows, down), (columns, across) = sides
    channels = x.shape[3]
    if len(down) == len(across) == 1:
        yield replace(node, operator=ResizeNearest(rows, columns), inputs=node.inputs[:1])
        return
    shape = (1, len(rows), len(columns), channels)
    near = _add(tensors, replace(x, name=f"{made.name}/nearest", shape=shape, model_axes=made.model_axes))
    yield Node(f"{node.name}/nearest", ResizeNearest(rows, columns), (x.index,), near)
    kernel = np.multiply.outer(np.multiply.outer(down, across), np.ones(channels, np.int64)).astype(x.dtype)
    weights = _add(tensors, Tensor(0, f"{made.name}/weights", kernel.dtype, kernel.shape, data=kernel))
    none = np.zeros(channels, np.int32)
    bias = _add(tensors, Tensor(0, f"{made.name}/no_bias", none.dtype, none.shape, data=none))
    low, high = wide_bits(np.full(channels, 1 / (sum(down) * sum(across))))
    limits = np.iinfo(x.dtype)
    mean = DepthwiseConvolution(
        (1, 1), Padding(), (1, 1), 0, 0, 0, "wide", low, high, (int(limits.min), int(limits.max))
    )
    yield replace(node, operator=mean, inputs=(near, weights, bias))


def _side(old: int, new: int, *, centred: bool) -> tuple[tuple[int, ...], list[int]]:
    """Of which pixels along an axis there are copies, and the weights of those that make up one of the new ones."""
    times = new // old
    if 1 in {times, old}:
        return tuple(place * old // new for place in range(new)), [1]
    before, after = (times // 2, times // 2) if centred else (0, times - 1)
    copies = [min(max((place - before) // times, 0), old - 1) for place in range(new + before + after)]
    return tuple(copies), [1, *[2] * (times - 1), 1] if centred else [1] * times


def _add(tensors: dict[int, Tensor], tensor: Tensor) -> int:
    index = max(tensors) + 1
    tensors[index] = replace(tensor, index=index)
    return index
