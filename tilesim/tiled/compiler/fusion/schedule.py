"""What is done in turn: steps of the plan, those of groups band by band."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tilesim.network.graph import Node
from tilesim.tiled.compiler.feature_map import FeatureMap, MapPart, bits
from tilesim.tiled.compiler.fusion.bands import FusionGroup, Spans
from tilesim.tiled.compiler.fusion.group import FusedGroup
from tilesim.tiled.compiler.names import band_name, map_name
from tilesim.tiled.compiler.tile_plan import TilePlan


@dataclass(frozen=True)
class LayerCall:
    """A step of the plan, or one band of it.

    ``reads`` names the maps that the node finds its inputs in, by tensor; ``makes`` the one that it makes, or of which
    it makes only ``rows``. ``tiles`` are those that have a part in the step, in this band or another. What it makes is
    whole with it if it ``completes`` it.
    """

    step: int
    layer: int
    node: Node
    reads: Mapping[int, str] = field(hash=False)
    makes: str
    tiles: int
    group: FusionGroup | None = None
    band: int = 0
    rows: Spans | None = None
    completes: bool = True

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


def banded_calls(plan: TilePlan, fused: FusedGroup) -> Iterator[LayerCall]:
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
            tiles, inner = fused.tiles(node.output), node.output in fused.inner
            mine = None if inner else rows.own[node.output]
            last = inner or not any(any(later.own[node.output]) for later in fused.rows[band + 1 :])
            yield LayerCall(step, layer, node, names, makes, tiles, fused.group, band, mine, last)
