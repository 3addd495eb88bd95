"""What a layer needs of its input, axis by axis."""

from __future__ import annotations

from dataclasses import dataclass

from tilesim.network.graph import Network, Node, Operator
from tilesim.network.operators.average_pool import AveragePool
from tilesim.network.operators.convolution import Convolution
from tilesim.network.operators.depthwise_convolution import DepthwiseConvolution
from tilesim.network.operators.fully_connected import FullyConnected
from tilesim.network.operators.max_pool import MaxPool
from tilesim.network.operators.mean import Mean
from tilesim.network.operators.pad import Pad
from tilesim.network.operators.resize_nearest import ResizeNearest
from tilesim.network.operators.slice import Slice
from tilesim.tiled.compiler.axis import NOTHING, clip
from tilesim.tiled.compiler.feature_map import MapShape


@dataclass(frozen=True)
class ReceptiveField:
    """Output position p reads ``reach`` input positions from p * ``stride`` - ``before`` on; those off the map only if
    ``border``.
    """

    reach: int
    stride: int = 1
    before: int = 0
    border: bool = False

    def reads(self, outputs: range) -> range:
        """The input positions that some output positions read, on the map or off it."""
        if not outputs:
            return NOTHING
        return range(
            outputs.start * self.stride - self.before, (outputs.stop - 1) * self.stride - self.before + self.reach
        )

    def need(self, outputs: range, size: int) -> range:
        """Those of them, of ``size``, whose value matters."""
        read = self.reads(outputs)
        return read if self.border else range(max(0, read.start), max(0, read.start, min(size, read.stop)))


@dataclass(frozen=True)
class CopiedField(ReceptiveField):
    """Output position p reads input position ``sources[p]``; these never decrease. There is no stride to cut by."""

    sources: tuple[int, ...] = ()

    def reads(self, outputs: range) -> range:
        """The input positions that some output positions, those on the map, read."""
        inside = self.sources[outputs.start : outputs.stop]
        return range(inside[0], inside[-1] + 1) if inside else NOTHING

    def need(self, outputs: range, size: int) -> range:
        """The same: none of them is off the map."""
        return clip(self.reads(outputs), 0, size)


EVERYTHING = ReceptiveField(1 << 30)


def receptive_fields(network: Network, node: Node) -> tuple[ReceptiveField, ReceptiveField]:
    """Down and across."""
    op, tensors = node.operator, network.tensors
    if isinstance(op, Convolution | DepthwiseConvolution):
        weights = tensors[node.inputs[1]].shape
        kernel = weights[1:3] if isinstance(op, Convolution) else weights[:2]
        before = (op.padding.top, op.padding.left)
        down, across = (
            ReceptiveField((kernel[k] - 1) * op.dilations[k] + 1, op.strides[k], before[k], True) for k in (0, 1)
        )
        return down, across
    if isinstance(op, AveragePool | MaxPool):
        return (
            ReceptiveField(op.window[0], op.strides[0], op.padding.top),
            ReceptiveField(op.window[1], op.strides[1], op.padding.left),
        )
    if isinstance(op, FullyConnected | Mean):
        return EVERYTHING, EVERYTHING
    return _pixels(op)


def _pixels(op: Operator) -> tuple[ReceptiveField, ReceptiveField]:
    """Of a layer that makes each pixel from one of each input."""
    if isinstance(op, Pad):
        return ReceptiveField(1, before=op.before[1], border=True), ReceptiveField(1, before=op.before[2], border=True)
    if isinstance(op, Slice) and len(op.begin) == 4:
        return ReceptiveField(1, before=-op.begin[1]), ReceptiveField(1, before=-op.begin[2])
    if isinstance(op, ResizeNearest):
        return CopiedField(1, 0, sources=op.rows), CopiedField(1, 0, sources=op.columns)
    return ReceptiveField(1), ReceptiveField(1)


def gathers(network: Network, node: Node) -> bool:
    """Whether one output reads (nearly) all of the input, so that no cut of the map into neighbours serves."""
    if isinstance(node.operator, FullyConnected):
        return True
    return MapShape.of(network.tensors[node.output].shape).pixels == 1


def spreads(network: Network, node: Node) -> bool:
    """Whether a node is spread by its outputs: fully connected layers, and convolutions that are one in effect."""
    op = node.operator
    if isinstance(op, FullyConnected):
        return True
    shapes = [MapShape.of(network.tensors[index].shape) for index in (node.inputs[0], node.output)]
    kernel = network.tensors[node.inputs[1]].shape[1:3] if isinstance(op, Convolution) and op.groups == 1 else ()
    return kernel == (1, 1) and all(shape.pixels == 1 for shape in shapes)
