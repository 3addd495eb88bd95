"""One way of the host's link: how long bytes take."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil, floor

LinkCycles = Callable[[int], Fraction]
"""Cycles that so many bytes occupy the link."""


class HostLink:
    """Carries bytes one after the other, at a rate that need not be whole bytes a cycle.

    Timing: n bytes asked for in cycle t occupy the link from e = max(end of those before, t) on, for ``cycles_of(n)``
    cycles: exactly, so that n transfers back to back take n times as long as one. The next may be asked for in the
    cycle floor(e) in which they end; they are through, to be seen, at ceil(e). Source: assumption.
    """

    def __init__(self, cycles_of: LinkCycles) -> None:
        self._cycles_of = cycles_of
        self._free = Fraction(0)

    def carry(self, cycle: int, size_bytes: int) -> tuple[int, int]:
        """Carry bytes asked for in ``cycle``: the cycle in which that ends, and the first that has them all."""
        self._free = max(self._free, Fraction(cycle)) + self._cycles_of(size_bytes)
        return floor(self._free), ceil(self._free)
