"""Runs of layers that are made band by band, so that the maps between them are never whole in memory; and the calls of
layers, one by one or in bands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import product
from operator import or_

from msgspec import Struct
from msgspec.structs import replace

from tilesim.network.graph import Node
from tilesim.tiled.compiler.arrangement import Arrangement
from tilesim.tiled.compiler.axis import NOTHING, Axis, clip, hull
from tilesim.tiled.compiler.chip_part import awaits_of
from tilesim.tiled.compiler.feature_map import FeatureMap, MapPart, MapShape, band_name, bitmap_of, map_name
from tilesim.tiled.compiler.lower.side_by_side import widened
from tilesim.tiled.compiler.operators import gathers, receptive_fields, spreads
from tilesim.tiled.compiler.tile_plan import TilePlan
from tilesim.tiled.isa.model.fields import bits

Spans = tuple[range, ...]
"""Positions along an axis for each place along that side of the grid."""


class FusionGroup(Struct, frozen=True):
    """A run of steps of a plan (the first step is 1) that is made in ``bands`` bands.

    In each of them every tile makes a slice of the rows of its own part of the group's outputs, and of the maps inside
    what it needs for that, what other bands and other tiles make too included: inside a group nothing is kept from
    band to band, and nothing goes from tile to tile.
    """

    steps: range
    bands: int


class AxisBounds(Struct, frozen=True):
    """What is made of each tensor, and what is needed, along one axis, if outputs of a group are to be made."""

    own: dict[int, Spans]
    need: dict[int, Spans]


def nodes_of(plan: TilePlan, steps: range) -> list[Node]:
    return [plan.steps[step - 1][1] for step in steps]


def inner_tensors(plan: TilePlan, steps: range) -> list[int]:
    """The tensors that only some steps have to do with: made and read there, or the network's only input."""
    made = [node.output for node in nodes_of(plan, steps)]
    made += [source.stored.index for source in plan.sources] if len(plan.sources) == 1 else []
    kept = {sink.stored.index for sink in plan.sinks}
    readers = {index: plan.reading.get(index, []) for index in made if index not in kept}
    return [
        index
        for index, steps_reading in readers.items()
        if steps_reading and all(step in steps for step in steps_reading)
    ]


def fusible(plan: TilePlan, steps: range) -> bool:
    """Whether steps can be made band by band, and have something between them: their outputs are maps, which only
    others read.
    """
    inner, nodes = inner_tensors(plan, steps), nodes_of(plan, steps)
    if not inner or any(spreads(plan.network, node) or gathers(plan.network, node) for node in nodes):
        return False
    if _waits_for_host(plan, steps):
        return False
    outputs = {node.output for node in nodes} - set(inner)
    return not any(tensor.index in outputs for node in nodes for tensor in plan.activations(node))


def _waits_for_host(plan: TilePlan, steps: range) -> bool:
    """Whether some of the steps read what the host makes of what others of them make."""
    made = {node.output for node in nodes_of(plan, steps)}
    read = {tensor.index for node in nodes_of(plan, steps) for tensor in plan.activations(node)}
    leaving = {sink.model.index: sink.stored.index for sink in plan.sinks}
    awaits = awaits_of(plan.network)
    late = [source.model.index for source in plan.sources if source.stored.index in read]
    return any(leaving[index] in made for given in late for index in awaits.get(given, ()))


def slices(own: Spans, bands: int) -> list[Spans]:
    """What of the own rows is made in each band: as many in all but the last, of every tile that owns enough."""
    rows_a_band = -(-max(map(len, own)) // bands)
    return [
        tuple(clip(rows, rows.start + band * rows_a_band, rows.start + (band + 1) * rows_a_band) for rows in own)
        for band in range(bands)
    ]


def infer_bounds(plan: TilePlan, nodes: Sequence[Node], outputs: Mapping[int, Spans], axis: int) -> AxisBounds:
    """Follow outputs back through the layers of a group, along rows (``axis`` 0) or columns (1)."""
    network = plan.network
    bounds = AxisBounds(dict(outputs), {})
    for node in reversed(nodes):
        window, own = receptive_fields(network, node)[axis], _owned(bounds, plan, node.output, axis)
        for tensor in plan.activations(node):
            size = _size(plan, tensor.index, axis)
            need = tuple(window.need(outputs_there, size) for outputs_there in own)
            before = bounds.need.get(tensor.index, need)
            bounds.need[tensor.index] = tuple(hull(both) for both in zip(before, need, strict=True))
    for index in bounds.need:
        _owned(bounds, plan, index, axis)
    return bounds


def _owned(bounds: AxisBounds, plan: TilePlan, index: int, axis: int) -> Spans:
    """What is made of a tensor when all that need it are known: everything on the map."""
    if index not in bounds.own:
        bounds.own[index] = tuple(clip(needed, 0, _size(plan, index, axis)) for needed in bounds.need[index])
    return bounds.own[index]


def _size(plan: TilePlan, index: int, axis: int) -> int:
    shape = MapShape.of(plan.network.tensors[index].shape)
    return (shape.height, shape.width)[axis]


class FusedGroup(Struct, frozen=True):
    """A group with what each row of the grid makes and needs in each band, and each column in all of them."""

    group: FusionGroup
    inner: list[int]
    rows: list[AxisBounds]
    columns: AxisBounds
    reach: Mapping[int, Spans]

    def feeding(self, index: int, map_: FeatureMap) -> FeatureMap:
        """The map of a tensor with what the group needs of it in all bands."""
        if index not in self.columns.need:
            return map_
        down = map_.rows
        for rows in self.rows:
            down = down.with_need(rows.need[index])
        across = map_.columns.with_need(self.columns.need[index]).with_reach(self.reach.get(index, ()))
        return replace(map_, rows=down, columns=across)

    def cut(self, index: int, whole: FeatureMap) -> dict[int, FeatureMap]:
        """The map of a tensor inside the group in each band in which something of it is needed."""
        across = _apart(whole.columns, self.columns, index).with_reach(self.reach.get(index, ()))
        down = {band: _apart(whole.rows, rows, index) for band, rows in enumerate(self.rows) if any(rows.own[index])}
        return {
            band: replace(whole, rows=rows, columns=across, tiles=tiles_of(whole.arrangement, rows.own, across.own))
            for band, rows in down.items()
        }

    def tiles(self, index: int, arrangement: Arrangement) -> int:
        """The tiles that make something of a tensor in some band."""
        return reduce(or_, (tiles_of(arrangement, rows.own[index], self.columns.own[index]) for rows in self.rows))


def fuse(plan: TilePlan, whole: Mapping[int, FeatureMap], group: FusionGroup, only: Sequence[int] = ()) -> FusedGroup:
    """Follow a group's outputs, of ``whole`` maps by tensor, back in all its bands or ``only`` in some."""
    inner, nodes = inner_tensors(plan, group.steps), nodes_of(plan, group.steps)
    outputs = [node.output for node in nodes if node.output not in inner]
    rows = {index: slices(whole[index].rows.own, group.bands) for index in outputs}
    columns = {index: whole[index].columns.own for index in outputs}
    by_band = [{index: rows[index][band] for index in outputs} for band in only or range(group.bands)]
    across = infer_bounds(plan, nodes, columns, 1)
    down = [infer_bounds(plan, nodes, band_outputs, 0) for band_outputs in by_band]
    return FusedGroup(group, inner, down, across, _reach(plan, nodes, whole, across))


def _reach(
    plan: TilePlan, nodes: Sequence[Node], whole: Mapping[int, FeatureMap], columns: AxisBounds
) -> dict[int, Spans]:
    """The columns of each tensor over which layers walk that make several pixels at once: some in vain, at the end."""
    reach: dict[int, Spans] = {}
    for node in nodes:
        pixels, (_, window) = whole[node.output].pixels, receptive_fields(plan.network, node)
        walked = tuple(window.reads(widened(own, pixels)) for own in columns.own[node.output])
        for tensor in plan.activations(node) if pixels > 1 else ():
            before = reach.get(tensor.index, walked)
            reach[tensor.index] = tuple(hull(both) for both in zip(before, walked, strict=True))
    return reach


def _apart(whole: Axis, traced: AxisBounds, index: int) -> Axis:
    return Axis(whole.size, traced.own[index], traced.need[index], (NOTHING,) * len(whole.own), apart=True)


def tiles_of(arrangement: Arrangement, rows: Spans, columns: Spans) -> int:
    """The tiles at whose places there is something."""
    places = zip(arrangement.tiles, product(rows, columns), strict=True)
    return bitmap_of([tile for tile, (down, across) in places if down and across])


class LayerCall(Struct, frozen=True):
    """A step of the plan, or one band of it.

    ``reads`` names the maps that the node finds its inputs in, by tensor; ``makes`` the one that it makes, or of which
    it makes only ``rows``. ``tiles`` are those that have a part in the step, in this band or another. What it makes is
    whole with it if it ``completes`` it.
    """

    step: int
    layer: int
    node: Node
    reads: Mapping[int, str]
    makes: str
    tiles: int
    group: FusionGroup | None = None
    band: int = 0
    rows: Spans | None = None
    completes: bool = True

    def __hash__(self) -> int:
        return hash((self.step, self.band))  # `reads` has none

    @property
    def label(self) -> str:
        label = f"{self.node.kind}{self.layer}"
        return f"{label}.band{self.band}" if self.group else label

    @property
    def steps(self) -> range:
        """The steps that are made in turn with this one."""
        return self.group.steps if self.group else range(self.step, self.step + 1)

    def part(self, map_: FeatureMap, tile: int) -> MapPart:
        """What a tile makes of its map, in the frame in which the map lies there."""
        part = map_.part(tile)
        return part if self.rows is None else part.band(self.rows[map_.place(tile)[0]])

    def parts(self, map_: FeatureMap) -> Iterator[tuple[int, MapPart]]:
        """Every tile that makes something, with what it makes."""
        parts = ((tile, self.part(map_, tile)) for tile in bits(map_.tiles))
        return ((tile, part) for tile, part in parts if part.rows)


def banded_calls(plan: TilePlan, fused: FusedGroup, arrangement: Arrangement) -> Iterator[LayerCall]:
    """All steps of a group in each of its bands that make something there."""
    for band, rows in enumerate(fused.rows):
        for step in fused.group.steps:
            layer, node = plan.steps[step - 1]
            if not any(rows.own[node.output]):
                continue
            names = {
                index: band_name(index, band) if index in fused.inner else map_name(index)
                for index in (node.output, *(tensor.index for tensor in plan.activations(node)))
            }
            makes = names.pop(node.output)
            tiles, inner = fused.tiles(node.output, arrangement), node.output in fused.inner
            mine = None if inner else rows.own[node.output]
            last = inner or not any(any(later.own[node.output]) for later in fused.rows[band + 1 :])
            yield LayerCall(step, layer, node, names, makes, tiles, fused.group, band, mine, last)
