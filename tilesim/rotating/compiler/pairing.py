"""How two maps whose words stand apart are brought together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilesim.network.operators import Add, Multiply
from tilesim.rotating.compiler.task import Task
from tilesim.rotating.isa.model.program import Stripe
from tilesim.rotating.topology import Topology


@dataclass(frozen=True)
class Pairing:
    """``turned`` is the operand that is rotated by ``words`` to where the other stands. ``swapped``: it is the second
    that goes into the accumulators.
    """

    turned: int
    words: int
    swapped: bool

    def clocks(self, topology: Topology) -> int:
        """Of a row. What is turned and stays in the mux-registers is loaded behind the other."""
        return 2 + topology.rotation.moves(self.words) + (self.turned == 1 and not self.swapped and self.words > 0)


def aligned(task: Task, stripes: Sequence[Stripe]) -> list[int]:
    """Of each input, the word at which the first column stands that a layer makes of it."""
    return [stripe.offset + skip for stripe, skip in zip(stripes, task.skips, strict=True)]


def pairing(op: Add | Multiply, offsets: tuple[int, int], topology: Topology) -> Pairing:
    """The cheapest way for maps at these offsets."""
    units, up = topology.units.count, topology.rotation.direction == "up"
    ahead = (offsets[1] - offsets[0] if up else offsets[0] - offsets[1]) % units
    behind = -ahead % units
    ways = [Pairing(0, ahead, swapped=False), Pairing(1, behind, swapped=False)]
    if swapped_scaling(op) is not None:
        ways.append(Pairing(1, behind, swapped=True))
    return min(ways, key=lambda way: way.clocks(topology))


def swapped_scaling(op: Add | Multiply) -> tuple[int, ...] | None:
    """The scaling with which the operands may come the other way round; None where their order matters."""
    scaling = op.scaling
    if isinstance(op, Multiply) and op.rule != "real":
        return (scaling[1], scaling[0], *scaling[2:])
    if op.rule == "real":
        return (*scaling[2:4], *scaling[:2], *scaling[4:])
    return (*scaling[3:6], *scaling[:3], *scaling[6:]) if op.rule == "double" else None
