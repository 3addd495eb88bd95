"""Cycles of activities come into the accounts that they concern, span by span."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tilesim.sim.core.clock import Clock
from tilesim.sim.core.unit import BUSY, Unit
from tilesim.sim.pipe.course import Activity, Charge, charge
from tilesim.sim.trace.recorder import Recorder

READS = Activity(True, True, False, "", "fifo")
WRITES = Activity(False, False, True, "fifo", "")
WAITS = Activity(False, False, False, "flag", "fifo")
ACTIVITIES = (READS, WRITES, WAITS)

PERIODS = st.lists(st.tuples(st.sampled_from(ACTIVITIES), st.integers(1, 9)), min_size=1, max_size=4).map(tuple)
STEPS = st.lists(st.tuples(PERIODS, st.integers(1, 3)), max_size=6)


class Pair:
    """Two units: one is busy reading, the other one writing, which has nothing to do meanwhile."""

    def __init__(self) -> None:
        self.recorder = Recorder()
        self.reader, self.writer = (Unit(Clock(), f"chip.{name}", self.recorder) for name in ("reader", "writer"))

    def charges(self, activity: Activity) -> list[Charge]:
        reads = BUSY if activity.reading else f"stall:{activity.reads_wait}"
        return [
            (self.reader, reads, 8 * activity.reading),
            (self.writer, BUSY if activity.writing else "idle", 0),
        ]


@given(STEPS)
def test_stretches_are_charged_span_by_span(steps: list[tuple[tuple[tuple[Activity, int], ...], int]]) -> None:
    charged, one_by_one = Pair(), Pair()
    charge(steps, charged.charges)
    for period, times in steps:
        for activity, cycles in period * times:
            for unit, kind, bytes_per_cycle in one_by_one.charges(activity):
                unit.add(kind, cycles, bytes_per_cycle * cycles)
    for name in ("reader", "writer"):
        ours, theirs = getattr(charged, name), getattr(one_by_one, name)
        assert (ours.cycles, ours.moved, ours.active_until) == (theirs.cycles, theirs.moved, theirs.active_until)
    assert charged.recorder.trace().sha256 == one_by_one.recorder.trace().sha256
