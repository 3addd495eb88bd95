"""Time: SimPy's event loop in whole cycles, with an order of phases within a cycle.

An event at time t is what units see at the start of cycle t. Units that compete in cycle t decide in its *arbitrate* phase,
after every request of the cycle is in; single accesses that only those grants outrank are made in its *claim* phase; memory pipes are
planned in its *settle* phase, when all that is known. So no result depends on the order in which processes were created.
"""

from __future__ import annotations

from enum import IntEnum

import simpy


class Phase(IntEnum):
    """When within a cycle an event happens; SimPy's priorities (0 and 1 are its own urgent and normal)."""

    REQUEST = 1
    ARBITRATE = 2
    CLAIM = 3
    SETTLE = 4


class Clock(simpy.Environment):
    """A SimPy environment that counts cycles."""

    @property
    def cycle(self) -> int:
        return int(self.now)

    def phase(self, phase: Phase, after_cycles: int = 0) -> simpy.Event:
        """An event in the given phase of the cycle ``after_cycles`` from now."""
        event = simpy.Event(self)
        event._ok = True
        event._value = None
        self.schedule(event, phase, after_cycles)
        return event
