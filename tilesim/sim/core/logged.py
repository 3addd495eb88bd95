"""A unit whose account keeps every span, idle ones included."""

from __future__ import annotations

from typing import NamedTuple

from tilesim.sim.core.unit import Unit


class Span(NamedTuple):
    """Cycles ``start`` to ``end`` of one ``kind``, spent for ``instruction`` ("": for none that is known yet)."""

    start: int
    end: int
    kind: str
    instruction: str


class LoggedUnit(Unit):
    """``spans`` are contiguous, from its last restart on."""

    __slots__ = ("spans",)

    spans: list[Span]

    def restart(self) -> None:
        super().restart()
        self.spans = []

    def _count(self, kind: str, cycles: int, moved_bytes: int) -> None:
        start = self._accounted
        super()._count(kind, cycles, moved_bytes)
        if cycles:
            self.spans.append(Span(start, start + cycles, kind, self.instruction))
