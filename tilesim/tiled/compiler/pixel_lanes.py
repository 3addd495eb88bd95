"""How many pixels of a row a layer makes at once, each in lanes of its own: as many as pays, by estimate.

A dense layer has room for several if one pixel's channels leave half of the lanes idle. A depthwise layer, of which an
output reads one channel, always has if its output lies in planes of few channels: then their words follow one another.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

from tilesim.machines.policies import Wishes
from tilesim.network.graph import Node
from tilesim.network.operators import Convolution, DepthwiseConvolution
from tilesim.tiled.compiler.feature_map import FeatureMap
from tilesim.tiled.compiler.lower.loop_order import PARAMETER_ROWS
from tilesim.tiled.compiler.lower.side_by_side import SideBySide, planes_a_row
from tilesim.tiled.compiler.parameters import operand_stride
from tilesim.tiled.compiler.tile_plan import TilePlan
from tilesim.tiled.topology import Topology

SET_SHARE = 8
"""A layer's weights take at most this part of wide memory, as do the sets of others that do not stay there."""
LOADED_BYTES = 4096
"""Bytes of parameters that stay in the tiles are worth a cycle of an inference: they are loaded once."""
RING_CYCLES = 2
"""What a row that another tile sends costs: the consumer's write takes the wide port, and the producer's read may."""


@dataclass(frozen=True)
class Choice:
    """``pixels`` of a row at once, of ``channels`` (whole words) a plane."""

    pixels: int
    channels: int


@dataclass(frozen=True)
class Work:
    """What a tile makes of a layer: ``rows`` of ``columns`` outputs with so many ``channels`` (whole words), from
    ``inputs`` channels (0: from each the same one).
    """

    rows: int
    columns: int
    channels: int
    inputs: int
    height: int
    width: int
    stride: int
    dilation: int

    def planes(self, choice: Choice) -> int:
        return self.channels // choice.channels

    def steps(self, choice: Choice, topology: Topology) -> int:
        """Steps of a result group."""
        beside = SideBySide(choice.pixels, self.stride, self.dilation)
        words = -(-(self.inputs or choice.channels) // topology.tile.inputs_per_cycle)
        return self.height * beside.columns(self.width) * words

    def cycles(self, choice: Choice, topology: Topology) -> int:
        """About what all of it takes: steps, or words that are written; parameter rows once a plane."""
        turns = self.rows * -(-self.columns // choice.pixels)
        writes = choice.pixels * choice.channels // topology.narrow_memory.word_bytes
        computing = self.planes(choice) * turns * max(self.steps(choice, topology), writes)
        return computing + self.parameter_rows(choice, topology)

    def parameter_rows(self, choice: Choice, topology: Topology) -> int:
        planes, lanes = self.planes(choice), choice.pixels * choice.channels
        return PARAMETER_ROWS * planes // planes_a_row(planes, lanes, topology.wide_memory.row_bytes)

    def bytes(self, choice: Choice, topology: Topology) -> int:
        """Of weights and parameter rows."""
        stride = operand_stride(choice.pixels * choice.channels, topology.tile.inputs_per_cycle)
        rows = self.parameter_rows(choice, topology) * topology.wide_memory.row_bytes
        return self.planes(choice) * self.steps(choice, topology) * stride + rows

    def alone(self, topology: Topology) -> tuple[int, int]:
        """Cycles and bytes with one pixel at once."""
        if self.inputs:
            one = Choice(1, self.channels)
            return self.cycles(one, topology), self.bytes(one, topology)
        taps, words = self.height * self.width, self.channels // topology.tile.vector_bytes
        rows = -(-self.channels // topology.tile.lanes) * PARAMETER_ROWS
        return (
            self.rows * self.columns * words * taps + rows,
            taps * self.channels + rows * topology.wide_memory.row_bytes,
        )


@dataclass
class PixelLanes:
    """Decides layer by layer. ``spent`` are the bytes that all layers so far take beyond those of one pixel at once."""

    plan: TilePlan
    topology: Topology
    wishes: Wishes
    spent: int = 0

    def arranged(self, node: Node, made: FeatureMap, in_planes: bool) -> FeatureMap:
        """The map ``made`` by a layer as it lies best; only if it may be ``in_planes``, in several."""
        work = self._work(node, made)
        if not self.wishes.mixed or work is None:
            return made
        cycles, alone = work.alone(self.topology)
        best, least = None, float(cycles)
        for choice in self._choices(work, in_planes):
            more = work.bytes(choice, self.topology) - alone
            cost = work.cycles(choice, self.topology) + self._cost(more)
            if cost < least and alone + more <= self.topology.wide_memory.size_bytes // SET_SHARE:
                best, least = choice, cost
        if best is None:
            return made
        self.spent += work.bytes(best, self.topology) - alone
        return replace(made, pixels=best.pixels, planes=work.planes(best), pixel_bytes=best.channels)

    def _choices(self, work: Work, in_planes: bool) -> Iterator[Choice]:
        """Turns along a row as even as can be; planes of whole words and steps."""
        tile = self.topology.tile
        unit = max(self.topology.narrow_memory.word_bytes, tile.inputs_per_cycle)
        sizes = range(unit, work.channels, unit) if in_planes and not work.inputs else ()
        for channels in (*(size for size in sizes if work.channels % size == 0), work.channels):
            evenly = {-(-work.columns // turns) for turns in range(1, work.columns + 1)}
            yield from (Choice(n, channels) for n in sorted(evenly) if 1 < n <= tile.lanes // channels)

    def _work(self, node: Node, made: FeatureMap) -> Work | None:
        op = node.operator
        if not isinstance(op, Convolution | DepthwiseConvolution):
            return None
        [source] = self.plan.activations(node)
        shape = self.plan.network.tensors[node.inputs[1]].shape
        rows, columns = (max(map(len, axis.blocks)) for axis in (made.rows, made.columns))
        same = isinstance(op, DepthwiseConvolution) and made.shape.channels == source.shape[-1]
        return Work(
            rows=rows,
            columns=columns,
            channels=made.pixel_bytes,
            inputs=0 if same else source.shape[-1],
            height=shape[-3],
            width=shape[-2],
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
        return more / self.topology.data_memory.bytes_per_cycle

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
