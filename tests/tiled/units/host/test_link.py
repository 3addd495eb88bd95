"""The host's link at a rate a second, the time of a request, instructions and parameters that the host sends."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from typing import Any

import numpy as np
import pytest

from tests.tiled.units.bench import Bench, chip_of
from tests.tiled.units.test_ring_engines import ROW, SINK, TILE, consume, queue, random_rows, send
from tilesim.tiled.isa.model.instructions import Infeed, Instruction, Outfeed, RingConsume, ScalarFence, program_bytes
from tilesim.tiled.isa.model.program import DataSegment
from tilesim.tiled.units.host.link import HostLink

RATES = (442_000_000, 379_000_000, 55_000_000, 10**9, 256 * 500_000_000, 10**12)


def received(rows: int = 3, source: str = "host") -> tuple[RingConsume, Infeed]:
    """The program that brings rows to tile 0."""
    return consume(rows), Infeed(source=source, rows=rows, to=TILE, label="send")


def linked(**keys: Any) -> Bench:
    return Bench(chip_of(host=keys))


@pytest.mark.parametrize("rate", RATES)
def test_transfers_back_to_back_take_exactly_as_long_as_one(rate: int) -> None:
    link, each = HostLink(lambda size: Fraction(size * 500_000_000, rate)), Fraction(ROW * 500_000_000, rate)
    cycle = 0
    for k in range(1, 200):
        cycle, there = link.carry(cycle, ROW)
        assert (cycle, there) == (floor(k * each), ceil(k * each))


def test_a_link_that_has_rested_begins_with_a_whole_cycle() -> None:
    link = HostLink(lambda size: Fraction(size, 3))
    assert link.carry(0, 4) == (1, 2)
    assert link.carry(2, 4) == (3, 4), "from 2 on, not from 4/3"


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("latency", [0, 7])
def test_rows_come_at_the_rate_to_the_fraction(rate: int, latency: int) -> None:
    bench = linked(to_chip_bytes_per_second=rate, latency_cycles=latency)
    rows = random_rows(bench, 3)
    queue(bench, bench.chip.infeed.buffer, received()[1])
    bench.deliver(consume(3))
    bench.chip.host_infeed.start(rows)
    bench.clock.run()
    each = Fraction(ROW * 500_000_000, rate)
    sent: list[int] = []
    for k in range(3):
        sent.append(max(ceil((k + 1) * each) + latency, sent[-1] + 1 if sent else 0))
    taken = [start + n for start, cycles, _, _ in bench.spans("ring.link0") for n in range(cycles)]
    assert taken == sent
    assert bench.retired == {"consume": sent[-1] + 2}
    assert np.array_equal(bench.wide()[:, 0x400 : 0x400 + 3 * ROW], np.concatenate(rows, axis=1))
    assert bench.unit("host.infeed").get("busy", 0) == floor(3 * each)


def test_each_way_has_a_rate_of_its_own() -> None:
    bench = linked(to_chip_bytes_per_second=10**9, from_chip_bytes_per_second=55_000_000)
    queue(bench, bench.chip.outfeed.buffer, Outfeed(output=0, rows=2, label="result"))
    send(bench, random_rows(bench, 2), SINK, 10)
    bench.clock.run()
    each, begun = Fraction(ROW * 500, 55), 10 + 3 + 1
    second = floor(begun + each) + 1  # taken in the cycle in which the first has left
    assert bench.chip.host_outfeed.last_arrival == ceil(second + each)
    assert bench.unit("host.outfeed")["busy"] == floor(begun + each) - begun + floor(second + each) - second


@pytest.mark.parametrize(("request_ns", "cycles"), [(1, 1), (2, 1), (3, 2), (200_000, 100_000)])
def test_the_time_of_a_request_goes_before_all(request_ns: int, cycles: int) -> None:
    bench = linked(request_ns=request_ns)
    bench.run(*received(), host_rows=random_rows(bench, 3))
    assert bench.spans("host.infeed")[0] == (0, cycles, "stall:host", "request")
    assert bench.spans("host.infeed")[1][0] == cycles
    assert bench.spans("controller")[0][:3] == (0, cycles, "stall:host")
    assert bench.spans("controller")[1][:3:2] == (cycles, "busy"), "in that cycle, not one before"


@pytest.mark.parametrize("latency", [0, 5])
@pytest.mark.parametrize("rate", [0, 442_000_000])
def test_instructions_come_before_they_are_issued(rate: int, latency: int) -> None:
    """The program's own bytes, then the rows; they are issued when all of them are there."""
    bench = linked(sends_instructions=True, to_chip_bytes_per_second=rate, latency_cycles=latency)
    ops = received()
    bench.run(*ops, host_rows=random_rows(bench, 3))
    size = program_bytes(ops)
    took = Fraction(size * 500, 442) if rate else Fraction(-(-size // 8))
    assert bench.spans("host.infeed")[0] == (0, floor(took), "busy", "instructions")
    assert bench.spans("controller")[0][:3] == (0, ceil(took) + latency, "stall:host")
    unit = bench.chip.host_infeed.unit
    assert unit.moved == {"instructions": size, "send": 3 * ROW}


def test_each_of_several_requests_is_announced() -> None:
    bench = linked(sends_instructions=True, request_ns=20)
    ops: list[Instruction] = [*received(), ScalarFence(count=0, label="begin.request2")]
    last = (
        RingConsume(tiles=1, write=consume(1).write, label="again"),
        Infeed(source="host", rows=1, to=TILE, label="more"),
    )
    chip = bench.chip
    chip.run((*ops, *last), random_rows(bench, 4), begins=("begin.request2",))
    labels = [what for _, _, _, what in bench.spans("host.infeed")]
    assert labels[:2] == ["request", "instructions"]
    assert labels[-3:] == ["request", "instructions", "more"]
    assert chip.host_infeed.unit.moved["instructions"] == program_bytes((*ops, *last))
    assert len(chip.sequencer.began) == len(chip.parts) == 2


@pytest.mark.parametrize("rate", [0, 442_000_000])
def test_parameters_of_the_host_come_over_its_link(rate: int) -> None:
    bench = linked(sends_parameters=True, to_chip_bytes_per_second=rate)
    data = bench.random.integers(0, 256, 3 * ROW, np.uint8)
    bench.chip.fill((DataSegment("parameters", data, 0),))
    bench.run(*received(source="data"))
    assert np.array_equal(bench.wide()[0, 0x400 : 0x400 + 3 * ROW], data)
    assert bench.chip.host_infeed.unit.moved == {"send": 3 * ROW}
    assert not bench.chip.infeed.unit.acted, "data memory is not read"
    each = Fraction(ROW * 500, 442) if rate else 32
    assert bench.unit("host.infeed")["busy"] == floor(3 * each)


def test_rows_have_eight_places_where_data_memory_is_the_host_s() -> None:
    bench = linked(sends_parameters=True)
    bench.chip.fill((DataSegment("parameters", np.zeros(256, np.uint8), 0),))
    bench.chip.host_infeed.start(random_rows(bench, 20))
    bench.clock.run(until=2000)
    assert len(bench.chip.host_infeed.rows) == 8


@pytest.mark.parametrize("key", ["to_chip_bytes_per_second", "from_chip_bytes_per_second"])
def test_a_rate_is_none_or_that_of_a_link(key: str) -> None:
    with pytest.raises(ValueError, match="must be at least 1000000 bytes a second, or 0 for none, not 999999"):
        chip_of(host={key: 999_999})


@pytest.mark.parametrize("rate", [0, 442_000_000])
def test_pads_that_the_chip_adds_do_not_cross_the_link(rate: int) -> None:
    """Of the first row 192 bytes are the tensor's own, of the second 100."""
    bench = linked(sends_padding=False, to_chip_bytes_per_second=rate)
    bench.chip.host_infeed.own([192, 100])
    rows = random_rows(bench, 2)
    bench.run(*received(2), host_rows=rows)
    assert bench.chip.host_infeed.unit.moved == {"send": 292}
    assert np.array_equal(bench.wide()[0, 0x400 : 0x400 + 2 * ROW], np.concatenate([row[0] for row in rows]))
    took = floor(Fraction(292 * 500, 442)) if rate else 24 + 13
    assert bench.unit("host.infeed")["busy"] == took


@pytest.mark.parametrize("rate", [0, 55_000_000])
def test_nor_do_those_of_results(rate: int) -> None:
    bench = linked(sends_padding=False, from_chip_bytes_per_second=rate)
    bench.chip.host_outfeed.own({0: [200, 50]})
    queue(bench, bench.chip.outfeed.buffer, Outfeed(output=0, rows=2, label="result"))
    rows = random_rows(bench, 2)
    send(bench, rows, SINK, 10)
    bench.clock.run()
    assert bench.chip.host_outfeed.unit.moved == {"result": 250}
    each, begun = [Fraction(size * 500, 55) if rate else Fraction(size // 8 + (size % 8 > 0)) for size in (200, 50)], 14
    second = floor(begun + each[0]) + 1
    assert bench.chip.host_outfeed.last_arrival == ceil(second + each[1])
    assert np.array_equal(bench.chip.host_outfeed.output(0), np.concatenate(rows, axis=1))


def test_where_pads_cross_the_link_it_makes_no_difference_which_bytes_they_are() -> None:
    bench = linked()
    bench.chip.host_infeed.own([192, 100])
    bench.run(*received(2), host_rows=random_rows(bench, 2))
    assert bench.chip.host_infeed.unit.moved == {"send": 2 * ROW}
