"""Cycles of activities come into the accounts that they concern, span by span or summed up."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tilesim.sim.core.clock import Clock
from tilesim.sim.core.unit import BUSY, Unit
from tilesim.sim.pipe.course import Activity, ActivitySpans, Charge, charge_spans, charge_totals
from tilesim.sim.trace.recorder import Recorder

READS = Activity(True, True, False, "", "fifo")
WRITES = Activity(False, False, True, "fifo", "")
WAITS = Activity(False, False, False, "flag", "fifo")
ACTIVITIES = (READS, WRITES, WAITS)

STEPS = st.lists(st.tuples(st.sampled_from(ACTIVITIES), st.integers(1, 9)), max_size=12)


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
def test_spans_and_totals_are_the_same_account(steps: list[tuple[Activity, int]]) -> None:
    summed, listed, one_by_one = Pair(), Pair(), Pair()
    charge_totals(steps, summed.charges)
    which = np.array([ACTIVITIES.index(activity) for activity, _ in steps], np.int64)
    charge_spans(ActivitySpans(ACTIVITIES, which, np.array([cycles for _, cycles in steps], np.int64)), listed.charges)
    for activity, cycles in steps:
        for unit, kind, bytes_per_cycle in one_by_one.charges(activity):
            unit.add(kind, cycles, bytes_per_cycle * cycles)
    for one, other in ((summed, one_by_one), (listed, one_by_one)):
        for name in ("reader", "writer"):
            ours, theirs = getattr(one, name), getattr(other, name)
            assert (ours.cycles, ours.moved, ours.active_until) == (theirs.cycles, theirs.moved, theirs.active_until)
    assert listed.recorder.trace().sha256 == one_by_one.recorder.trace().sha256


def test_an_activity_of_no_cycles_is_not_charged() -> None:
    pair = Pair()
    charge_totals([(WAITS, 0), (READS, 2)], pair.charges)
    assert pair.reader.cycles == {BUSY: 2}
    assert pair.reader.moved == {"": 16}
