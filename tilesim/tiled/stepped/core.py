"""What units are made of: the clock, accounts of cycles, queues, flags, and the life of a unit around the tiles."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Generator, Iterator, Mapping
from heapq import heappop, heappush
from typing import Any, Generic, TypeVar

from tilesim.tiled.isa.model.fields import Flag

BUSY, IDLE = "busy", "idle"
TRAVERSAL, FLAG, CREDIT = "stall:traversal", "stall:flag", "stall:credit"
FIFO, HAZARD, PORT, HOST, WORK = "stall:fifo", "stall:hazard", "stall:port", "stall:host", "stall:work"
HOLD = "stall:hold"

Span = tuple[str, int, int, str, str]
"""Track, first cycle, cycles, kind, label of the instruction."""

Item = TypeVar("Item")


class Clock:
    """Counts cycles; units :meth:`stir` it whenever they change something, or know of something that is still to come.

    That the ring forwards a packet is kept apart, for packets may go round for ever.
    """

    def __init__(self) -> None:
        self.cycle = 0
        self._stirred_in = 0
        self._awake_until = 0
        self._ring_until = 0
        self._to_come: list[int] = []

    def stir(self, later_cycles: int = 0) -> None:
        """Something changes in this cycle, or is sure to so many cycles later."""
        self._stirred_in = self.cycle
        self._awake_until = max(self._awake_until, self.cycle + later_cycles)
        if later_cycles:
            heappush(self._to_come, self.cycle + later_cycles)

    def advance(self) -> None:
        """Go on to the next cycle; where a whole one has gone by in which nothing changed, neither on the ring, to the
        first in which something is sure to: those before it would be the same.
        """
        self.cycle += 1
        while self._to_come and self._to_come[0] < self.cycle:
            heappop(self._to_come)
        if self._to_come and max(self._stirred_in, self._ring_until) + 1 < self.cycle:
            self.cycle = self._to_come[0]

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


class UnitAccount:
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
            self._account(cycle)
            self.kind, self._what = kind, what

    def restart(self, cycle: int) -> None:
        """Begin a new account."""
        self._account(cycle)
        self.cycles = Counter()

    def close(self, end: int, at_last: str | None = None) -> None:
        """The run ended at ``end``; what the unit did last was ``at_last``, if that is known now."""
        self.kind = at_last or self.kind
        self._account(end)

    def _account(self, cycle: int) -> None:
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


class Fifo(Generic[Item]):
    """Holds at most ``depth`` items, places that are kept for items on their way included.

    Timing: a place that is freed in cycle t can be used from t + 1 on.
    """

    def __init__(self, clock: Clock, depth: int) -> None:
        self.depth = depth
        self._clock = clock
        self._items: deque[tuple[int, Item]] = deque()
        self._used = 0
        self._freed = 0
        self._freed_in = -1

    def room(self) -> bool:
        """Whether there is a place in this cycle."""
        return self._used - (self._freed if self._freed_in < self._clock.cycle else 0) < self.depth

    def reserve(self) -> None:
        """Keep a place for an item that will be :meth:`put`."""
        self._used += 1
        self._clock.stir()

    def put(self, item: Item, later_cycles: int = 0) -> None:
        """Fill a place that was kept; the item can be taken so many cycles later."""
        self._items.append((self._clock.cycle + later_cycles, item))
        self._clock.stir(later_cycles)

    def head(self) -> Item | None:
        """The item that can be taken in this cycle."""
        return self._items[0][1] if self._items and self._items[0][0] <= self._clock.cycle else None

    def take(self) -> Item:
        if self._freed_in < self._clock.cycle:
            self._used -= self._freed
            self._freed, self._freed_in = 0, self._clock.cycle
        self._freed += 1
        self._clock.stir()
        return self._items.popleft()[1]


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


class Thread:
    """A unit whose :meth:`life` says with each ``yield`` what kind of cycle this is.

    Asked at the cycle's beginning; ``acted`` makes it busy after all, when arbitration had it do something.
    """

    def __init__(self, clock: Clock, account: UnitAccount) -> None:
        self.clock = clock
        self.account = account
        self.label = ""
        self.acted = False
        self.holds: Mapping[str, int] = {}
        self.held = False
        self._kind = IDLE
        self._counts_until = 0
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

    def spend(self, cycles: int, kind: str = BUSY) -> Iterator[str]:
        """Let so many cycles go by, and change nothing in them."""
        self._counts_until = self.clock.cycle + cycles
        self.clock.stir(cycles)
        while self.clock.cycle < self._counts_until:
            yield kind

    def request(self) -> None:
        """The cycle begins."""
        self.acted = False
        self._kind = next(self._life)
        if self._kind == BUSY and self.clock.cycle >= self._counts_until:
            self.clock.stir()

    def commit(self) -> None:
        """The cycle ends."""
        if self.acted:
            self.clock.stir()
        self.account.note(self.clock.cycle, BUSY if self.acted else self._kind, self.label)
