"""When the two ring consumers of a tile write to its wide memory."""

from __future__ import annotations

import simpy

from tilesim.sim.core.clock import Clock
from tilesim.tiled.units.ring.node_link import NodeLink


class RingCommits:
    """Keeps the commits of consumers 0 (A) and 1 (B) apart, where wide memory has one port.

    A row is not begun to be taken whose last part would come in the cycle of a commit of the other consumer. What has
    been begun is committed with its last part, whatever comes. A row that needs a cycle of its own, behind the row that
    completed two, waits for one in which the other commits none, A's before B's.

    Timing: of rows that stand at both stops from t on, A's is taken from t on, B's from t + 1 on. Source: assumption.
    """

    def __init__(self, clock: Clock, ports: int, link: NodeLink) -> None:
        self._clock = clock
        self._shares = ports == 1
        self._link = link
        self._cycles = [-1, -1]
        """In which each commits next, or has last."""
        self._owed: list[simpy.Event | None] = [None, None]
        link.first.append(self)

    def clashes(self, number: int, cycle: int) -> bool:
        """Whether the other consumer commits in a cycle."""
        return self._shares and self._cycles[1 - number] == cycle

    def note(self, number: int, cycle: int) -> None:
        """A consumer will commit in a cycle, which is this one or has been asked about in this one."""
        self._cycles[number] = cycle
        self._link.poke(1)  # for what was kept from being taken

    def owe(self, number: int) -> simpy.Event:
        """A row needs a commit of its own; the event is in the cycle, from this one on, in which it has it."""
        event = self._owed[number] = self._clock.event()
        self._link.poke()
        return event

    def decide(self, now: int) -> None:
        """Let those have it who can."""
        for number, event in enumerate(self._owed):
            if event is not None and not self.clashes(number, now):
                self._owed[number] = None
                self.note(number, now)
                event.succeed()
            elif event is not None:
                self._link.poke(1)
