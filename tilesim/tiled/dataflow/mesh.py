"""Who sends over the mesh what somebody takes: the k-th transfer out of a side meets the k-th into the one opposite."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from tilesim.tiled.dataflow.cuts import BEGAN
from tilesim.tiled.flat.tables import Numbers
from tilesim.tiled.isa.model.fields import OPPOSITE, Side, neighbour
from tilesim.tiled.isa.model.instructions import Instruction, MeshIn, MeshOut
from tilesim.tiled.topology import Topology


class Meshes:
    """The mesh's transfers so far."""

    def __init__(self, ops: Sequence[Instruction], topology: Topology) -> None:
        self._ops, self._grid = ops, topology.grid
        self._out: dict[tuple[int, Side], list[int]] = defaultdict(list)
        self._in: dict[tuple[int, Side], list[int]] = defaultdict(list)
        self._senders: dict[tuple[int, int], tuple[int, int]] = {}

    def hear(self, events: Numbers) -> None:
        """What has begun in a section."""
        for _, tile, place, _, _, _ in events[events[:, 4] == BEGAN].tolist():
            op = self._ops[place]
            if isinstance(op, MeshOut):
                self._out[tile, op.side].append(place)
            elif isinstance(op, MeshIn) and op.fill is None:
                self._in[tile, op.side].append(place)
        for (tile, side), taken in self._in.items():
            sender = neighbour(self._grid, tile, side)
            assert sender is not None
            for place, out in zip(taken, self._out[sender, OPPOSITE[side]], strict=False):
                self._senders[place, tile] = out, sender

    def sender(self, place: int, tile: int) -> tuple[int, int]:
        """The instruction, and the tile, that sends what the one at ``place`` takes."""
        return self._senders[place, tile]
