"""Which tile makes which part of each layer's map, as the compiler has cut it, and the edges that it gets for that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilesim.errors import InputError
from tilesim.report.analysis.floorplan import Grid
from tilesim.statistics import MapPartition, RunStatistics


@dataclass(frozen=True)
class LayerMap:
    """A layer's map of ``extent`` (height, width, channels): a row (column) of the grid makes the rows (columns) from
    one of the ``rows`` (``columns``) to before the next one, the last number being the end; or each tile makes
    ``block`` channels. ``order`` names the tile at each place of the grid, row by row, if it is not the chip's.
    """

    layer: int
    extent: tuple[int, int, int]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    block: int
    order: tuple[int, ...] = ()

    def part(self, tile: int, grid: Grid) -> tuple[range, range, range]:
        """The rows, columns and channels that a tile makes; if one of them is empty, it makes nothing."""
        height, width, channels = self.extent
        if self.block:
            first = min(channels, tile * self.block)
            return range(height), range(width), range(first, min(channels, first + self.block))
        place = self.order.index(tile) if self.order else tile
        i, j = divmod(place, len(self.columns) - 1 if self.order else grid.columns)
        return range(*self.rows[i : i + 2]), range(*self.columns[j : j + 2]), range(channels)


def layer_maps(statistics: RunStatistics, grid: Grid) -> list[LayerMap]:
    """Those of all layers of which the run says it.

    Raises:
        InputError: a map that is cut for another grid.
    """
    partition = statistics.get("partition")
    places = [(place, layer) for place, layer in enumerate(partition["layers"] if partition else []) if "map" in layer]
    return [_layer_map(f"partition.layers[{place}]", layer["layer"], layer["map"], grid) for place, layer in places]


def _layer_map(where: str, layer: int, cut: MapPartition, grid: Grid) -> LayerMap:
    height, width, channels = cut["extent"]
    rows, columns = (*cut["rows"], height), (*cut["columns"], width)
    if cut["block"]:
        return LayerMap(layer, (height, width, channels), (), (), cut["block"])
    order = tuple(cut.get("order", ()))
    parts = (len(rows) - 1, len(columns) - 1) if order else (grid.rows, grid.columns)
    faults = [*_faults("rows", rows, parts[0]), *_faults("columns", columns, parts[1])]
    if order and (sorted(order) != list(range(grid.tiles)) or parts[0] * parts[1] != len(order)):
        faults.append(f"order must name each of {grid.tiles} tiles once, not {list(order)}")
    if faults:
        raise InputError(f"{where}.map.{fault}" for fault in faults)
    return LayerMap(layer, (height, width, channels), rows, columns, 0, order)


def _faults(axis: str, cuts: Sequence[int], parts: int) -> list[str]:
    if len(cuts) == parts + 1 and list(cuts) == sorted(cuts):
        return []
    return [f"{axis} must be {parts} numbers that rise to at most {cuts[-1]}, not {list(cuts[:-1])}"]
