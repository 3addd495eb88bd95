"""How many pixels of a row a dense layer makes at once, each in lanes of its own: as many as pays, by estimate."""

from __future__ import annotations

from functools import cached_property
from math import prod

from msgspec import Struct

from tilesim.machines.policies import Wishes
from tilesim.network.graph import Node
from tilesim.network.operators import Convolution, DepthwiseConvolution
from tilesim.tiled.compiler.feature_map import FeatureMap
from tilesim.tiled.compiler.lower.loop_order import PARAMETER_ROWS
from tilesim.tiled.compiler.lower.side_by_side import SideBySide
from tilesim.tiled.compiler.parameters import operand_stride
from tilesim.tiled.compiler.tile_plan import TilePlan
from tilesim.tiled.topology import Topology

SET_SHARE = 8
"""A layer's weights take at most this part of wide memory, as do the sets of others that do not stay there."""
LOADED_BYTES = 4096
"""Bytes of parameters that stay in the tiles are worth a cycle of an inference: they are loaded once."""
RING_CYCLES = 2
"""What a row that another tile sends costs: the consumer's write takes the wide port, and the producer's read may."""


class Work(Struct, frozen=True):
    """What a tile makes of a layer: ``rows`` of ``columns`` outputs with so many ``channels`` (whole words), under a
    kernel of so many rows and taps in a row, of ``words`` of inputs each.
    """

    topology: Topology
    rows: int
    columns: int
    channels: int
    height: int
    taps: int
    words: int
    stride: int
    dilation: int

    def steps(self, pixels: int) -> int:
        """Steps of a result group."""
        return self.height * SideBySide(pixels, self.stride, self.dilation).columns(self.taps) * self.words

    def cycles(self, pixels: int) -> int:
        """About what all of it takes: steps, or words that are written."""
        writes = pixels * self.channels // self.topology.narrow_memory.word_bytes
        return self.rows * -(-self.columns // pixels) * max(self.steps(pixels), writes)

    def bytes(self, pixels: int) -> int:
        """Of the weights."""
        return self.steps(pixels) * operand_stride(pixels * self.channels, self.topology.tile.inputs_per_cycle)

    def choices(self) -> list[int]:
        """Turns along a row as even as can be, in the lanes that there are."""
        evenly = {-(-self.columns // turns) for turns in range(1, self.columns + 1)}
        return sorted(pixels for pixels in evenly if 1 < pixels <= self.topology.tile.lanes // self.channels)


class PixelLanes(Struct, dict=True):
    """Decides layer by layer. ``spent`` are the bytes that all layers so far take beyond those of one pixel at once."""

    plan: TilePlan
    topology: Topology
    wishes: Wishes
    spent: int = 0

    def pixels(self, node: Node, made: FeatureMap) -> int:
        """For the map ``made`` that a node makes; 1 if only one pixel has room, or more don't pay."""
        op = node.operator
        wide = self.plan.network.tensors[node.output].dtype.itemsize > 1
        if wide or not (self.wishes.mixed and self.wishes.side_by_side) or not isinstance(op, Convolution):
            return 1
        work = self._work(node, op, made)
        best, least = 1, float(work.cycles(1))
        for pixels in work.choices():
            more = work.bytes(pixels) - work.bytes(1)
            cost = work.cycles(pixels) + self._cost(more)
            if cost < least and work.bytes(pixels) <= self.topology.wide_memory.size_bytes // SET_SHARE:
                best, least = pixels, cost
        self.spent += work.bytes(best) - work.bytes(1)
        return best

    def _work(self, node: Node, op: Convolution, made: FeatureMap) -> Work:
        [source] = self.plan.activations(node)
        height, taps = self.plan.network.tensors[node.inputs[1]].shape[1:3]
        rows, columns = (max(map(len, axis.blocks)) for axis in (made.rows, made.columns))
        return Work(
            topology=self.topology,
            rows=rows,
            columns=columns,
            channels=made.pixel_bytes,
            height=height,
            taps=taps,
            words=-(-source.shape[-1] // self.topology.tile.inputs_per_cycle),
            stride=op.strides[1],
            dilation=op.dilations[1],
        )

    def _cost(self, more: int) -> float:
        """About what so many more bytes of parameters cost in each inference: nothing if all stay in every tile, else
        the way from another tile, else from data memory.
        """
        wide, total = self.topology.wide_memory, self._alone + self.spent + more
        room = wide.size_bytes - wide.reserve_bytes
        if total <= room:
            return more / LOADED_BYTES
        if total <= room * self.topology.tiles // 2:
            return more / wide.row_bytes * RING_CYCLES
        return float(more / self.topology.parameter_bytes_per_cycle)

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
