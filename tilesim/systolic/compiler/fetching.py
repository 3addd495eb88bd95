"""When weights are fetched: early enough that the FIFO is always full."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tilesim.systolic.compiler.call import Item, PendingMultiply
from tilesim.systolic.isa.model.instructions import Instruction, ReadWeights
from tilesim.systolic.topology import Topology


def fetched(stream: Sequence[Item], topology: Topology) -> list[Instruction]:
    """The stream with the fetches of its tiles, which are those that the array does not hold already.

    A fetch stands as many tiles ahead as there are in the FIFO and in the path. Further ahead, with queues that hold
    one instruction, it could keep from the array the very multiply that makes room for it. Tiles that lie side by side
    are fetched together, at most as many as the FIFO holds.
    """
    stream = list(_switching(stream))
    switches = [
        (place, item) for place, item in enumerate(stream) if isinstance(item, PendingMultiply) and item.tile >= 0
    ]
    ahead, number = topology.weight_fifo.tiles + 1, 0
    reads: dict[int, list[Instruction]] = {}
    for read in _joined([_read(item) for _, item in switches], topology):
        place = switches[number - ahead][0] if number >= ahead else 0
        reads.setdefault(place, []).append(read)
        number += read.tiles
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


def _read(item: PendingMultiply) -> ReadWeights:
    """The fetch of the one tile that a multiply switches to."""
    op = item.op
    weight_bytes = 2 if op.weights == "int16" else 1
    return ReadWeights(address=item.tile, weight_bytes=weight_bytes, layer=op.layer, label=f"{op.label}.weights")


def _joined(reads: Sequence[ReadWeights], topology: Topology) -> list[ReadWeights]:
    """Fetches of a layer's tiles that lie side by side as one."""
    joined: list[ReadWeights] = []
    for read in reads:
        last = joined[-1] if joined and joined[-1].tiles < topology.weight_fifo.tiles else read
        end = last.address + last.tiles * last.weight_bytes * topology.weight_tile_bytes
        if read == replace(last, address=end, tiles=1, label=read.label):
            joined[-1] = replace(last, tiles=last.tiles + 1)
        else:
            joined.append(read)
    return joined
