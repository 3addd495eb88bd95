"""How units wait for counters."""

from __future__ import annotations

from tilesim.rotating.isa.model.instructions import Counter
from tilesim.sim.core.clock import Work
from tilesim.sim.core.flags import FlagFile
from tilesim.sim.core.unit import Reason, Unit, Wait

COUNTED = {
    Counter.ARRAY: "outs of the array",
    Counter.OUTPUT: "rows from the output unit",
    Counter.DMA_IN: "rows from DMA in",
    Counter.DMA_OUT: "rows over the link of DMA out",
}
"""What sentences call that which is counted."""


def await_count(unit: Unit, counts: FlagFile, until: Counter, count: int, reason: Reason) -> Work:
    """Let ``unit`` wait until a counter has come to ``count``; one that has keeps it no cycle."""
    if counts.met(until, count):
        return

    def describe() -> str:
        return f"{count:,} {COUNTED[until]}; there are {counts.count(until):,}"

    unit.waiting = Wait(reason, unit.clock.cycle, describe)
    waker = yield counts.reached(until, count)
    unit.waiting = None
    # What it began before may be accounted for up to here already.
    if unit.clock.cycle > unit.accounted_until:
        unit.spend(reason.kind)
        unit.woken_by(waker)
