"""What the passes of the compiler have to know of an operator, such as what an output position needs of its input; a
row for each stands beside its lowering.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from msgspec import Struct

from tilesim.network.graph import Network, Node
from tilesim.network.operators import Convolution, DepthwiseConvolution, TransposeConvolution
from tilesim.tiled.compiler.axis import NOTHING, clip
from tilesim.tiled.isa.model.instructions import TensorOp


class ReceptiveField(Struct, frozen=True):
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


class CopiedField(ReceptiveField, frozen=True):
    """Output position p reads input position ``sources[p]``; these never decrease. There is no stride to cut by."""

    sources: tuple[int, ...] = ()

    def reads(self, outputs: range) -> range:
        """The input positions that some output positions, those on the map, read."""
        inside = self.sources[outputs.start : outputs.stop]
        return range(inside[0], inside[-1] + 1) if inside else NOTHING

    def need(self, outputs: range, size: int) -> range:
        """The same: none of them is off the map."""
        return clip(self.reads(outputs), 0, size)


class SpreadField(ReceptiveField, frozen=True):
    """Input position p adds to ``reach`` output positions from p * ``pitch`` - ``before`` on. There is no stride to cut
    by.
    """

    pitch: int = 1

    def reads(self, outputs: range) -> range:
        """The input positions that add to some output positions, on the map or off it."""
        if not outputs:
            return NOTHING
        first, last = outputs.start + self.before, outputs.stop - 1 + self.before
        return range(-(-(first - self.reach + 1) // self.pitch), last // self.pitch + 1)


EVERYTHING = ReceptiveField(1 << 30)

Fields: TypeAlias = tuple[ReceptiveField, ReceptiveField]
"""Down and across."""


def each_pixel(_op: Any, _weights: tuple[int, ...]) -> Fields:
    """Of a layer that makes each pixel from the same one of each input."""
    return ReceptiveField(1), ReceptiveField(1)


def everything(_op: Any, _weights: tuple[int, ...]) -> Fields:
    return EVERYTHING, EVERYTHING


def under_kernel(op: Convolution | DepthwiseConvolution, weights: tuple[int, ...]) -> Fields:
    """Of weights (..., kH, kW, C)."""
    before, kernel = (op.padding.top, op.padding.left), weights[-3:-1]
    down, across = (
        ReceptiveField((kernel[k] - 1) * op.dilations[k] + 1, op.strides[k], before[k], True) for k in (0, 1)
    )
    return down, across


def spread_by_kernel(op: TransposeConvolution, weights: tuple[int, ...]) -> Fields:
    """Of weights (O, kH, kW, C), each pixel of which goes to as many outputs; where there are fewer than a stride, some
    outputs get nothing, and read the pixel before them.
    """
    down, across = (
        SpreadField(max(weights[1 + k], op.strides[k]), 0, op.cropped[k], True, pitch=op.strides[k]) for k in (0, 1)
    )
    return down, across


Faults = Callable[[Network, Node, int], Iterable[str]]
"""Why tiles with words of so many bytes can't run a node: sentences without their subject."""


def no_constants(network: Network, node: Node, _word_bytes: int) -> list[str]:
    return _constants(network, node.inputs)


def constant_weights(network: Network, node: Node, _word_bytes: int) -> list[str]:
    return _constants(network, node.inputs[:1])


def _constants(network: Network, inputs: Iterable[int]) -> list[str]:
    tensors = (network.tensors[index] for index in inputs)
    return [
        f"must work on activations, not on the constant {tensor.title}" for tensor in tensors if tensor.data is not None
    ]


class TileTraits(Struct, frozen=True):
    """How tiles run an operator.

    ``lower`` makes its tensorops from a task and the operator; ``fields`` says what of its input they read, given the
    shape of its weights, or ``()``. ``channel_wise``: it makes each channel from the same one of its inputs;
    ``row_by_row``: it is one tensorop, whose rows can be made in either direction, each of them raising the flag;
    ``in_chunks``: its outputs can be made some channels at a time, each with its own parameters; ``one_table``: its
    parameters are the same for all channels.
    """

    lower: Callable[..., list[TensorOp]]
    fields: Callable[[Any, tuple[int, ...]], Fields] = each_pixel
    faults: Faults = no_constants
    channel_wise: bool = False
    row_by_row: bool = False
    in_chunks: bool = False
    one_table: bool = False
