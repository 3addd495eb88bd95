"""Plans all pipes that share memory ports, again whenever something changes."""

from __future__ import annotations

import simpy

from tilesim.sim.alarm import Alarm
from tilesim.sim.clock import Clock, Phase
from tilesim.sim.pipe import Pipe


class Arbiter:
    """Keeps the pipes of one group of ports in step.

    ``order`` 0 is planned first; a pipe only competes with those before it. A change in cycle t (a pipe starts, a
    flag releases one, a single access takes a port) lets every pipe advance to t and plan anew from t, in that order,
    in the settle phase of t.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._pipes: dict[int, tuple[Pipe, Alarm]] = {}
        self._requested = False

    def add(self, order: int, pipe: Pipe) -> None:
        self._pipes[order] = (pipe, Alarm(self._clock))

    def remove(self, order: int) -> None:
        del self._pipes[order]

    def change(self) -> None:
        """Something that pipes depend on has changed in this cycle."""
        if self._pipes and not self._requested:
            self._requested = True
            self._clock.phase(Phase.SETTLE).callbacks.append(self._settle)

    def reach(self, order: int, written: int) -> simpy.Event:
        """When the pipe has written ``written`` groups."""
        pipe, alarm = self._pipes[order]
        pipe.target = written
        self.change()
        return alarm.wait()

    def _settle(self, _: simpy.Event) -> None:
        self._requested = False
        now = self._clock.cycle
        pipes = [self._pipes[order] for order in sorted(self._pipes)]
        for pipe, _alarm in pipes:
            pipe.advance(now)
        for place, (pipe, alarm) in enumerate(pipes):
            alarm.set(pipe.plan(publish=place < len(pipes) - 1))
