"""On which sides of a tile what a layer reads lies."""

from __future__ import annotations

from collections.abc import Iterator

from tilesim.tiled.compiler.fusion import LayerCall
from tilesim.tiled.compiler.lower.side_by_side import widened
from tilesim.tiled.compiler.operators import receptive_fields, traits_of
from tilesim.tiled.compiler.program_builder import ProgramBuilder
from tilesim.tiled.isa.model.fields import Side

ROWS_FROM = {True: Side.NORTH, False: Side.SOUTH}
"""From where rows come that lie before a tile's own, or behind them."""
COLUMNS_FROM = {True: Side.WEST, False: Side.EAST}


def sides_read(builder: ProgramBuilder, name: str, call: LayerCall, tile: int) -> Iterator[Side]:
    """The sides on which a call reads more of a map than a tile's own part."""
    map_, made = builder.placement.maps[name].part(tile), call.part(builder.placement.maps[call.makes], tile)
    by_block = traits_of(call.node).row_by_row
    made = made.block if by_block else made
    down, across = receptive_fields(builder.plan.network, call.node)
    for window, outputs, own, size, sides in (
        (down, made.rows, map_.rows, map_.shape.height, ROWS_FROM),
        (across, widened(made.columns, made.pixels), map_.columns, map_.shape.width, COLUMNS_FROM),
    ):
        read = window.reads(outputs) if by_block else window.need(outputs, size)
        if read.start < own.start:
            yield sides[True]
        if read.stop > own.stop:
            yield sides[False]
