"""Which tile stands at which place of the grid over which maps are cut."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from msgspec import Struct

from tilesim.tiled.isa.model.fields import Side
from tilesim.tiled.topology import Grid


class Arrangement(Struct, frozen=True, dict=True):
    """``rows`` x ``columns`` places, those side by side in tiles that are: on the chip's own ``grid`` tile by tile, or
    in one row or column along the grid like a snake, there and back (``order``, the tile at each place).

    A layer's rows come from the north and leave for the south, whichever of its sides a tile has its neighbours at:
    ``sides`` says which that are. Sides with no neighbour at them go to borders.
    """

    grid: Grid
    rows: int
    columns: int
    order: tuple[int, ...] = ()

    @staticmethod
    def plain(grid: Grid) -> Arrangement:
        """The chip's own grid."""
        return Arrangement(grid, grid.rows, grid.columns)

    @staticmethod
    def snakes(grid: Grid) -> Iterator[Arrangement]:
        """All tiles in one column, and in one row, unless the grid is one."""
        tiles = grid.rows * grid.columns
        order = [tile for row in range(grid.rows) for tile in _along(grid, row)]
        if grid.rows > 1 and grid.columns > 1:
            yield Arrangement(grid, tiles, 1, tuple(order))
            yield Arrangement(grid, 1, tiles, tuple(order))

    def __str__(self) -> str:
        return f"{self.rows} x {self.columns}"

    def place(self, tile: int) -> tuple[int, int]:
        """Row and column of a tile."""
        return divmod(self.number(tile), self.columns)

    def number(self, tile: int) -> int:
        """The place of a tile, counted row by row."""
        return self._numbers[tile] if self.order else tile

    def tile(self, row: int, column: int) -> int:
        place = row * self.columns + column
        return self.order[place] if self.order else place

    @cached_property
    def tiles(self) -> tuple[int, ...]:
        """By place, row by row."""
        return self.order or tuple(range(self.rows * self.columns))

    def sides(self, tile: int) -> Mapping[Side, Side]:
        """At which of its sides a tile has what lies north, south, west and east of its place."""
        return self._sides[tile] if self.order else SAME

    @cached_property
    def _numbers(self) -> dict[int, int]:
        return {tile: place for place, tile in enumerate(self.order)}

    @cached_property
    def _sides(self) -> dict[int, dict[Side, Side]]:
        return {tile: self._turned(tile) for tile in self.order}

    def _turned(self, tile: int) -> dict[Side, Side]:
        row, column = self.place(tile)
        around = {
            Side.NORTH: (row - 1, column),
            Side.SOUTH: (row + 1, column),
            Side.WEST: (row, column - 1),
            Side.EAST: (row, column + 1),
        }
        inside = {side: at for side, at in around.items() if at[0] in range(self.rows) and at[1] in range(self.columns)}
        taken = {side: self._towards(tile, self.tile(*at)) for side, at in inside.items()}
        left = [side for side in Side if side not in taken.values()]
        return taken | dict(zip((side for side in Side if side not in taken), left, strict=True))

    def _towards(self, tile: int, other: int) -> Side:
        """The side of a tile at which another one is."""
        step = {1: Side.EAST, -1: Side.WEST, self.grid.columns: Side.SOUTH, -self.grid.columns: Side.NORTH}
        return step[other - tile]


SAME: Mapping[Side, Side] = {side: side for side in Side}


def _along(grid: Grid, row: int) -> range:
    """The tiles of a row: from left to right, in every other one from right to left."""
    tiles = range(row * grid.columns, (row + 1) * grid.columns)
    return tiles[::-1] if row % 2 else tiles
