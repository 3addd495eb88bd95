"""What the units of the stepped model are made of: the clock, accounts, queues, flags, ports."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tilesim.errors import AccessError
from tilesim.tiled.isa.model.fields import Flag
from tilesim.tiled.stepped.core import BUSY, FIFO, IDLE, Clock, Fifo, FlagFile, Thread, UnitAccount
from tilesim.tiled.stepped.memory import Memory, Port


def test_it_rests_after_a_cycle_without_a_change() -> None:
    clock = Clock()
    clock.stir(2)
    found = []
    for clock.cycle in range(5):
        found.append(clock.rests)
    assert found == [False, False, False, False, True]


def test_rows_on_the_ring_are_no_rest_but_all_else_waits() -> None:
    clock = Clock()
    clock.pass_on(5)
    clock.cycle = 2
    assert (clock.all_wait, clock.rests) == (True, False)


def test_the_clock_goes_on_to_what_comes_when_nothing_has_changed_in_a_whole_cycle() -> None:
    clock = Clock()
    clock.stir(7)
    clock.stir(4)
    seen = []
    while not clock.rests:
        seen.append(clock.cycle)
        clock.advance()
    assert seen == [0, 1, 4, 7, 8]


def test_the_clock_goes_from_cycle_to_cycle_while_rows_are_on_the_ring() -> None:
    clock = Clock()
    clock.stir(9)
    clock.pass_on(3)
    seen = []
    while clock.cycle < 9:
        seen.append(clock.cycle)
        clock.advance()
    assert seen == [0, 1, 2, 3, 4]


class Waiting(Thread):
    """Waits, and is busy, for three cycles each."""

    def life(self) -> Iterator[str]:
        yield from self.spend(3, FIFO)
        yield from self.spend(3)
        while True:
            yield IDLE


def test_who_lets_cycles_go_by_is_asked_in_few_and_has_all_of_them() -> None:
    clock, account, asked = Clock(), UnitAccount("u", keeps_spans=True), 0
    unit = Waiting(clock, account)
    while not clock.rests:
        unit.request()
        unit.commit()
        clock.advance()
        asked += 1
    assert account.spans == [("u", 0, 3, FIFO, ""), ("u", 3, 3, BUSY, "")]
    assert asked == 6


def test_an_account_has_every_cycle_once_and_joins_what_goes_on() -> None:
    account = UnitAccount("u", keeps_spans=True)
    for cycle, kind in ((2, BUSY), (3, IDLE), (3, BUSY), (4, FIFO), (6, IDLE)):
        account.note(cycle, kind, "" if kind == IDLE else "op")
    assert account.active_until == 6
    account.close(9)
    assert account.cycles == {IDLE: 2 + 3, BUSY: 2, FIFO: 2}
    assert account.spans == [("u", 2, 2, BUSY, "op"), ("u", 4, 2, FIFO, "op")]


def test_a_place_that_is_freed_can_be_used_in_the_next_cycle() -> None:
    clock = Clock()
    fifo: Fifo[str] = Fifo(clock, 1)
    fifo.reserve()
    fifo.put("x", 2)
    assert (fifo.room(), fifo.head()) == (False, None)
    clock.cycle = 2
    assert (fifo.take(), fifo.room()) == ("x", False)
    clock.cycle = 3
    assert fifo.room()


def test_a_reset_comes_before_the_increments_of_its_cycle() -> None:
    flags = FlagFile(strict=False)
    flags.rise(Flag.AVDATA, 3)
    flags.commit()
    flags.rise(Flag.AVDATA, 2)
    flags.reset(Flag.AVDATA)
    assert flags.met(Flag.AVDATA, 3)
    flags.commit()
    assert flags.counts[Flag.AVDATA] == 2


def test_a_port_has_its_accesses_a_cycle() -> None:
    port = Port(2)
    assert [port.take() for _ in range(3)] == [True, True, False]
    port.commit()
    assert port.free


@pytest.mark.parametrize("address", [-1, 13])
def test_a_memory_refuses_what_it_does_not_have(address: int) -> None:
    memory = Memory("m", 16)
    memory.write(12, np.full(4, 7, np.uint8))
    assert memory.read(12, 4).tolist() == [7] * 4
    with pytest.raises(AccessError, match="m must be accessed below 16"):
        memory.read(address, 4)
