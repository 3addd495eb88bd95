"""A sync keeps its unit exactly until what it waits for is counted."""

from __future__ import annotations

import pytest

from tilesim.rotating.isa.model.instructions import Counter
from tilesim.rotating.units.syncs import COUNTED, await_count
from tilesim.sim.core.clock import Clock, Work
from tilesim.sim.core.flags import FlagFile
from tilesim.sim.core.unit import BUSY, Reason, Unit
from tilesim.sim.trace.recorder import Recorder


class Bench:
    """A unit that waits for a count, and somebody who counts one in each of the cycles ``counted_in``."""

    def __init__(self, *counted_in: int) -> None:
        self.clock, self.recorder = Clock(), Recorder()
        self.counts = FlagFile(self.clock)
        self.unit = Unit(self.clock, "nnu.array", self.recorder)
        self.other = Unit(self.clock, "nnu.output", self.recorder)
        self.went_on = -1
        self.clock.process(self._count(counted_in))

    def _count(self, cycles: tuple[int, ...]) -> Work:
        for cycle in cycles:
            yield self.clock.timeout(cycle - self.clock.cycle)
            self.other.instruction = f"out{cycle}"
            self.other.spend(BUSY)
            self.counts.raise_by(Counter.OUTPUT, 1, self.other.waker)

    def wait(self, count: int, from_cycle: int = 0) -> None:
        def wait() -> Work:
            yield self.clock.timeout(from_cycle)
            self.unit.spend("idle")
            yield from await_count(self.unit, self.counts, Counter.OUTPUT, count, Reason.RAW)
            self.went_on = self.clock.cycle

        self.clock.process(wait())
        self.clock.run()


@pytest.mark.parametrize(("count", "goes_on"), [(0, 2), (1, 4), (2, 7), (3, 9)])
def test_it_goes_on_in_the_cycle_in_which_the_count_is_there(count: int, goes_on: int) -> None:
    bench = Bench(4, 7, 9)
    bench.wait(count, from_cycle=2)
    assert bench.went_on == goes_on
    assert bench.unit.cycles == {"idle": 2, **({"stall:raw": goes_on - 2} if goes_on > 2 else {})}
    assert bench.unit.waiting is None


@pytest.mark.parametrize("from_cycle", [7, 8, 20])
def test_a_count_that_is_there_keeps_it_no_cycle(from_cycle: int) -> None:
    bench = Bench(4, 7)
    bench.wait(2, from_cycle)
    assert bench.went_on == from_cycle
    assert bench.unit.cycles == {"idle": from_cycle}


def test_whoever_counted_last_has_ended_the_wait() -> None:
    bench = Bench(4, 7, 9)
    bench.wait(2)
    trace = bench.recorder.trace([], {})
    [wait] = [k for k, kind in enumerate(trace.kind) if trace.kinds[kind] == "stall:raw"]
    by = trace.released_by[wait]
    assert (trace.tracks[trace.track[by]], trace.whats[trace.what[by]]) == ("nnu.output", "out7")


def test_while_it_waits_it_says_for_what() -> None:
    bench = Bench(4, 7)
    bench.wait(3, from_cycle=1)
    wait = bench.unit.waiting
    assert bench.went_on == -1
    assert wait is not None
    assert (wait.reason, wait.since, wait.describe()) == (Reason.RAW, 1, "3 rows from the output unit; there are 2")


def test_each_counter_has_its_words() -> None:
    assert set(COUNTED) == set(Counter)
