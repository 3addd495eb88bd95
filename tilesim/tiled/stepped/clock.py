"""The cycle that all units are in, and whether anything still goes on."""

from __future__ import annotations


class Clock:
    """Counts cycles; units :meth:`stir` it whenever they change something, or know of something that is still to come.

    That the ring forwards a packet is kept apart, for packets may go round for ever.
    """

    def __init__(self) -> None:
        self.cycle = 0
        self._awake_until = 0
        self._ring_until = 0

    def stir(self, later_cycles: int = 0) -> None:
        """Something changes in this cycle, or is sure to so many cycles later."""
        self._awake_until = max(self._awake_until, self.cycle + later_cycles)

    def pass_on(self, later_cycles: int) -> None:
        """A packet on the ring arrives so many cycles later."""
        self._ring_until = max(self._ring_until, self.cycle + later_cycles)

    @property
    def all_wait(self) -> bool:
        """Whether a whole cycle has gone by in which nothing changed, but perhaps for where packets are on the ring."""
        return self.cycle > self._awake_until + 1

    @property
    def rests(self) -> bool:
        """Whether a whole cycle has gone by in which nothing changed: so nothing ever will."""
        return self.all_wait and self.cycle > self._ring_until + 1
