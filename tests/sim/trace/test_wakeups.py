"""A stall ends by what somebody else did: said when it happened, or known of the source."""

from __future__ import annotations

import gc
import weakref
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tilesim.sim.trace import wakeups
from tilesim.sim.trace.recorder import Recorder, Waker
from tilesim.sim.trace.trace import Trace
from tilesim.sim.trace.wakeups import FEW, SELDOM, WakeupSource

FIFO, PORT, FLAG = "stall:fifo", "stall:port", "stall:flag"


def named(trace: Trace, span: int) -> tuple[str, int, str]:
    return trace.tracks[trace.track[span]], int(trace.start_cycle[span]), trace.whats[trace.what[span]]


def woken_by(trace: Trace, track: str, start: int) -> tuple[str, int, str] | None:
    """What ended the stall of ``track`` that begins at ``start``."""
    [span] = [k for k in range(len(trace.track)) if named(trace, k)[:2] == (track, start)]
    by = int(trace.released_by[span])
    return None if by < 0 else named(trace, by)


@pytest.fixture
def recorder() -> Recorder:
    """``taker`` waits twice; ``maker`` works on two instructions, the first one twice."""
    recorder = Recorder()
    for track, start, cycles, kind, what in (
        ("maker", 0, 3, "busy", "make1"),
        ("maker", 3, 2, FLAG, "make1"),
        ("maker", 5, 1, "busy", "make1"),
        ("maker", 6, 9, "busy", "make2"),
        ("taker", 0, 6, FIFO, "take"),
        ("taker", 6, 2, "busy", "take"),
        ("taker", 8, 4, FIFO, "take"),
    ):
        recorder.record(track, start, cycles, kind, what, 0)
    return recorder


def test_who_said_so_is_believed(recorder: Recorder) -> None:
    recorder.wake_up("taker", 6, Waker("maker", "make1"))
    recorder.wake_up("taker", 7, Waker("maker", "make1"))  # it did not stall
    recorder.wake_up("taker", 12, Waker("nobody", "make1"))
    trace = recorder.trace()
    assert woken_by(trace, "taker", 0) == ("maker", 5, "make1")
    assert woken_by(trace, "taker", 8) is None
    assert woken_by(trace, "maker", 3) is None


def test_a_source_did_it_before_the_end_with_that_instruction(recorder: Recorder) -> None:
    recorder.wake_up("taker", 12, Waker("maker", "make1"))
    assert woken_by(recorder.trace(), "taker", 8) == ("maker", 5, "make1")
    recorder.wake_up("taker", 12, Waker("maker", "unheard of"))
    assert woken_by(recorder.trace(), "taker", 8) is None


def test_a_partner_did_it_with_what_it_did_last(recorder: Recorder) -> None:
    trace = recorder.trace(
        wakeup_sources={("taker", FIFO): WakeupSource(["maker", "nobody"]), ("nobody", FIFO): WakeupSource(["maker"])}
    )
    assert woken_by(trace, "taker", 0) == ("maker", 5, "make1")
    assert woken_by(trace, "taker", 8) == ("maker", 6, "make2")


def test_whoever_was_last_of_several_partners() -> None:
    recorder = Recorder()
    for track, start in (("early", 1), ("late", 3), ("after", 5)):
        recorder.record(track, start, 1, "busy", "op", 0)
    recorder.record("taker", 0, 5, FIFO, "take", 0)
    trace = recorder.trace(wakeup_sources={("taker", FIFO): WakeupSource(["early", "late", "after"])})
    assert woken_by(trace, "taker", 0) == ("late", 3, "op")


def test_who_holds_a_port_does_so_in_the_last_cycle() -> None:
    recorder = Recorder()
    recorder.record("first", 0, 4, "busy", "op", 0)
    recorder.record("second", 0, 3, PORT, "op", 0)
    recorder.record("second", 3, 1, "busy", "op", 0)
    recorder.record("third", 0, 6, PORT, "op", 0)
    wakeup_sources = {
        ("second", PORT): WakeupSource(["first"], True),
        ("third", PORT): WakeupSource(["first", "second"], True),
    }
    trace = recorder.trace(wakeup_sources=wakeup_sources)
    assert woken_by(trace, "second", 0) == ("first", 0, "op")
    assert woken_by(trace, "third", 0) is None


TIMES = st.lists(st.tuples(st.integers(0, 4), st.integers(1, 9)), max_size=8)
"""Pauses, and how long something lasts then."""


def spans(times: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """When each begins, and ends."""
    found, now = [], 0
    for pause, cycles in times:
        found.append((now + pause, now + pause + cycles))
        now += pause + cycles
    return found


WAITS = st.tuples(st.integers(1, 60), st.lists(st.integers(0, 3), max_size=3, unique=True), st.booleans())
"""How many stalls somebody has, who may end them, and whether only by holding."""


@pytest.mark.parametrize(("few", "seldom"), [(0, SELDOM), (0, 1000), (FEW, SELDOM), (30, SELDOM)])
@example([[(0, 1)], [(2, 9)]], [(5, [0], False), (5, [0, 1], False)])
@given(st.lists(TIMES, min_size=1, max_size=3), st.lists(WAITS, min_size=1, max_size=3))
def test_of_those_who_may_have_held_a_port_it_is_the_last_to_begin(
    few: int, seldom: int, holders: list[list[tuple[int, int]]], waits: list[tuple[int, list[int], bool]]
) -> None:
    """However many stalls there are for each of their spans, and whoever is looked at together."""
    recorder, busy = Recorder(), [(k, start, end) for k, each in enumerate(holders) for start, end in spans(each)]
    for holder, start, end in busy:
        recorder.record(f"h{holder}", start, end - start, "busy", f"at{start}", 0)
    for waiter, (stalls, _, _) in enumerate(waits):
        for cycle in range(stalls):
            recorder.record(f"w{waiter}", cycle, 1, PORT, f"wait{cycle}", 0)
    sources = {
        (f"w{waiter}", PORT): WakeupSource([f"h{k}" for k in of], holding)
        for waiter, (_, of, holding) in enumerate(waits)
    }
    with patch.multiple(wakeups, FEW=few, SELDOM=seldom):
        trace = recorder.trace(wakeup_sources=sources)
    for waiter, (stalls, of, holding) in enumerate(waits):
        for until in range(1, stalls + 1):
            could = [
                (k, start) for k, start, end in busy if k in of and start < until and (end >= until or not holding)
            ]
            last = max(sorted(could, key=lambda each: of.index(each[0])), key=lambda each: each[1], default=None)
            expected = last and (f"h{last[0]}", last[1], f"at{last[1]}")
            assert woken_by(trace, f"w{waiter}", until - 1) == expected


def test_a_wakeup_from_one_kind_of_stall_ends_no_other(recorder: Recorder) -> None:
    recorder.wake_up("taker", 6, Waker("maker", "make1"), FLAG)
    recorder.wake_up("taker", 12, Waker("maker", "make2"), FIFO)
    trace = recorder.trace()
    assert woken_by(trace, "taker", 0) is None
    assert woken_by(trace, "taker", 8) == ("maker", 6, "make2")


@pytest.mark.parametrize("order", [1, -1])
def test_of_several_in_one_cycle_it_is_the_last_by_name(order: int) -> None:
    recorder = Recorder()
    for track in ("a", "b", "c"):
        recorder.record(track, 0, 3, "busy", "op", 0)
    recorder.record("taker", 0, 3, FLAG, "take", 0)
    for track in ("a", "c", "b")[::order]:
        recorder.wake_up("taker", 3, Waker(track, "op"), FLAG)
    assert woken_by(recorder.trace(), "taker", 0) == ("c", 0, "op")


def test_who_looked_for_sources_keeps_no_trace(recorder: Recorder) -> None:
    gc.disable()
    try:
        trace = recorder.trace(wakeup_sources={("taker", FIFO): WakeupSource(["maker"])})
        assert woken_by(trace, "taker", 0) is not None
        seen = weakref.ref(trace)
        del trace
        assert seen() is None
    finally:
        gc.enable()
