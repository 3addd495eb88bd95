"""About how long a network takes on the grids over which its maps could be cut, before anything is placed or written:
what decides on one of them. A test holds it against runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import ceil, prod
from typing import Any

from numpy.typing import NDArray

from tilesim.tiled.compiler.arrangement import Arrangement
from tilesim.tiled.compiler.axis import Axis
from tilesim.tiled.compiler.compute import lowered
from tilesim.tiled.compiler.feature_map import FeatureMap, MapShape
from tilesim.tiled.compiler.parameters import SetKey
from tilesim.tiled.compiler.program_builder import ProgramBuilder
from tilesim.tiled.compiler.reduction import lowered_reduction
from tilesim.tiled.compiler.tile_plan import TilePlan
from tilesim.tiled.compiler.transfers import blocks_of
from tilesim.tiled.isa.model.instructions import TensorOp

MARGIN = 1.1
"""How much faster another grid than the chip's own must be: what neighbours exchange takes longer on it."""
LONG = 2
"""A map that is so many times as long as wide is worth a try in one column of tiles, or in one row."""


def is_long(plan: TilePlan, snake: Arrangement) -> bool:
    """Whether the largest map of a network is as long as a column, or a row, of tiles wants it."""
    shapes = [MapShape.of(plan.network.tensors[node.output].shape) for _, node in plan.steps]
    largest = max(shapes, key=lambda shape: shape.pixels, default=MapShape(1, 1, 1))  # no layer may be left
    sides = (largest.height, largest.width) if snake.columns == 1 else (largest.width, largest.height)
    return sides[0] >= LONG * sides[1]


def fastest(builders: Sequence[ProgramBuilder]) -> ProgramBuilder:
    """The first one, unless another is faster by far."""
    cycles = [estimated_cycles(builder) * (MARGIN if number else 1) for number, builder in enumerate(builders)]
    return builders[cycles.index(min(cycles))]


def estimated_cycles(builder: ProgramBuilder) -> int:
    """The steps of the busiest tile of each layer, and what the words take that come to it from its neighbours, and the
    rows from and to the host.
    """
    chip = builder.topology
    words = sum(exchanged_words(map_, chip.narrow_memory.word_bytes) for map_ in builder.placement.maps.values())
    return _computing(builder) + chip.mesh_beats * words + ceil(_host_cycles(builder))


def _host_cycles(builder: ProgramBuilder) -> Fraction:
    """What the host's link takes for the maps that it carries: the more parts, the more rows that are not full."""
    chip, row_bytes = builder.topology, builder.topology.wide_memory.row_bytes
    ways = ((builder.plan.sources, chip.to_chip_cycles), (builder.plan.sinks, chip.from_chip_cycles))
    return sum(
        (
            cycles_of(row_bytes) * block.rows
            for ends, cycles_of in ways
            for end in ends
            for name in builder.partition.maps_of(end.stored.index)
            for block in blocks_of(builder.placement.maps[name], row_bytes)
        ),
        Fraction(0),
    )


def _computing(builder: ProgramBuilder) -> int:
    calls = [
        lowered_reduction(builder, Nowhere(), call)
        if builder.partition.adds(call.node)
        else lowered(builder, Nowhere(), call, side_by_side=True)
        for call in builder.partition.calls
    ]
    return sum(max(sum(steps(piece.op) for piece in own) for own in pieces.values()) for pieces in calls)


def steps(op: TensorOp) -> int:
    """Issue cycles: a second operand takes a second read."""
    return prod(loop.bound for loop in op.nest.loops[:-1]) * (2 if op.input_b is not None else 1)


def exchanged_words(map_: FeatureMap, word_bytes: int) -> int:
    """From above or below for all columns that a tile holds, and from left or right for its own rows and those."""
    pixel_words = map_.pixel_bytes // word_bytes
    down, across = _received(map_.rows), _received(map_.columns)
    rows, columns = (max(map(len, spans)) for spans in (map_.rows.own, map_.columns.hold))
    return pixel_words * (down * columns + across * (rows + 2 * down))


def _received(axis: Axis) -> int:
    """The most positions that a tile gets from one side."""
    return max(len(axis.received(place, before)) for place in range(len(axis.own)) for before in (True, False))


class Nowhere:
    """Parameter sets of which nothing is kept."""

    def keep(self, key: SetKey, tiles: int, part: str, make: Callable[[], NDArray[Any]], multiple: int) -> int:  # noqa: ARG002
        return 0
