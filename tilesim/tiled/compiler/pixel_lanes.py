"""How many pixels of a row a layer makes at once, each in lanes of its own: as many as pays, by estimate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

from tilesim.machines.policies import Wishes
from tilesim.network.graph import Node
from tilesim.network.operators import Convolution, DepthwiseConvolution
from tilesim.tiled.compiler.feature_map import FeatureMap
from tilesim.tiled.compiler.lower.side_by_side import SideBySide
from tilesim.tiled.compiler.parameters import operand_stride
from tilesim.tiled.compiler.tile_plan import TilePlan
from tilesim.tiled.topology import Topology

MARGIN = 2
"""Weights for which there is no room must save so many times the cycles that data memory takes to bring them."""

PARAMETER_ROWS = 3
"""Wide rows of bias, multiplier and shift for each block of lanes."""


@dataclass(frozen=True)
class Kernel:
    """A layer's kernel on a tile: ``words`` of inputs a tap, ``channels`` (whole words) of a pixel, of which a step
    makes ``at_once``.
    """

    rows: int
    taps: int
    words: int
    channels: int
    stride: int
    dilation: int
    dense: bool


@dataclass
class PixelLanes:
    """Decides layer by layer. ``spent`` are the bytes that all layers so far take beyond those of one pixel at once."""

    plan: TilePlan
    topology: Topology
    wishes: Wishes
    spent: int = 0

    def pixels(self, node: Node, made: FeatureMap) -> int:
        """For the map ``made`` that a layer makes; 1 if only one pixel has room, or more don't pay."""
        kernel = self._kernel(node, made)
        if not self.wishes.mixed or kernel is None or 2 * made.pixel_bytes > self.topology.tile.lanes:
            return 1
        outputs = max(map(len, made.columns.blocks))
        rows = max(map(len, made.rows.blocks))
        most = min(self.topology.tile.lanes // made.pixel_bytes, outputs)
        turns = range(1, outputs + 1)
        choices = {
            n: rows * self._row_cycles(kernel, n, outputs) for n in {-(-outputs // t) for t in turns} if n <= most
        }
        alone = choices.pop(1)
        best = min(choices, key=lambda n: (choices[n], n), default=1)
        if best == 1 or choices[best] >= alone or not self._pays(kernel, best, alone - choices[best]):
            return 1
        self.spent += self._bytes(kernel, best) - self._bytes(kernel, 1)
        return best

    def _kernel(self, node: Node, made: FeatureMap) -> Kernel | None:
        op = node.operator
        if not isinstance(op, Convolution | DepthwiseConvolution):
            return None
        [source] = self.plan.activations(node)
        weights = self.plan.network.tensors[node.inputs[1]].shape
        channels = made.block if made.block and isinstance(op, DepthwiseConvolution) else source.shape[-1]
        return Kernel(
            rows=weights[-3],
            taps=weights[-2],
            words=-(-channels // self.topology.tile.inputs_per_cycle),
            channels=made.pixel_bytes,
            stride=op.strides[1],
            dilation=op.dilations[1],
            dense=isinstance(op, Convolution),
        )

    def _row_cycles(self, kernel: Kernel, pixels: int, outputs: int) -> int:
        """About what a row of so many outputs takes: steps, or words that are written."""
        beside = SideBySide(pixels, kernel.stride, kernel.dilation)
        steps = kernel.rows * beside.columns(kernel.taps) * kernel.words
        writes = pixels * kernel.channels // self.topology.narrow_memory.word_bytes
        if pixels == 1 and not kernel.dense:
            steps = kernel.rows * kernel.taps * kernel.channels // self.topology.tile.vector_bytes
        return beside.turns(outputs) * max(steps, writes)

    def _bytes(self, kernel: Kernel, pixels: int) -> int:
        """Of the weights."""
        if pixels == 1 and not kernel.dense:
            return kernel.rows * kernel.taps * kernel.channels
        beside, tile = SideBySide(pixels, kernel.stride, kernel.dilation), self.topology.tile
        steps = kernel.rows * beside.columns(kernel.taps) * kernel.words
        return steps * operand_stride(pixels * kernel.channels, tile.inputs_per_cycle)

    def _pays(self, kernel: Kernel, pixels: int, saved: int) -> bool:
        """Whether there is room for the weights next to all others, or they are worth bringing each time."""
        more = self._bytes(kernel, pixels) - self._bytes(kernel, 1)
        wide = self.topology.wide_memory
        if self._alone + self.spent + more <= wide.size_bytes - wide.reserve_bytes:
            return True
        return saved > MARGIN * more // self.topology.data_memory.bytes_per_cycle

    @cached_property
    def _alone(self) -> int:
        """About what all parameters take with one pixel at once."""
        return sum(self._layer_bytes(node) for _, node in self.plan.steps)

    def _layer_bytes(self, node: Node) -> int:
        """Of a layer whose weights are (outputs, ..., inputs), or those of a depthwise convolution."""
        tile, network = self.topology.tile, self.plan.network
        constants = [network.tensors[index] for index in node.inputs if network.tensors[index].data is not None]
        if not constants:
            return 0
        shape, rows_bytes = constants[0].shape, PARAMETER_ROWS * self.topology.wide_memory.row_bytes
        if isinstance(node.operator, DepthwiseConvolution):
            return prod(shape) + -(-shape[-1] // tile.lanes) * rows_bytes
        steps = prod(shape[1:-1]) * -(-shape[-1] // tile.inputs_per_cycle)
        lanes = min(tile.lanes, shape[0])
        return -(-shape[0] // lanes) * (steps * operand_stride(lanes, tile.inputs_per_cycle) + rows_bytes)
