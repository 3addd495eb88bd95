"""What the units around the tiles share: a life that goes on by one ``yield`` a cycle."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from typing import Any

from tilesim.tiled.stepped.core import BUSY, HOLD, IDLE, Account, Clock, Fifo


class Thread:
    """A unit whose :meth:`life` says with each ``yield`` what kind of cycle this is.

    Asked at the cycle's beginning; ``acted`` makes it busy after all, when arbitration had it do something.
    """

    def __init__(self, clock: Clock, account: Account) -> None:
        self.clock = clock
        self.account = account
        self.label = ""
        self.acted = False
        self.holds: Mapping[str, int] = {}
        self.held = False
        self._kind = IDLE
        self._life = self.life()

    def life(self) -> Iterator[str]:
        """The unit's cycles."""
        raise NotImplementedError

    def next_of(self, buffer: Fifo[Any]) -> Generator[str, None, Any]:
        """Wait for an instruction in ``buffer``, and take it up; one that is held back, in its cycle."""
        self.label = ""
        while buffer.head() is None:
            yield IDLE
        op = buffer.take()
        self.label = op.label
        until = self.holds.get(op.label, 0)
        while self.clock.cycle < until:
            self.clock.stir(until - self.clock.cycle)
            self.held = True
            yield HOLD
        self.held = False
        return op

    def request(self) -> None:
        """The cycle begins."""
        self.acted = False
        self._kind = next(self._life)
        if self._kind == BUSY:
            self.clock.stir()

    def commit(self) -> None:
        """The cycle ends."""
        if self.acted:
            self.clock.stir()
        self.account.note(self.clock.cycle, BUSY if self.acted else self._kind, self.label)
