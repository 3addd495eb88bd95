"""A unit's account: every cycle exactly once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import simpy
from hypothesis import given
from hypothesis import strategies as st

from tilesim.sim.core.clock import Clock
from tilesim.sim.core.unit import BUSY, Reason, Unit
from tilesim.sim.trace.recorder import Recorder

STEPS = st.lists(st.tuples(st.sampled_from([BUSY, *(reason.kind for reason in Reason)]), st.integers(0, 9)))


@given(STEPS, st.integers(0, 9))
def test_busy_stalls_and_idle_add_up_and_the_trace_says_the_same(steps: list[tuple[str, int]], rest: int) -> None:
    recorder = Recorder()
    unit = Unit(Clock(), "chip.unit", recorder)
    for kind, cycles in steps:
        unit.add(kind, cycles)
    end = sum(cycles for _, cycles in steps) + rest
    unit.close(end)
    assert sum(unit.cycles.values()) == end
    recorded = recorder.trace()
    assert recorded.cycles.sum() == end - unit.cycles.get("idle", 0)
    assert (recorded.start_cycle[1:] >= recorded.start_cycle[:-1] + recorded.cycles[:-1]).all()


def test_a_wait_is_charged_to_its_reason_and_told_in_words() -> None:
    clock = Clock()
    unit = Unit(clock, "chip.unit")

    def work() -> Iterator[simpy.Event]:
        yield from unit.wait(clock.timeout(4), Reason.CREDIT, lambda: "a place")
        yield clock.timeout(3)
        unit.spend(BUSY, moved_bytes=12)
        yield from unit.wait(clock.event(), Reason.INSTRUCTION)

    clock.process(work())
    clock.run(until=2)
    assert unit.waiting is not None
    assert (unit.waiting.since, unit.waiting.describe()) == (0, "a place")
    clock.run(until=10)
    unit.close(10)
    assert unit.cycles == {"stall:credit": 4, BUSY: 3, "idle": 3}
    assert unit.active_until == 7
    assert unit.bytes == 12


def test_bytes_are_counted_by_the_instruction_in_work() -> None:
    unit = Unit(Clock(), "chip.unit")
    for instruction, moved_bytes in (("a", 4), ("b", 8), ("a", 16), ("b", 0)):
        unit.instruction = instruction
        unit.add(BUSY, 1, moved_bytes)
    assert unit.moved == {"a": 20, "b": 8}
    assert unit.bytes == 28
    unit.restart()
    assert unit.bytes == 0


def test_what_it_still_waits_for_at_the_end_counts_too() -> None:
    clock = Clock()
    unit = Unit(clock, "chip.unit")
    clock.process(unit.wait(clock.event(), Reason.FLAG))
    clock.run(until=6)
    unit.close(6)
    assert unit.cycles == {"stall:flag": 6}


def test_a_new_account_starts_where_it_is_opened() -> None:
    clock = Clock()
    unit = Unit(clock, "chip.unit")
    clock.run(until=5)
    unit.restart()
    assert unit.spend(BUSY, until=6) == 1
    unit.close(8)
    assert unit.cycles == {BUSY: 1, "idle": 2}


def test_booking_backwards_is_an_error() -> None:
    unit = Unit(Clock(), "chip.unit")
    unit.add(BUSY, 3)
    with pytest.raises(AssertionError, match=r"chip\.unit accounts for -3 cycles"):
        unit.spend(BUSY)


def test_an_instruction_that_is_held_back_waits_for_its_cycle_and_is_not_begun() -> None:
    clock = Clock()
    unit = Unit(clock, "held")
    unit.holds = {"late": 7}

    def work() -> Iterator[simpy.Event]:
        for label in ("late", "soon"):
            yield from unit.begin(label)
            yield clock.timeout(2)
            unit.spend(BUSY)

    clock.process(work())
    engaged = []
    for _ in range(11):
        clock.run(until=clock.cycle + 0.5)
        engaged.append((unit.instruction, unit.engaged))
        clock.run(until=clock.cycle + 1)
    assert engaged == [("late", False)] * 7 + [("late", True)] * 2 + [("soon", True)] * 2
    clock.run()
    assert unit.cycles == {"stall:hold": 7, "busy": 4}
