"""What the lines of a hang report are told from, and the words that they share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tilesim.sim.core.unit import Reason, Unit
from tilesim.tiled.isa.model.instructions import Instruction
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.rules.ring.transfers import Transfer, sent_by
from tilesim.tiled.units.chip import Chip
from tilesim.tiled.units.engine import NAMED

Amount = tuple[str, int]
"""What an instruction, by its label, gives or takes."""

CONTROLLER = -1
"""Where the controller's own instructions come: before the first stop of the instruction bus."""


@dataclass(frozen=True)
class Story:
    """A chip that is stuck in the section ``ops`` of ``program``."""

    chip: Chip
    program: Program
    ops: tuple[Instruction, ...]

    def late(self, stop: int) -> set[str]:
        """The labels of what has not come to a stop of the instruction bus: the controller, or the bus before the stop,
        is stuck.
        """
        heads = {each.unit.instruction for each in self.chip.bus[: stop + 1] if waits(each.unit)}
        if self.chip.sequencer.current is not None:
            heads.add(self.chip.sequencer.current.label)
        first = next((place for place, op in enumerate(self.ops) if op.label in heads), len(self.ops))
        return {op.label for op in self.ops[first:]}

    def transfers(self) -> list[Transfer]:
        """All that the section puts on the ring."""
        topology = self.program.topology
        return [
            Transfer(0, op, op.label, place, ordinal, master, to, rows, topology.tiles + 3)
            for place, op in enumerate(self.ops)
            for ordinal, (master, to, rows) in enumerate(sent_by(op, topology))
        ]


def waits(unit: Unit) -> bool:
    """Whether a unit is stuck, and does not just wait for an instruction."""
    return unit.waiting is not None and unit.waiting.reason is not Reason.INSTRUCTION


def named(names: Iterable[str], nothing: str = "nothing") -> str:
    """Some of the names, and how many more."""
    found = list(dict.fromkeys(names))
    more = [f"{len(found) - NAMED} more"] if len(found) > NAMED else []
    return " and ".join(filter(None, [", ".join(found[:NAMED]), *more])) or nothing


def amount(unit: str, parts: list[Amount]) -> str:
    """How much in all, and of whom."""
    total = sum(count for _, count in parts)
    listed = f" ({named(f'{label} {count}' for label, count in parts)})" if parts else ""
    return f"{total or 'no'} {unit}{'s' * (total != 1)}{listed}"
