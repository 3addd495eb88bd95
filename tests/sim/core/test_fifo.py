"""A FIFO takes as many items as it has places, and a freed place counts from the next cycle on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import simpy

from tilesim.sim.core.clock import Clock
from tilesim.sim.core.fifo import Fifo


def fill(clock: Clock, fifo: Fifo[int], items: int, accepted: list[int]) -> Iterator[simpy.Event]:
    for item in range(items):
        yield fifo.room()
        fifo.put(item)
        accepted.append(clock.cycle)


def drain(clock: Clock, fifo: Fifo[int], cycles: list[int], taken: list[int]) -> Iterator[simpy.Event]:
    for cycle in cycles:
        yield clock.timeout(cycle - clock.cycle)
        taken.append((yield fifo.get()))


def test_an_idle_consumer_lets_exactly_the_depth_in_and_each_item_taken_one_more() -> None:
    """Oracle 15: depth 14, 20 items."""
    clock, accepted, taken = Clock(), [], []
    fifo: Fifo[int] = Fifo(clock, 14)
    clock.process(fill(clock, fifo, 20, accepted))
    clock.process(drain(clock, fifo, [10, 20, 30], taken))
    clock.run(until=9)
    assert len(accepted) == len(fifo) == 14
    clock.run()
    assert accepted == [0] * 14 + [11, 21, 31]
    assert taken == [0, 1, 2]


@pytest.mark.parametrize("consumer_first", [False, True])
def test_whoever_acts_first_within_a_cycle_changes_nothing(consumer_first: bool) -> None:
    clock, accepted, taken = Clock(), [], []
    fifo: Fifo[int] = Fifo(clock, 1)
    work = [fill(clock, fifo, 4, accepted), drain(clock, fifo, [0, 1, 2, 7], taken)]
    for process in reversed(work) if consumer_first else work:
        clock.process(process)
    clock.run()
    assert accepted == [0, 1, 2, 3]
    assert taken == [0, 1, 2, 3]


def test_a_place_that_was_given_is_kept() -> None:
    clock = Clock()
    fifo: Fifo[str] = Fifo(clock, 1)
    assert fifo.room().triggered
    assert not fifo.room().triggered
    fifo.put("late")
    assert fifo.get().value == "late"


def test_who_asks_for_a_place_too_early_is_called_when_one_is_free() -> None:
    clock, called = Clock(), []
    fifo: Fifo[str] = Fifo(clock, 1)
    assert fifo.claim(lambda: called.append(-1))
    fifo.put("first")
    clock.run(until=3)
    assert fifo.get_now() == "first"
    assert fifo.get_now() is None
    assert not fifo.claim(lambda: called.append(clock.cycle))
    clock.run()
    assert called == [4]
    assert fifo.claim(lambda: None)


def test_nothing_happens_when_a_place_is_free_that_nobody_waits_for() -> None:
    clock = Clock()
    fifo: Fifo[int] = Fifo(clock, 2)
    for item in range(2):
        assert fifo.claim(lambda: None)
        fifo.put(item)
    assert (fifo.get_now(), fifo.get_now(), clock.peek()) == (0, 1, float("inf"))
    assert not fifo.claim(lambda: None)
    clock.run(until=1)
    assert fifo.claim(lambda: None)


def test_who_listens_hears_how_many_items_wait() -> None:
    clock, heard = Clock(), list[int]()
    fifo: Fifo[int] = Fifo(clock, 3)
    fifo.on_fill = heard.append
    for item in range(3):
        fifo.put(item)
    fifo.get_now()
    fifo.get()
    fifo.get()
    assert heard == [1, 2, 3, 2, 1, 0]
    fifo.get()
    fifo.put(4)
    assert heard[-1] == 0
