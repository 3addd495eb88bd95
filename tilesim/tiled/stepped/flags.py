"""A register file of sync flags."""

from __future__ import annotations

from collections import Counter

from tilesim.tiled.isa.model.fields import Flag


class FlagFile:
    """One counter a flag. A watched flag must reach what is expected; with ``strict`` it must exceed it.

    Timing: what happens to a flag in cycle t is seen in t + 1; a reset comes before the increments of its cycle.
    """

    def __init__(self, strict: bool) -> None:
        self.counts: Counter[Flag] = Counter()
        self._strict = strict
        self._resets: list[Flag] = []
        self._rises: list[tuple[Flag, int]] = []

    def met(self, flag: Flag, expected: int) -> bool:
        return self.counts[flag] > expected if self._strict else self.counts[flag] >= expected

    def reset(self, flag: Flag) -> None:
        self._resets.append(flag)

    def rise(self, flag: Flag, increment: int = 1) -> None:
        self._rises.append((flag, increment))

    def commit(self) -> None:
        """The cycle ends."""
        if not self._resets and not self._rises:
            return
        for flag in self._resets:
            self.counts[flag] = 0
        for flag, increment in self._rises:
            self.counts[flag] += increment
        self._resets.clear()
        self._rises.clear()
