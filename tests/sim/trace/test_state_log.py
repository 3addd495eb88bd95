"""What owners tell of their signals becomes changes in the order of cycles, one a cycle, none that is no change."""

from __future__ import annotations

import pytest

from tilesim.sim.trace.signals import Signals
from tilesim.sim.trace.state_log import StateLog

START = 100


def told(log: StateLog, cycles: int = 20) -> dict[str, list[tuple[int, str]]]:
    """The changes of each signal, in words."""
    signals = log.signals(cycles)
    changes = zip(signals.signal.tolist(), signals.cycle.tolist(), signals.value.tolist(), strict=True)
    found: dict[str, list[tuple[int, str]]] = {name: [] for name in signals.names}
    for place, cycle, value in changes:
        found[signals.names[place]].append((cycle, signals.text(place, value)))
    return found


def begun(window: range = range(5, 15)) -> StateLog:
    log = StateLog(window)
    log.signal("flag", "flag").set(3, 7)
    log.begin(START)
    return log


def test_values_of_the_window_and_the_last_one_before_it() -> None:
    log = begun()
    flag = log._signals[0]
    for cycle, value in [(101, 1), (105, 2), (107, 2), (108, 4), (108, 5), (109, 5), (115, 6)]:
        flag.set(cycle, value)
    assert told(log) == {"flag": [(5, "2"), (8, "5")]}


def test_before_the_run_begins_nothing_is_in_the_window() -> None:
    log = begun(range(10))
    assert told(log) == {"flag": [(0, "7")]}


def test_what_is_told_ahead_gives_way_to_what_is_told_later() -> None:
    log = StateLog(range(10))
    link = log.signal("link", "packet")
    log.begin(START)
    for cycle in (102, 103, 106):
        link.set(cycle, log.number(f"send {cycle} 1"))
        link.set(cycle + 1, -1)
    texts = [(0, ""), (2, "send 102 1"), (3, "send 103 1"), (4, ""), (6, "send 106 1"), (7, "")]
    assert told(log) == {"link": texts}


def test_a_tally_adds_up_in_whatever_order_it_is_told() -> None:
    log = StateLog(range(2, 10))
    tally = log.tally("fill")
    tally.add(50, 4)
    log.begin(START)
    for cycle, change in [(105, 1), (103, 1), (101, 1), (104, -1), (105, 1), (106, 1), (106, -1)]:
        tally.add(cycle, change)
    assert told(log) == {"fill": [(2, "5"), (3, "6"), (4, "5"), (5, "7")]}


def test_units_are_at_what_their_spans_say() -> None:
    log = StateLog(range(2, 12))
    log.unit("chip.unit", "instruction")
    log.unit("chip.link", "word")
    log.begin(START)
    log.spans.record("chip.unit", 100, 4, "stall:flag", "load", 0)
    log.spans.record("chip.unit", 104, 2, "busy", "load", 8)
    log.spans.record("chip.unit", 106, 1, "busy", "store", 8)
    log.spans.record("chip.unit", 111, 9, "busy", "late", 8)
    log.spans.record("chip.link", 101, 3, "busy", "send", 8)
    log.spans.record("chip.link", 104, 2, "stall:credit", "send", 0)
    log.spans.record("chip.link", 106, 1, "busy", "send", 8)
    assert told(log) == {
        "chip.unit": [(2, "load"), (6, "store"), (7, ""), (11, "late")],
        "chip.link": [(2, "send 1"), (3, "send 2"), (4, ""), (6, "send 3"), (7, "")],
    }


@pytest.mark.parametrize(
    ("asked", "most", "window"),
    [(range(5, 15), 100, range(5, 15)), (range(5, 1 << 40), 100, range(5, 20)), (range(30, 40), 100, range(30, 30))],
)
def test_it_ends_with_the_run(asked: range, most: int, window: range, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilesim.sim.trace.state_log.MOST_SIGNAL_VALUES", most)
    assert begun(asked).signals(20).window == window


def test_it_ends_when_it_is_as_large_as_it_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilesim.sim.trace.state_log.MOST_SIGNAL_VALUES", 7)
    log = StateLog(range(5, 15))
    for name in ("a", "b"):
        log.signal(name, "fill")
    log.begin(START)
    signals = log.signals(20)
    assert isinstance(signals, Signals)
    assert signals.window == range(5, 8)
    assert signals.table().tolist() == [[0, 0, 0], [0, 0, 0]]
