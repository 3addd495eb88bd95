"""The cycle that all units are in, and whether anything still goes on."""

from __future__ import annotations


class Clock:
    """Counts cycles; units :meth:`stir` it whenever they change something, or know of something that is still to come."""

    def __init__(self) -> None:
        self.cycle = 0
        self._awake_until = 0

    def stir(self, later_cycles: int = 0) -> None:
        """Something changes in this cycle, or is sure to so many cycles later."""
        self._awake_until = max(self._awake_until, self.cycle + later_cycles)

    @property
    def rests(self) -> bool:
        """Whether a whole cycle has gone by in which nothing changed: so nothing ever will."""
        return self.cycle > self._awake_until + 1
