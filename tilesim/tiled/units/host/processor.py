"""The host's own processor: what tiles have no unit for, it computes."""

from __future__ import annotations

from collections.abc import Sequence

import simpy
from msgspec import Struct

from tilesim.sim.core.clock import Clock, Work
from tilesim.sim.core.unit import BUSY, Reason, Unit
from tilesim.tiled.units.host.host import HostOutfeed
from tilesim.tiled.units.host.task import HostTask


class _Result(Struct, eq=False):
    """Rows that are still to come of an output."""

    event: simpy.Event
    left: int


class HostProcessor:
    """Does one step after the other, each when all rows of results that it reads have come.

    Timing: a step begins in cycle t = max(end of the one before, the last of its rows at the host) and ends at t +
    ceil(bytes that it reads and makes * clock_hz / host.step_bytes_per_second), or at t where that is 0. Rows that are
    made of it may be on the link from then on. Source: assumption; a host is no part of the chip, and how fast it is no
    publication of one says.
    """

    def __init__(self, clock: Clock, unit: Unit, outfeed: HostOutfeed, tasks: Sequence[HostTask]) -> None:
        self.unit = unit
        self.began: dict[str, int] = {}
        """When each step began, by its label."""
        self._clock = clock
        self._outfeed = outfeed
        self._tasks = tasks
        rows = {output: rows for task in tasks for output, rows in task.awaits.items()}
        self._results = {output: _Result(clock.event(), count) for output, count in rows.items()}
        outfeed.on_row = self._arrive

    def start(self) -> None:
        """A run begins."""
        self._clock.process(self._work())

    def _arrive(self, output: int, there: int) -> None:
        result = self._results.get(output)
        if result is None:
            return
        result.left -= 1
        if not result.left:
            self._clock.timeout(there - self._clock.cycle).callbacks.append(lambda _: self._come(result))

    def _come(self, result: _Result) -> None:
        result.event.succeed()

    def _work(self) -> Work:
        for task in self._tasks:
            self.unit.instruction = task.label
            for output in task.awaits:
                result = self._results[output]
                if not result.event.processed:
                    yield from self.unit.wait(result.event, Reason.FIFO, lambda: "results from the chip")
            self.began[task.label] = self._clock.cycle
            if task.cycles:
                yield self._clock.timeout(task.cycles)
            self.unit.spend(BUSY, moved_bytes=task.size_bytes)
            self._finish(task)
        self.unit.instruction = ""

    def _finish(self, task: HostTask) -> None:
        task.work()
        for made, rows in task.gives:
            made.put(rows(), self._clock)
        for output in task.makes:
            self._outfeed.arrivals[output] = self._clock.cycle
