"""What an output position needs of a layer's input, axis by axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from tilesim.network.operators.convolution import Convolution
from tilesim.network.operators.depthwise_convolution import DepthwiseConvolution
from tilesim.tiled.compiler.axis import NOTHING, clip


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

Fields: TypeAlias = tuple[ReceptiveField, ReceptiveField]
"""Down and across."""


def each_pixel(_op: Any, _weights: tuple[int, ...]) -> Fields:
    """Of a layer that makes each pixel from the same one of each input."""
    return ReceptiveField(1), ReceptiveField(1)


def everything(_op: Any, _weights: tuple[int, ...]) -> Fields:
    return EVERYTHING, EVERYTHING


def under_kernel(op: Convolution | DepthwiseConvolution, kernel: tuple[int, ...]) -> Fields:
    before = (op.padding.top, op.padding.left)
    down, across = (
        ReceptiveField((kernel[k] - 1) * op.dilations[k] + 1, op.strides[k], before[k], True) for k in (0, 1)
    )
    return down, across
