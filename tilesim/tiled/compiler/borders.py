"""Borders of zero points around maps that padded layers read."""

from __future__ import annotations

from tilesim.network.graph import Tensor
from tilesim.tiled.compiler.draft import Draft
from tilesim.tiled.compiler.feature_map import FeatureMap
from tilesim.tiled.compiler.rows import block
from tilesim.tiled.isa.fields import Flag, Side, Traversal, Watcher
from tilesim.tiled.isa.instructions import MeshIn


def fill_borders(draft: Draft, tensor: Tensor, step: int) -> None:
    """Let the mesh engines fill what no neighbour sends, once nobody needs the bytes below any more."""
    wait = _free_again(draft, tensor, step)
    zero_point = tensor.quantisation.zero_point if tensor.quantisation else 0
    for side, target in border_blocks(draft.map_of(tensor), draft.topology.narrow_memory.word_bytes).items():
        flag = Flag(f"mesh_{side}_in")
        op = MeshIn(
            tiles=draft.tiles,
            side=side,
            write=target,
            fill=zero_point,
            wait=wait,
            produce=target.nest.loops[0].name,
            label=f"border{tensor.index}.{side}",
        )
        draft.write(op, flag)
        draft.ready.setdefault(tensor.index, []).append(draft.all_of(flag))


def border_blocks(map_: FeatureMap, word_bytes: int) -> dict[Side, Traversal]:
    """The sides of a border that are there; north and south take the corners."""
    border, shape = map_.border, map_.shape
    line, left, right = (
        pixels * map_.pixel_bytes // word_bytes
        for pixels in (border.left + shape.width + border.right, border.left, border.right)
    )
    sides = {
        Side.NORTH: (map_.at(-border.top, -border.left), border.top, line),
        Side.EAST: (map_.at(0, shape.width), shape.height, right),
        Side.SOUTH: (map_.at(shape.height, -border.left), border.bottom, line),
        Side.WEST: (map_.at(0, -border.left), shape.height, left),
    }
    return {
        side: block(address, lines, map_.row_bytes, words, word_bytes)
        for side, (address, lines, words) in sides.items()
        if lines * words
    }


def _free_again(draft: Draft, tensor: Tensor, step: int) -> tuple[Watcher, ...]:
    """Waits for the last tensorop that uses the bytes on which the tensor will lie."""
    before = draft.placement.predecessors(tensor.index)
    last = max((draft.placement.lifetimes[other].last for other in before), default=0)
    done = draft.tensorops_until[min(last, step - 1)] if last else 0
    return (draft.counted(Flag.AVDATA, done),) if done else ()
