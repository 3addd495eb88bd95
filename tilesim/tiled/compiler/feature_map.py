"""How an activation tensor lies in the tiles' narrow memories, and what its maps are called."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import product

from msgspec import Struct
from msgspec.structs import replace

from tilesim.network.graph import Tensor
from tilesim.tiled.compiler.arrangement import Arrangement
from tilesim.tiled.compiler.axis import Axis
from tilesim.tiled.isa.model.fields import bits
from tilesim.tiled.isa.model.program import MapCut


class MapShape(Struct, frozen=True):
    """Rows, columns and channels of a map, and the bytes of an element; a vector is one pixel."""

    height: int
    width: int
    channels: int
    element_bytes: int = 1

    @staticmethod
    def of(shape: tuple[int, ...], element_bytes: int = 1) -> MapShape:
        """Of a canonical tensor shape (1, H, W, C), or (..., n), which is one pixel of n channels."""
        height, width, channels = shape[1:] if len(shape) == 4 else (1, 1, shape[-1])
        return MapShape(height, width, channels, element_bytes)

    @staticmethod
    def of_tensor(tensor: Tensor) -> MapShape:
        return MapShape.of(tensor.shape, tensor.dtype.itemsize)

    @property
    def pixels(self) -> int:
        return self.height * self.width

    def __str__(self) -> str:
        return f"{self.height} x {self.width} x {self.channels}"


class MapPart(Struct, frozen=True, dict=True):
    """A tile's part of a map of ``shape``: what it owns, and where the bytes lie.

    ``address`` is that of the pixel (rows.start, columns.start). Rows and columns count from the map's first pixel;
    ``block_rows`` and ``block_columns``, what the tile computes, may run past its last ones; ``pixels`` of a row are
    made at once.
    """

    shape: MapShape
    rows: range
    columns: range
    block_rows: range
    block_columns: range
    channels: range
    address: int
    row_bytes: int
    pixel_bytes: int
    pixels: int = 1

    def at(self, row: int, column: int) -> int:
        """The address of a pixel, the tile's own or one around."""
        return (
            self.address + (row - self.rows.start) * self.row_bytes + (column - self.columns.start) * self.pixel_bytes
        )

    @property
    def element_bytes(self) -> int:
        return self.shape.element_bytes

    @property
    def line_bytes(self) -> int:
        """Bytes of the own pixels of a row."""
        return len(self.columns) * self.pixel_bytes

    @property
    def bytes(self) -> int:
        """Bytes of all own pixels."""
        return len(self.rows) * self.line_bytes

    @cached_property
    def block(self) -> MapPart:
        """The part with everything that the tile computes."""
        return replace(self, rows=self.block_rows, columns=self.block_columns)

    def band(self, rows: range) -> MapPart:
        """The part cut down to some of its rows."""
        at = self.at(rows.start, self.columns.start)
        return replace(self, rows=rows, block_rows=rows, block_columns=self.columns, address=at)

    @property
    def whole(self) -> bool:
        shape = self.shape
        return (len(self.rows), len(self.columns), len(self.channels)) == (shape.height, shape.width, shape.channels)


class FeatureMap(Struct, frozen=True, dict=True):
    """A map spread over ``tiles`` (a bitmap): by rows and columns over the grid, or, a vector, by ``block`` channels a
    tile (0: every tile has all channels).

    Each tile keeps pixels of ``pixel_bytes`` (channels padded to as many as whole words have bytes) at the same
    ``address`` and with the same strides, so that one instruction can serve many tiles. ``slack_bytes`` is what whole
    wide rows may spill into. ``pixels`` of a row are made at once.
    """

    shape: MapShape
    rows: Axis
    columns: Axis
    tiles: int
    pixel_bytes: int
    arrangement: Arrangement
    block: int = 0
    slack_bytes: int = 0
    address: int = 0
    pixels: int = 1

    @property
    def row_bytes(self) -> int:
        return self.columns.length * self.pixel_bytes

    @property
    def size_bytes(self) -> int:
        return self.rows.length * self.row_bytes + self.slack_bytes

    def place(self, tile: int) -> tuple[int, int]:
        """Row and column of a tile in the grid."""
        return self.arrangement.place(tile)

    @cached_property
    def owners(self) -> tuple[int, ...]:
        """The tiles that own something, in their turn."""
        return tuple(sorted(bits(self.tiles), key=self.turn))

    def turn(self, tile: int) -> int:
        """Tiles take turns in the order of their places, row by row, or of their channels."""
        return tile if self.block else self.arrangement.number(tile)

    def part(self, tile: int) -> MapPart:
        """What a tile owns."""
        known = self._parts.get(tile)
        if known is None:
            known = self._parts[tile] = self._part(tile)
        return known

    @cached_property
    def _parts(self) -> dict[int, MapPart]:
        """Those that have been asked for."""
        return {}

    def _part(self, tile: int) -> MapPart:
        i, j = self.place(tile)
        first = tile * self.block
        channels = (
            range(first, min(first + self.block, self.shape.channels)) if self.block else range(self.shape.channels)
        )
        return MapPart(
            shape=self.shape,
            rows=self.rows.own[i],
            columns=self.columns.own[j],
            block_rows=self.rows.blocks[i],
            block_columns=self.columns.blocks[j],
            channels=channels,
            address=self.address + self.rows.margin * self.row_bytes + self.columns.margin * self.pixel_bytes,
            row_bytes=self.row_bytes,
            pixel_bytes=self.pixel_bytes,
            pixels=self.pixels,
        )

    def parts(self) -> Iterator[tuple[int, MapPart]]:
        """Every tile that owns something, with what it owns."""
        return ((tile, self.part(tile)) for tile in self.owners)

    def cut(self) -> MapCut:
        """Who owns what, in short."""
        extent = self.shape.height, self.shape.width, self.shape.channels
        if self.block:
            return MapCut(extent, block=self.block)
        rows, columns = (tuple(own.start for own in axis.own) for axis in (self.rows, self.columns))
        return MapCut(extent, rows, columns, order=self.arrangement.order)

    def cuts(self) -> tuple[int, int]:
        """Into how many parts rows and columns (or channels) are cut."""
        if self.block:
            return 1, self.tiles.bit_count()
        return sum(map(bool, self.rows.own)), sum(map(bool, self.columns.own))

    @cached_property
    def held(self) -> list[int]:
        """The tiles that hold something of the map, their own or a neighbour's, or nothing but a border."""
        if not (self.rows.exchanges or self.columns.exchanges):
            return sorted({*bits(self.tiles), *self._edged()})
        holds = product(self.rows.hold, self.columns.hold)
        around = [self.arrangement.tiles[place] for place, (down, across) in enumerate(holds) if down and across]
        return sorted({*around, *bits(self.tiles)})

    def _edged(self) -> list[int]:
        """The tiles that own nothing and need something all the same: what is off the map."""
        needs, owns = product(self.rows.need, self.columns.need), product(self.rows.own, self.columns.own)
        places = zip(self.arrangement.tiles, needs, owns, strict=True)
        return [tile for tile, need, own in places if all(need) and not all(own)]


def bitmap_of(tiles: list[int]) -> int:
    return sum(1 << tile for tile in tiles)


def padded(count: int, multiple: int) -> int:
    """``count`` rounded up to a multiple."""
    return -(-count // multiple) * multiple


def map_name(index: int) -> str:
    """A tensor where the layer that makes it leaves it."""
    return f"tensor{index}"


def copy_name(index: int) -> str:
    """A tensor gathered whole in each tile that reads all of it."""
    return f"copy{index}"


def band_name(index: int, band: int) -> str:
    """What a band of a group needs of a tensor that is never whole in memory."""
    return f"{map_name(index)}.band{band}"


def place_name(name: str) -> str:
    """What a map has its address in common with: all bands of its tensor."""
    return name.partition(".")[0]


def tensor_of(name: str) -> int:
    """The tensor that a map, a copy or a band holds of."""
    return int(place_name(name).removeprefix("copy").removeprefix("tensor"))
