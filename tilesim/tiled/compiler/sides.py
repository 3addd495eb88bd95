"""From which sides a layer reads more of a map than a tile's own part."""

from __future__ import annotations

from collections.abc import Iterator

from tilesim.network.operators.add import Add
from tilesim.network.operators.convolution import Convolution
from tilesim.network.operators.depthwise_convolution import DepthwiseConvolution
from tilesim.network.operators.multiply import Multiply
from tilesim.tiled.compiler.fusion.schedule import LayerCall
from tilesim.tiled.compiler.program_builder import ProgramBuilder
from tilesim.tiled.compiler.windows import receptive_fields
from tilesim.tiled.isa.model.fields import Flag, Side

ROWS_FROM = {True: Side.NORTH, False: Side.SOUTH}
COLUMNS_FROM = {True: Side.WEST, False: Side.EAST}
IN = {side: Flag(f"mesh_{side}_in") for side in Side}

ROW_BY_ROW = (Convolution, DepthwiseConvolution, Add, Multiply)
"""Layers that are one tensorop, whose rows can be made in either direction, each of them raising the flag."""


def sides_read(builder: ProgramBuilder, name: str, call: LayerCall, tile: int) -> Iterator[Side]:
    """The sides on which a call reads more of a map than a tile's own part."""
    map_, made = builder.placement.maps[name].part(tile), call.part(builder.placement.maps[call.makes], tile)
    by_block = isinstance(call.node.operator, ROW_BY_ROW)
    made = made.block if by_block else made
    down, across = receptive_fields(builder.plan.network, call.node)
    for window, outputs, own, size, sides in (
        (down, made.rows, map_.rows, map_.shape.height, ROWS_FROM),
        (across, made.columns, map_.columns, map_.shape.width, COLUMNS_FROM),
    ):
        read = window.reads(outputs) if by_block else window.need(outputs, size)
        if read.start < own.start:
            yield sides[True]
        if read.stop > own.stop:
            yield sides[False]
