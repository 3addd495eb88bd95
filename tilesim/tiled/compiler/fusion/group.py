"""A group of layers on a grid of tiles: what each of them makes and needs in each band."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_

from tilesim.tiled.compiler.axis import NOTHING, Axis
from tilesim.tiled.compiler.feature_map import FeatureMap, bitmap_of
from tilesim.tiled.compiler.fusion.bands import (
    AxisBounds,
    FusionGroup,
    Spans,
    infer_bounds,
    inner_tensors,
    nodes_of,
    slices,
)
from tilesim.tiled.compiler.tile_plan import TilePlan


@dataclass(frozen=True)
class FusedGroup:
    """A group with what each row of the grid makes and needs in each band, and each column in all of them."""

    group: FusionGroup
    inner: list[int]
    rows: list[AxisBounds]
    columns: AxisBounds

    def feeding(self, index: int, map_: FeatureMap) -> FeatureMap:
        """The map of a tensor with what the group needs of it in all bands."""
        if index not in self.columns.need:
            return map_
        down = map_.rows
        for rows in self.rows:
            down = down.with_need(rows.need[index])
        return replace(map_, rows=down, columns=map_.columns.with_need(self.columns.need[index]))

    def cut(self, index: int, whole: FeatureMap) -> dict[int, FeatureMap]:
        """The map of a tensor inside the group in each band in which something of it is needed."""
        across = _apart(whole.columns, self.columns, index)
        down = {band: _apart(whole.rows, rows, index) for band, rows in enumerate(self.rows) if any(rows.own[index])}
        return {
            band: FeatureMap(whole.shape, rows, across, tiles_of(rows.own, across.own), whole.pixel_bytes)
            for band, rows in down.items()
        }

    def tiles(self, index: int) -> int:
        """The tiles that make something of a tensor in some band."""
        return reduce(or_, (tiles_of(rows.own[index], self.columns.own[index]) for rows in self.rows))


def fuse(plan: TilePlan, whole: Mapping[int, FeatureMap], group: FusionGroup, only: Sequence[int] = ()) -> FusedGroup:
    """Follow a group's outputs, of ``whole`` maps by tensor, back in all its bands or ``only`` in some."""
    inner, nodes = inner_tensors(plan, group.steps), nodes_of(plan, group.steps)
    outputs = [node.output for node in nodes if node.output not in inner]
    rows = {index: slices(whole[index].rows.own, group.bands) for index in outputs}
    columns = {index: whole[index].columns.own for index in outputs}
    by_band = [{index: rows[index][band] for index in outputs} for band in only or range(group.bands)]
    return FusedGroup(
        group,
        inner,
        [infer_bounds(plan, nodes, band_outputs, 0) for band_outputs in by_band],
        infer_bounds(plan, nodes, columns, 1),
    )


def _apart(whole: Axis, traced: AxisBounds, index: int) -> Axis:
    return Axis(whole.size, traced.own[index], traced.need[index], (NOTHING,) * len(whole.own), apart=True)


def tiles_of(rows: Spans, columns: Spans) -> int:
    """The tiles at whose places there is something."""
    return bitmap_of(
        [i * len(columns) + j for i, down in enumerate(rows) for j, across in enumerate(columns) if down and across]
    )
