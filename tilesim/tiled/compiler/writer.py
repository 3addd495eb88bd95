"""Writes the instructions of one inference down in order, counting flags as it goes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

from tilesim.tiled.isa.fields import Flag, Watcher
from tilesim.tiled.isa.instructions import Instruction, TensorOp


@dataclass
class Writer:
    """``raised`` is how far each flag of the tile will have counted once everything written so far is done."""

    instructions: list[Instruction] = field(default_factory=list)
    raised: Counter[Flag] = field(default_factory=Counter)

    def write(self, op: Instruction, raises: Flag | None = None, by: int = 1) -> None:
        self.instructions.append(op)
        if raises is not None:
            self.raised[raises] += by

    def compute(self, op: TensorOp) -> None:
        self.write(op, Flag.AVDATA)

    def all_of(self, flag: Flag) -> Watcher:
        """Waits for everything that has been written and raises ``flag``."""
        return Watcher(flag, self.raised[flag])


def waiting(op: TensorOp, watchers: list[Watcher]) -> TensorOp:
    return replace(op, wait=(*op.wait, *watchers))
