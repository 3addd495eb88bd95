"""Runs of layers that are made band by band, so that the maps between them are never whole in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tilesim.network.graph import Node
from tilesim.tiled.compiler.axis import clip, hull
from tilesim.tiled.compiler.feature_map import MapShape
from tilesim.tiled.compiler.operators import gathers, receptive_fields, spreads
from tilesim.tiled.compiler.tile_plan import TilePlan

Spans = tuple[range, ...]
"""Positions along an axis for each place along that side of the grid."""


@dataclass(frozen=True)
class FusionGroup:
    """A run of steps of a plan (the first step is 1) that is made in ``bands`` bands.

    In each of them every tile makes a slice of the rows of its own part of the group's outputs, and of the maps inside
    what it needs for that, what other bands and other tiles make too included: inside a group nothing is kept from
    band to band, and nothing goes from tile to tile.
    """

    steps: range
    bands: int


@dataclass(frozen=True)
class AxisBounds:
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
    outputs = {node.output for node in nodes} - set(inner)
    return not any(tensor.index in outputs for node in nodes for tensor in plan.activations(node))


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
