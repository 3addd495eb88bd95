"""A program in the making."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

from tilesim.network.graph import Tensor
from tilesim.tiled.compiler.feature_map import FeatureMap
from tilesim.tiled.compiler.outline import Outline
from tilesim.tiled.compiler.placement import Placement
from tilesim.tiled.compiler.task import element_type
from tilesim.tiled.isa.fields import Flag, Watcher
from tilesim.tiled.isa.instructions import Instruction, TensorOp
from tilesim.tiled.isa.program import TensorPiece
from tilesim.tiled.topology import Topology


@dataclass
class Draft:
    """The instructions of one inference in the order of issue, and what has to be remembered while they are written.

    ``raised`` is how far each flag will have counted once everything written so far is done; ``ready`` holds, for a
    tensor, what its first reader still has to wait for; ``tensorops_until[k]`` counts the tensorops of the first k
    steps.
    """

    topology: Topology
    plan: Outline
    placement: Placement
    tiles: int
    run: list[Instruction] = field(default_factory=list)
    raised: Counter[Flag] = field(default_factory=Counter)
    ready: dict[int, list[Watcher]] = field(default_factory=dict)
    tensorops_until: list[int] = field(default_factory=lambda: [0])
    pieces: list[TensorPiece] = field(default_factory=list)

    def write(self, op: Instruction, raises: Flag | None = None, by: int = 1) -> None:
        """Append an instruction, which raises a flag ``by`` so much."""
        self.run.append(op)
        if raises is not None:
            self.raised[raises] += by

    def all_of(self, flag: Flag) -> Watcher:
        """Waits for everything that has been written and raises ``flag``."""
        return self.counted(flag, self.raised[flag])

    def counted(self, flag: Flag, count: int) -> Watcher:
        """Waits until ``flag`` has counted to ``count``, whichever way the chip compares."""
        return Watcher(flag, count - self.topology.tile.strict_compare)

    def map_of(self, tensor: Tensor) -> FeatureMap:
        return self.placement.maps[tensor.index]

    def compute(self, tensors: list[Tensor], output: Tensor, ops: list[TensorOp]) -> None:
        """Append the tensorops of one step; the first waits for whatever its inputs still need."""
        watchers = [watcher for tensor in tensors for watcher in self.ready.pop(tensor.index, [])]
        for k, op in enumerate(ops):
            self.write(op if k else replace(op, wait=tuple(dict.fromkeys(watchers))), Flag.AVDATA)
        self.tensorops_until.append(self.raised[Flag.AVDATA])
        self.note(output, ops[-1].label)

    def note(self, tensor: Tensor, after: str) -> None:
        """Remember that a tensor, and whatever shares its bytes, stands in its map after an instruction."""
        map_ = self.map_of(tensor)
        for index in self.plan.network.tensors:
            if self.plan.stored(index) is tensor:
                self.pieces.append(_piece(index, tensor, map_, after))


def _piece(index: int, tensor: Tensor, map_: FeatureMap, after: str) -> TensorPiece:
    shape = map_.shape
    return TensorPiece(
        index=index,
        after=after,
        tile=0,
        address=map_.at(0, 0),
        row_bytes=map_.row_bytes,
        pixel_bytes=map_.pixel_bytes,
        origin=(0, 0, 0),
        extent=(shape.height, shape.width, shape.channels),
        element=str(element_type(tensor.dtype)),
    )
