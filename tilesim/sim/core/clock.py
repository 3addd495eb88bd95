"""Time: SimPy's event loop in whole cycles, with an order of phases within a cycle.

An event at time t is what units see at the start of cycle t. Units that compete in cycle t decide in its *arbitrate*
phase, after every request of the cycle is in; single accesses that only those grants outrank are made in its *claim*
phase; memory pipes are planned in its *settle* phase, when all that is known. So no result depends on the order in
which processes were created.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from enum import IntEnum
from typing import Any, TypeAlias

import simpy
from simpy.events import EventPriority

Work: TypeAlias = Generator[simpy.Event, Any, None]
"""What a unit does: it yields the events that it waits for."""


class Phase(IntEnum):
    """When within a cycle an event happens; SimPy's priorities (0 and 1 are its own urgent and normal)."""

    REQUEST = 1
    ARBITRATE = 2
    CLAIM = 3
    SETTLE = 4


class _Moment(simpy.Event):
    """An event that is already sure to happen, in a phase of a coming cycle."""

    def __init__(self, clock: Clock, phase: Phase, after_cycles: int) -> None:
        super().__init__(clock)
        self._ok = True
        self._value = None
        clock.schedule(self, EventPriority(phase), after_cycles)


class Clock(simpy.Environment):
    """A SimPy environment that counts cycles."""

    @property
    def cycle(self) -> int:
        return int(self._now)

    def listeners(self) -> Iterator[object]:
        """Those whose methods the events to come will call; None for what is no method."""
        for *_, event in self._queue:
            yield from (getattr(callback, "__self__", None) for callback in event.callbacks or ())

    def phase(self, phase: Phase, after_cycles: int = 0) -> simpy.Event:
        """An event in the given phase of the cycle ``after_cycles`` from now."""
        return _Moment(self, phase, after_cycles)


class Handover(simpy.Event):
    """When something is there that takes cycles to come; what it is, is known when the first of it comes."""

    def begin(self, value: object, cycles: int) -> None:
        """All of it is there in so many ``cycles``."""
        self._ok, self._value = True, value
        self.env.schedule(self, delay=cycles)


class Timer:
    """Calls ``ring`` at the cycle that was set last; setting it again takes the earlier setting back."""

    def __init__(self, clock: Clock, ring: Callable[[], None]) -> None:
        self._clock = clock
        self._ring = ring
        self._cycle: int | None = None
        self._setting: simpy.Event | None = None

    def set(self, cycle: int | None) -> None:
        """Ring at ``cycle`` (None: not at all until set again)."""
        if cycle == self._cycle:
            return
        self._cycle, self._setting = cycle, None
        if cycle is not None:
            self._setting = self._clock.timeout(cycle - self._clock.cycle)
            self._setting.callbacks.append(self._fire)

    def _fire(self, timeout: simpy.Event) -> None:
        if timeout is self._setting:
            self._cycle = self._setting = None
            self._ring()
