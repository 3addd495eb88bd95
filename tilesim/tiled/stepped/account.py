"""What a unit did in each cycle: busy, stalled for a reason, or idle."""

from __future__ import annotations

from collections import Counter

BUSY, IDLE = "busy", "idle"
TRAVERSAL, FLAG, CREDIT = "stall:traversal", "stall:flag", "stall:credit"
FIFO, HAZARD, PORT, HOST, WORK = "stall:fifo", "stall:hazard", "stall:port", "stall:host", "stall:work"
HOLD = "stall:hold"

Span = tuple[str, int, int, str, str]
"""Track, first cycle, cycles, kind, label of the instruction."""


class Account:
    """The cycles of the unit ``track`` by kind; ``spans``, if they are kept, are all that are not idle.

    What was noted last goes on until something else is.
    """

    def __init__(self, track: str, keeps_spans: bool) -> None:
        self.track = track
        self.cycles: Counter[str] = Counter()
        self.spans: list[Span] = []
        self.active_until = 0
        self.kind = IDLE
        self._what = ""
        self._since = 0
        self._keeps_spans = keeps_spans

    def note(self, cycle: int, kind: str, what: str = "") -> None:
        """From ``cycle`` on the unit does ``kind`` in the instruction ``what``."""
        if kind != self.kind or what != self._what:
            self._book(cycle)
            self.kind, self._what = kind, what

    def restart(self, cycle: int) -> None:
        """Begin a new account."""
        self._book(cycle)
        self.cycles = Counter()

    def close(self, end: int, at_last: str | None = None) -> None:
        """The run ended at ``end``; what the unit did last was ``at_last``, if that is known now."""
        self.kind = at_last or self.kind
        self._book(end)

    def _book(self, cycle: int) -> None:
        cycles = cycle - self._since
        if cycles > 0:
            self.cycles[self.kind] += cycles
            if self.kind != IDLE:
                self.active_until = cycle
                self._keep(cycles)
        self._since = cycle

    def _keep(self, cycles: int) -> None:
        """Spans that follow one another and say the same are one."""
        if not self._keeps_spans:
            return
        start, (track, kind, what) = self._since, (self.track, self.kind, self._what)
        if self.spans and self.spans[-1][3:] == (kind, what) and sum(self.spans[-1][1:3]) == start:
            _, start, before, _, _ = self.spans.pop()
            cycles += before
        self.spans.append((track, start, cycles, kind, what))
