"""Issue slots: a cycle each, in order; one whose port is taken waits, and all behind it."""

from __future__ import annotations

from typing import Literal, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from tests.rotating.programs import chip
from tilesim.rotating.isa.model.instructions import Parameters, Rows, Step
from tilesim.rotating.units.issue_slots import IssueSlots
from tilesim.rotating.units.parameter_fetcher import ParameterFetcher
from tilesim.rotating.units.row_memory import RowMemory
from tilesim.sim.core.clock import Clock, Phase, Work
from tilesim.sim.core.logged import LoggedUnit, Span
from tilesim.sim.core.unit import Unit

Ports = Literal["single", "dual"]
BOOKINGS = st.lists(st.tuples(st.integers(1, 5), st.booleans(), st.booleans(), st.booleans()), max_size=8)
"""Slots, whether they read data and weights, and whether all of it must have passed before the next are booked."""
CYCLES = st.sets(st.integers(0, 30), max_size=12)


class Bench(NamedTuple):
    """Slots and what they need."""

    clock: Clock
    unit: LoggedUnit
    data: RowMemory
    weights: RowMemory
    fetcher: ParameterFetcher
    slots: IssueSlots


def bench(ports: Ports = "single") -> Bench:
    clock, topology = Clock(), chip(8)
    unit = LoggedUnit(clock, "nnu.array")
    data, weights = (RowMemory(name, 64, 8, ports, 1) for name in ("data", "weights"))
    fetcher = ParameterFetcher(Unit(clock, "nnu.parameters"), topology, weights)
    unit.restart()
    fetcher.restart()
    return Bench(clock, unit, data, weights, fetcher, IssueSlots(clock, unit, data, weights, fetcher))


def passed(made: Bench) -> list[Span]:
    """What each cycle was, those alike that follow one another as one."""
    made.clock.process(made.slots.catch_up())
    made.clock.run()
    joined: list[Span] = []
    for span in made.unit.spans:
        alike = joined and joined[-1][2:] == span[2:]
        joined.append(Span(joined.pop().start, *span[1:]) if alike else span)
    return joined


def test_slots_take_a_cycle_each_in_the_order_in_which_they_are_booked() -> None:
    made = bench()
    made.slots.book(Step(label="a"), 3)
    made.slots.book(Step(label="b"), weights=True)
    assert passed(made) == [Span(0, 3, "busy", "a"), Span(3, 4, "busy", "b")]
    assert (made.clock.cycle, made.slots.issued_until) == (4, 4)


def test_nothing_booked_takes_no_cycle() -> None:
    made = bench()
    assert (passed(made), made.clock.cycle, made.slots.issued_until) == ([], 0, 0)


def test_only_those_that_need_a_port_wait_for_it() -> None:
    made = bench()
    for cycle in (0, 2, 3, 6):
        made.data.use_for_writing(cycle)
    made.slots.book(Step(label="rotates"), 2)
    made.slots.book(Step(label="loads"), 2, data=True)
    made.slots.book(Step(label="rotates"), 1)
    assert passed(made) == [
        Span(0, 2, "busy", "rotates"), Span(2, 4, "stall:port", "loads"),
        Span(4, 6, "busy", "loads"), Span(6, 7, "busy", "rotates"),
    ]  # fmt: skip


def test_what_is_said_in_the_very_cycle_counts() -> None:
    """Those of higher priority decide in a cycle that is long booked, and in one that was added for another."""
    made = bench()

    def others() -> Work:
        for _ in range(2):
            yield made.clock.phase(Phase.ARBITRATE, 4)
            made.data.use_for_writing(made.clock.cycle)

    made.clock.process(others())
    made.slots.book(Step(label="loads"), 8, data=True)
    assert [span[:3] for span in passed(made)] == [
        (0, 4, "busy"), (4, 5, "stall:port"), (5, 8, "busy"), (8, 9, "stall:port"), (9, 10, "busy"),
    ]  # fmt: skip
    assert made.clock.cycle == 10


def test_the_fetcher_hears_in_which_cycles_weights_were_read() -> None:
    made = bench()
    made.fetcher.request(Parameters(row=Rows(0)), 0, 0)
    made.weights.use_for_writing(2)
    made.slots.book(Step(), 1)
    made.slots.book(Step(), 3, weights=True)
    passed(made)
    made.fetcher.advance(5)
    assert made.fetcher.unit.cycles == {"busy": 1, "stall:port": 4}


@given(BOOKINGS, CYCLES, CYCLES, st.sampled_from(["single", "dual"]))
def test_each_slot_takes_the_first_cycle_in_which_its_ports_are_free(
    bookings: list[tuple[int, bool, bool, bool]], data: set[int], weights: set[int], ports: Ports
) -> None:
    """Whether bookings pass one by one or all at once, and whoever reads or writes; with two ports writes are free."""
    made = bench(ports)
    for cycle in data:
        made.data.use_for_reading(cycle)
    for cycle in weights:
        made.weights.use_for_writing(cycle)
    taken_weights = set() if ports == "dual" else weights

    def book() -> Work:
        for number, (count, of_data, of_weights, waits) in enumerate(bookings):
            made.slots.book(Step(label=str(number)), count, data=of_data, weights=of_weights)
            if waits:
                yield from made.slots.catch_up()
        yield from made.slots.catch_up()

    made.clock.process(book())
    made.clock.run()
    now, expected = 0, []
    for number, (count, of_data, of_weights, _) in enumerate(bookings):
        for _slot in range(count):
            while (of_data and now in data) or (of_weights and now in taken_weights):
                expected.append((now, "stall:port", str(number)))
                now += 1
            expected.append((now, "busy", str(number)))
            now += 1
    told = [(cycle, span.kind, span.instruction) for span in made.unit.spans for cycle in range(span.start, span.end)]
    assert told == expected
    assert (made.clock.cycle, made.slots.issued_until) == (now, now)
