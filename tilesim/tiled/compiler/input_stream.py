"""An input as one stream of rows to all tiles, each of which keeps its part (``ring.byte_filter``).

Source: that one infeed of a whole tensor serves all tiles is from the encoder of an Edge TPU's successor, as reported
by others; when it is worth while is an assumption.
"""

from __future__ import annotations

from tilesim.tiled.compiler.feature_map import FeatureMap, MapPart, MapShape
from tilesim.tiled.compiler.rows import rows_for
from tilesim.tiled.isa.model.fields import ByteFilter
from tilesim.tiled.isa.model.instructions import Infeed
from tilesim.tiled.isa.model.program import Block
from tilesim.tiled.topology import Topology


def is_streamed(map_: FeatureMap, topology: Topology) -> bool:
    """Whether an input comes faster as one stream: if that takes fewer rows.

    The host's link is the narrowest on the way, and takes as long for each row. So the estimate counts rows: with a
    transfer a tile, the last one of each is filled up.
    """
    parts = [part for _, part in map_.parts()]
    if not topology.ring.byte_filter or map_.block or all(part.whole for part in parts):
        return False
    row_bytes = topology.wide_memory.row_bytes
    return stream_rows(map_, row_bytes) < sum(rows_for(part, row_bytes) for part in parts)


def stream_rows(map_: FeatureMap, row_bytes: int) -> int:
    """Wide rows of the whole map, pixel by pixel."""
    return -(-map_.shape.height * map_.shape.width * map_.pixel_bytes // row_bytes)


def stream_block(map_: FeatureMap, row_bytes: int) -> Block:
    """The map as the host sends it."""
    shape = map_.shape
    extent = shape.height, shape.width, shape.channels
    return Block((0, 0, 0), extent, map_.pixel_bytes, stream_rows(map_, row_bytes))


def stream_infeed(map_: FeatureMap, row_bytes: int) -> Infeed:
    return Infeed(source="host", rows=stream_rows(map_, row_bytes), to=map_.tiles)


def part_filter(part: MapPart, shape: MapShape, rows: int, row_bytes: int) -> ByteFilter:
    """What a tile keeps of a stream of ``rows``: a run of each line of its part, or whole lines in one run.

    What of later lines is kept, too, fills up its last row, as padding would.
    """
    line = shape.width * part.pixel_bytes
    first = part.rows.start * line + part.columns.start * part.pixel_bytes
    whole = part.line_bytes == line
    return ByteFilter(
        rows=rows,
        first=first,
        keep=part.bytes if whole else part.line_bytes,
        gap=rows * row_bytes if whole else line - part.line_bytes,
    )
