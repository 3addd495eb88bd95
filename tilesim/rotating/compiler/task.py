"""What the array runs as one: a node, the maps that it reads and makes, and the windows in which it does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilesim.network.graph import Array, Node, Tensor
from tilesim.network.operators import (
    Add,
    AveragePool,
    Convolution,
    DepthwiseConvolution,
    FullyConnected,
    MaxPool,
    Mean,
    Multiply,
    Rescale,
    Table,
)
from tilesim.rotating.compiler.scaling import Scaling, narrow
from tilesim.rotating.compiler.windows import Window

Weighted: TypeAlias = Convolution | DepthwiseConvolution | FullyConnected
WEIGHTED = (Convolution, DepthwiseConvolution, FullyConnected)
MIXING = (Convolution, FullyConnected)
"""What makes each channel of all channels."""
POOLS = (MaxPool, AveragePool, Mean)
PAIRS = (Add, Multiply)
ALONE = (Rescale, Table)
"""What makes each element of the one in its place."""
DTYPES = ("int8", "uint8", "int16")
FRESH = 1 << 32
"""Numbers of tensors that no network has are so far beyond that of what is made of them."""
STRIPES = 1 << 16
"""Stripes of a tensor, and copies of it, are fewer."""

MapShape = tuple[int, int, int]
"""Lines, columns and channels."""

Family = Literal["mixing", "channelwise", "elements", "rewriting"]
"""How what a layer makes stands to what it reads: in blocks of its choice, in the blocks of the same channels, in the
same words, or wherever it is rewritten to.
"""


def map_shape(shape: Sequence[int]) -> MapShape:
    """Of a tensor: its last axis is its channels, the one before its columns, all others are lines."""
    *lines, columns, channels = (1, 1, *shape[1:]) if len(shape) < 4 else shape[1:]
    return prod(lines), columns, channels


def operand_indices(node: Node) -> tuple[int, ...]:
    """The tensors that a node reads: all but weights and biases."""
    return node.inputs[:1] if isinstance(node.operator, WEIGHTED) else node.inputs


@dataclass(frozen=True, eq=False)
class Cut:
    """Of stripe ``number`` of what a layer makes: its ``first`` column, and the first of each stripe that it is made
    of. ``width``: of the map that the first of these is of.
    """

    number: int
    first: int
    begins: tuple[int, ...]
    width: int
    moved: NDArray[np.int64] | None = None
    """Of a layer that only moves elements: which one each is, as :func:`~tilesim.rotating.compiler.moves.wanted` has
    it.
    """


@dataclass(frozen=True, eq=False)
class Task:
    """The node ``layer``, which makes ``output`` of ``inputs``, as these stand in the data RAM, of the shapes ``maps``,
    and into ``made``.
    """

    layer: int
    node: Node
    inputs: tuple[Tensor, ...]
    output: Tensor
    maps: tuple[MapShape, ...]
    made: MapShape
    network: str = ""
    is_copy: bool = False
    """Whether the network knows nothing of it."""
    constants: tuple[Array, ...] = field(default=(), repr=False)
    """Weights and biases, as the operator has them."""
    shapes: tuple[tuple[int, ...], ...] = ()
    """Those of the inputs as the operator reads them, if a reshape is between."""
    cut: Cut | None = field(default=None, repr=False)
    """Which columns it makes, if not all; then its tensors are stripes of the network's."""

    @property
    def label(self) -> str:
        """What labels of its instructions begin with."""
        own = f"{self.node.kind}{self.layer}"
        own = f"{own}.copy{self.output.index // FRESH % STRIPES}" if self.is_copy else own
        return own if self.cut is None else f"{own}.stripe{self.cut.number}"

    @property
    def title(self) -> str:
        """How a sentence names it."""
        return f"{self.network}: node {self.node.title} ({self.node.kind})"

    @property
    def family(self) -> Family:
        op = self.node.operator
        if isinstance(op, MIXING):
            return "mixing"
        if isinstance(op, (DepthwiseConvolution, *POOLS)):
            return "channelwise"
        return "elements" if isinstance(op, PAIRS + ALONE) else "rewriting"

    @property
    def window(self) -> Window:
        """Of a stripe, with the padding that puts its windows where they belong: less than none skips columns."""
        if self.cut is None or self.family in ("elements", "rewriting"):
            return self._window
        window, cut = self._window, self.cut
        first = cut.first * window.strides[1] - window.padding.left
        over = (self.made[1] - 1) * window.strides[1] + (window.kernel[1] - 1) * window.dilations[1] + 1
        right = first + over - cut.begins[0] - window.size[1]
        return replace(window, padding=window.padding._replace(left=cut.begins[0] - first, right=right))

    @property
    def skips(self) -> tuple[int, ...]:
        """The columns of each input before the first that it makes, of a layer that makes each of the one in its
        place.
        """
        return (0,) * len(self.inputs) if self.cut is None else tuple(self.cut.first - k for k in self.cut.begins)

    @property
    def counted(self) -> tuple[int, slice]:
        """The columns of the network's map that it reads, and those that it makes of what is made of these."""
        if self.cut is None:
            return self.maps[0][1], slice(None)
        return self.cut.width, slice(self.cut.first, self.cut.first + self.made[1])

    @property
    def _window(self) -> Window:
        op, size = self.node.operator, (self.made if self.family == "elements" else self.maps[0])[:2]
        if isinstance(op, FullyConnected | Mean):
            return Window(size, size)
        if isinstance(op, MaxPool | AveragePool):
            return Window(size, op.window, op.strides, op.padding)
        if isinstance(op, Convolution | DepthwiseConvolution):
            return Window(size, self.kernel, op.strides, op.padding, op.dilations)
        return Window(size)

    @property
    def kernel(self) -> tuple[int, int]:
        """Rows and columns of the weights of a convolution."""
        shape = self.constants[0].shape
        first = 0 if isinstance(self.node.operator, DepthwiseConvolution) else 1
        return shape[first], shape[first + 1]

    @cached_property
    def scaling(self) -> Scaling | None:
        """The factors of a layer that scales its sums, as the chip has room for them; None if it has not."""
        op = self.node.operator
        assert isinstance(op, (*WEIGHTED, Mean, Rescale))
        low, high = (limit - op.output_zero_point for limit in op.clamp)
        scaling = Scaling(op.rule, np.atleast_1d(np.int32(op.multiplier)), np.atleast_1d(np.int32(op.shift)))
        return narrow(scaling, (low, high))

    @property
    def pads(self) -> int | None:
        """What words beyond the edges of a line must hold; None where windows reach over none."""
        op, reach = self.node.operator, self.window.reach
        if max(reach.left, reach.right) <= 0:
            return None
        if isinstance(op, Convolution | DepthwiseConvolution | AveragePool):
            return op.input_zero_point
        return int(np.iinfo(self.inputs[0].dtype).min) if isinstance(op, MaxPool) else None
