"""A node's link of the ring, which its channels share."""

from __future__ import annotations

from typing import Protocol

import simpy

from tilesim.sim.core.clock import Clock, Phase
from tilesim.sim.core.unit import BUSY, Reason, Unit, Wait


class Sharer(Protocol):
    """What of a node decides, in its turn, what to do in a cycle: its channels' stops, and who writes for them."""

    def decide(self, now: int) -> None:
        """Do what can be done in this cycle; those before it have."""


class NodeLink:
    """Carries one packet at a time, whatever its channel.

    ``stops`` decide once a cycle, one after the other: that of channel A, then that of channel B; each takes and
    forwards before it sends what is its node's own. ``first`` come before both.

    Timing: a packet that enters in t has the link for the k cycles of its parts, so that the next one can enter from
    t + k on. In that cycle the first of these has it: a packet of A that is forwarded, one of A that the node sends,
    one of B that is forwarded, one of B that the node sends. While nothing is on it, it stalls for want of a credit if
    any of them does. Source: the register names of libedgetpu for two consumers, and reports of Edge TPU programs that
    broadcast parameters on a channel of their own; that both share the links, and who goes first, are assumptions.
    """

    def __init__(self, clock: Clock, unit: Unit) -> None:
        self.unit = unit
        self.first: list[Sharer] = []
        self.stops: list[Sharer] = []
        self.free = 0
        """The cycle from which on it can take a packet."""
        self._clock = clock
        self._decisions: set[int] = set()
        self._lacks_credit = False

    def poke(self, after_cycles: int = 0) -> None:
        """Something may be possible now, or ``after_cycles`` from now."""
        cycle = self._clock.cycle + after_cycles
        if cycle not in self._decisions:
            self._decisions.add(cycle)
            self._clock.phase(Phase.ARBITRATE, after_cycles).callbacks.append(self._decide)

    def decisions_from(self, now: int) -> list[int]:
        """How many cycles after ``now`` there is something to decide."""
        return sorted(cycle - now for cycle in self._decisions)

    def _decide(self, _: simpy.Event) -> None:
        now = self._clock.cycle
        self._decisions.discard(now)
        self._lacks_credit = False
        for each in self.first:
            each.decide(now)
        for each in self.stops:
            each.decide(now)
        if not self._lacks_credit:
            self._end_wait()
        elif self.free > now:  # the other channel has it now; behind that, the lack of a credit goes on
            self.poke(self.free - now)

    def await_credit(self) -> None:
        """A packet lacks a place at the next stop."""
        self._lacks_credit = True
        if self.unit.waiting is None:
            self.unit.spend("idle")
            self.unit.waiting = Wait(Reason.CREDIT, self._clock.cycle, lambda: "a place at the next stop")

    def _end_wait(self) -> None:
        """Whatever waited for a credit has left, has been taken here, or waits for its consumer now."""
        if self.unit.waiting is not None:
            self.unit.spend(Reason.CREDIT.kind)
            self.unit.waiting = None

    def carry(self, sender: str, row_cycles: int, row_bytes: int) -> None:
        """A packet of the instruction ``sender`` enters in this cycle."""
        self.free = self._clock.cycle + row_cycles
        self.unit.instruction = sender
        self._end_wait()
        self.unit.spend("idle")
        self.unit.add(BUSY, row_cycles, row_bytes)

    def pass_over(self, sender: str, row_bytes: int) -> None:
        """A packet goes by that takes no time."""
        if self.free <= self._clock.cycle:  # else the link has accounted for this cycle
            self.unit.spend("idle" if self.unit.waiting is None else Reason.CREDIT.kind)
        waiter, self.unit.instruction = self.unit.instruction, sender
        self.unit.add(BUSY, 0, row_bytes)
        self.unit.instruction = waiter
