"""When weights are fetched: early enough that the FIFO is always full."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tilesim.systolic.compiler.call import Item, PendingMultiply
from tilesim.systolic.isa.model.instructions import Instruction, ReadWeights
from tilesim.systolic.topology import Topology


@dataclass(frozen=True)
class _Tile:
    """One that is fetched: for the instruction at ``place`` of the stream."""

    place: int
    address: int
    weight_bytes: int
    layer: int
    label: str

    def follows(self, other: _Tile, tile_bytes: int) -> bool:
        apart = tile_bytes * self.weight_bytes
        return (self.weight_bytes, self.address) == (other.weight_bytes, other.address + apart)


def fetched(stream: Sequence[Item], topology: Topology) -> list[Instruction]:
    """The stream with the fetches of its tiles, which are those that the array does not hold already.

    A fetch stands as many tiles ahead as there are in the FIFO and in the path. Further ahead, with queues that hold
    one instruction, it could keep from the array the very multiply that makes room for it. Tiles that lie side by side
    are fetched together, at most as many as the FIFO holds.
    """
    stream = list(_switching(stream))
    tiles = [
        _tile(place, item) for place, item in enumerate(stream) if isinstance(item, PendingMultiply) and item.tile >= 0
    ]
    ahead = topology.weight_fifo.tiles + 1
    reads: dict[int, list[Instruction]] = {}
    for first, count in _groups(tiles, topology):
        tile = tiles[first]
        place = tiles[first - ahead].place if first >= ahead else 0
        reads.setdefault(place, []).append(
            ReadWeights(
                address=tile.address,
                tiles=count,
                weight_bytes=tile.weight_bytes,
                label=tile.label,
                layer=tile.layer,
            )
        )
    instructions: list[Instruction] = []
    for place, item in enumerate(stream):
        instructions += reads.get(place, [])
        instructions.append(item.op if isinstance(item, PendingMultiply) else item)
    return instructions


def _switching(stream: Sequence[Item]) -> Iterator[Item]:
    """The stream without switches to the tile that is there."""
    held = -1
    for item in stream:
        if isinstance(item, PendingMultiply) and item.tile >= 0:
            yield replace(item, tile=-1, op=replace(item.op, switch=False)) if item.tile == held else item
            held = item.tile
        else:
            yield item


def _tile(place: int, item: PendingMultiply) -> _Tile:
    return _Tile(place, item.tile, 2 if item.op.weights == "int16" else 1, item.op.layer, f"{item.op.label}.weights")


def _groups(tiles: Sequence[_Tile], topology: Topology) -> list[tuple[int, int]]:
    """The first, and the number, of tiles that are fetched together."""
    groups: list[tuple[int, int]] = []
    for number, tile in enumerate(tiles):
        first, count = groups[-1] if groups else (0, 0)
        side_by_side = count and tile.follows(tiles[number - 1], topology.weight_tile_bytes)
        if side_by_side and count < topology.weight_fifo.tiles and tile.layer == tiles[first].layer:
            groups[-1] = first, count + 1
        else:
            groups.append((number, 1))
    return groups
