"""What hangs on the ring: consumer and producer of a tile, infeed, outfeed, host and classifier, alone and in pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.tiled.units.bench import Bench, at, chip_of, line, nest
from tilesim.arithmetic.requantise import float_bits
from tilesim.arithmetic.softmax import softmax
from tilesim.sim.core.fifo import Fifo
from tilesim.sim.core.memory import Bytes
from tilesim.tiled.isa.checks.program import faults
from tilesim.tiled.isa.model.fields import Flag, Traversal, Watcher
from tilesim.tiled.isa.model.instructions import (
    Classify,
    Infeed,
    Operation,
    Outfeed,
    RingConsume,
    RingProduce,
    TensorOp,
)
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.units.classification import classified
from tilesim.tiled.units.ring.ring import Packet

ROW = 256
TILE, CLASSIFIER, SINK = 0b001, 0b010, 0b100
"""Bits of a chip with one tile."""


def each_row(base: int, rows: int) -> Traversal:
    """Rows in a loop ``r`` around a loop ``each`` that completes with every row."""
    return Traversal(nest(r=rows, each=1), at(base, r=ROW))


def consume(rows: int, base: int = 0x400, **extra: Any) -> RingConsume:
    return RingConsume(tiles=1, write=each_row(base, rows), produce="each", label="consume", **extra)


def random_rows(bench: Bench, rows: int, samples: int = 1) -> list[Bytes]:
    return list(bench.random.integers(0, 256, (rows, samples, ROW), np.uint8))


def send(bench: Bench, rows: list[Bytes], header: int, start: int) -> None:
    """Put packets on the ring at the source, one a cycle from ``start`` on."""
    for k, row in enumerate(rows):
        packet = Packet(header, row, k == len(rows) - 1, "test")
        moment = bench.clock.timeout(start + k)
        moment.callbacks.append(lambda _, packet=packet: bench.chip.stops[0].send(packet))


def queue(bench: Bench, buffer: Fifo[Any], op: Any, after: int = 0) -> None:
    def put(_: object) -> None:
        assert buffer.room().triggered
        buffer.put(op)

    bench.clock.timeout(after).callbacks.append(put)


def test_a_consumer_commits_each_row_in_its_cycle_and_flags_it_in_the_next() -> None:
    bench = Bench(samples=2)
    rows = random_rows(bench, 3, 2)
    bench.deliver(consume(3))
    send(bench, rows, TILE, 10)
    bench.clock.run(until=11.5)
    assert np.array_equal(bench.wide()[:, 0x400 : 0x400 + ROW], rows[0])
    assert bench.chip.tiles[0].flags.count(Flag.RING_READ_A) == 0
    bench.clock.run(until=12.5)
    assert bench.chip.tiles[0].flags.count(Flag.RING_READ_A) == 1
    bench.clock.run()
    assert bench.retired == {"consume": 14}
    assert np.array_equal(bench.wide()[:, 0x400 : 0x400 + 3 * ROW], np.concatenate(rows, axis=1))
    assert bench.unit("tile0.ring_consumer") == {"stall:fifo": 11, "busy": 3}


def test_rows_that_wait_at_the_stop_are_committed_from_the_cycle_of_posting_on() -> None:
    bench = Bench()
    send(bench, random_rows(bench, 2), TILE, 10)
    bench.deliver(consume(2), after=50)
    bench.clock.run()
    assert bench.retired == {"consume": 52}


def test_a_consumer_that_watches_row_by_row_takes_each_when_it_may() -> None:
    bench = Bench()
    flags = bench.chip.tiles[0].flags
    bench.deliver(consume(2, wait=(Watcher(Flag.AVDATA, 1, "r", 1),)))
    for cycle in (40, 60):
        bench.clock.timeout(cycle).callbacks.append(lambda _: flags.raise_by(Flag.AVDATA))
    send(bench, random_rows(bench, 2), TILE, 0)
    bench.clock.run()
    assert bench.retired == {"consume": 61}
    assert bench.unit("tile0.ring_consumer")["stall:flag"] == 40 + 60 - 41


def test_a_commit_never_waits_and_costs_a_tensorop_one_cycle_a_row() -> None:
    bench = Bench()
    op = TensorOp(
        tiles=1,
        operation=Operation.CONVOLUTION,
        nest=nest(x=1, zi=300, lane=64),
        reduce=("zi",),
        input=at(0, zi=4),
        weights=at(0x10000, zi=ROW),
        parameters=at(0x60000),
        output=at(0x8000),
        rule="double",
        label="op",
    )
    bench.deliver(op)
    bench.deliver(consume(5))
    send(bench, random_rows(bench, 5), TILE, 100)
    bench.clock.run()
    assert bench.retired == {"consume": 106, "op": 300 + 3 + 16 + 5}


@pytest.mark.parametrize("rows", [1, 2, 7])
def test_a_producer_takes_two_cycles_a_row(rows: int) -> None:
    bench = Bench(chip_of(2, 1))
    bench.randomise()
    bench.deliver(RingProduce(tiles=1, read=line(0x800, rows, ROW), to=0b10, label="produce"))
    bench.deliver(consume(rows), tile=1)
    bench.clock.run()
    assert bench.retired == {"produce": 2 * rows, "consume": 2 * rows + 1}
    sent = bench.wide()[:, 0x800 : 0x800 + rows * ROW]
    assert np.array_equal(bench.wide(1)[:, 0x400 : 0x400 + rows * ROW], sent)
    assert [start for start, _, _, _ in bench.spans("ring.link1")] == list(range(1, 2 * rows + 1, 2))


@pytest.mark.parametrize(("ports", "stall", "end"), [(1, 1, 5), (2, 0, 4)])
def test_a_producer_lets_a_commit_go_first_at_a_single_port(ports: int, stall: int, end: int) -> None:
    """The commit is in cycle 2, in which the producer would read its second row."""
    bench = Bench(chip_of(wide_memory={"ports": ports}))
    bench.deliver(RingProduce(tiles=1, read=line(0, 2, ROW), to=SINK, label="produce"))
    bench.deliver(consume(1))
    send(bench, random_rows(bench, 1), TILE, 1)
    bench.clock.run(until=30)
    assert bench.retired == {"consume": 3, "produce": end}
    assert bench.unit("tile0.ring_producer").get("stall:port", 0) == stall


def test_infeed_reads_data_memory_at_its_bandwidth_and_enters_a_row_in_one_cycle() -> None:
    bench = Bench(chip_of(data_memory={"bytes_per_cycle": 10}))
    parameters = bench.random.integers(0, 256, 3 * ROW, np.uint8)
    bench.chip.data_memory.bytes[0, 0x300 : 0x300 + 3 * ROW] = parameters
    queue(bench, bench.chip.infeed.buffer, Infeed(source="data", rows=3, address=0x300, to=TILE, label="send"))
    bench.deliver(consume(3))
    bench.clock.run()
    assert np.array_equal(bench.wide()[0, 0x400 : 0x400 + 3 * ROW], parameters)
    # 26 cycles to read, one to enter the ring; a row is committed one hop after it left
    assert bench.spans("ring.link0") == [(26 + 27 * k, 1, "busy", "send") for k in range(3)]
    assert bench.retired == {"consume": 26 + 27 * 2 + 1 + 1}
    assert bench.unit("infeed") == {"busy": 3 * 27}


@pytest.mark.parametrize(("bytes_per_cycle", "latency"), [(8, 0), (8, 7), (100, 40)])
def test_host_rows_come_at_the_link_s_bandwidth_and_latency(bytes_per_cycle: int, latency: int) -> None:
    bench = Bench(chip_of(host={"bytes_per_cycle": bytes_per_cycle, "latency_cycles": latency}))
    rows = random_rows(bench, 3)
    queue(bench, bench.chip.infeed.buffer, Infeed(source="host", rows=3, to=TILE, label="send"))
    bench.deliver(consume(3))
    bench.chip.host_infeed.start(rows)
    bench.clock.run()
    each = -(-ROW // bytes_per_cycle)
    assert bench.spans("ring.link0") == [((k + 1) * each + latency, 1, "busy", "send") for k in range(3)]
    assert np.array_equal(bench.wide()[:, 0x400 : 0x400 + 3 * ROW], np.concatenate(rows, axis=1))
    assert bench.unit("host.infeed") == {"busy": 3 * each}


def test_the_host_waits_for_a_place_when_eight_rows_are_queued() -> None:
    bench = Bench()
    bench.chip.host_infeed.start(random_rows(bench, 20))
    bench.clock.run(until=2000)
    assert len(bench.chip.host_infeed.rows) == 8
    assert bench.unit("host.infeed")["busy"] == 8 * 32


@pytest.mark.parametrize("latency", [0, 9])
def test_outfeed_passes_a_row_on_to_the_host(latency: int) -> None:
    """Taken at t, on the link from t + 1 on, 32 cycles a row; the next row is taken when this one has left."""
    bench = Bench(chip_of(host={"latency_cycles": latency}))
    rows = random_rows(bench, 2)
    queue(bench, bench.chip.outfeed.buffer, Outfeed(output=0, rows=2, label="result"))
    send(bench, rows, SINK, 10)
    bench.clock.run()
    hops = 3
    assert bench.spans("host.outfeed")[0][0] == 10 + hops + 1
    assert bench.chip.host_outfeed.last_arrival == 10 + hops + 2 * 33 + latency
    assert np.array_equal(bench.chip.host_outfeed.output(0), np.concatenate(rows, axis=1))


def test_the_classifier_works_an_element_a_cycle_then_sends_a_row_a_cycle() -> None:
    bench = Bench(chip_of(classifier={"cycles_per_element": 2}), samples=2)
    rows = random_rows(bench, 2, 2)
    scales = [int(float_bits(scale)[0]) for scale in (0.1, 1 / 256)]
    op = Classify(rows=2, elements=300, function="softmax", scaling=(*scales, -128, -128, 127), label="softmax")
    queue(bench, bench.chip.classifier.buffer, op)
    queue(bench, bench.chip.outfeed.buffer, Outfeed(output=0, rows=2))
    send(bench, rows, CLASSIFIER, 10)
    bench.clock.run()
    last_in = 13  # two hops behind the cycle 11 in which the second row was sent
    assert bench.spans("ring.link2") == [(last_in + 1 + 600, 2, "busy", "softmax")]
    x = np.concatenate(rows, axis=1)[:, :300].view(np.int8)
    expected = softmax(x, 0.1, 1 / 256, -128, (-128, 127))
    found = bench.chip.host_outfeed.output(0)
    assert np.array_equal(found[:, :300].view(np.int8), expected)
    assert not found[:, 300:].any()


@pytest.mark.parametrize(
    ("function", "scaling", "passes", "replied"),
    [("argmax", (), 1, 1), ("top_k_values", (70,), 70, 1), ("top_k_indices", (70,), 70, 2)],
)
def test_the_classifier_chooses_in_as_many_passes_as_it_chooses_elements(
    function: str, scaling: tuple[int, ...], passes: int, replied: int
) -> None:
    bench = Bench(chip_of(classifier={"cycles_per_element": 2}), samples=2)
    rows = random_rows(bench, 2, 2)
    op = Classify(rows=2, elements=300, function=function, scaling=scaling, label="choice")
    queue(bench, bench.chip.classifier.buffer, op)
    queue(bench, bench.chip.outfeed.buffer, Outfeed(output=0, rows=replied))
    send(bench, rows, CLASSIFIER, 10)
    bench.clock.run()
    last_in = 13
    assert bench.spans("ring.link2") == [(last_in + 1 + 600 * passes, replied, "busy", "choice")]
    x = np.concatenate(rows, axis=1)[:, :300].view(np.int8).astype(int)
    order = np.argsort(-x, axis=1, kind="stable")[:, :passes]
    made = np.take_along_axis(x, order, axis=1).astype(np.int8) if function == "top_k_values" else order.astype("<i4")
    expected, found = made.view(np.uint8), bench.chip.host_outfeed.output(0)
    assert np.array_equal(found[:, : expected.shape[1]], expected)
    assert not found[:, expected.shape[1] :].any()


@pytest.mark.parametrize(("elements", "each"), [(700, 300), (600, 300), (30, 10), (256, 256), (5, 9)])
def test_the_classifier_gathers_what_begins_anew_with_each_sender(elements: int, each: int) -> None:
    """Each sender's elements begin on a row of its own; the results are one vector."""
    bench = Bench()
    x = bench.random.integers(-128, 128, (2, elements)).astype(np.int8)
    parts = [x[:, first : first + each] for first in range(0, elements, each)]
    whole = -(-each // ROW) * ROW  # as many rows from the last one as from the others
    rows = [np.pad(part, [(0, 0), (0, whole - part.shape[1])]).reshape(2, -1, ROW) for part in parts]
    stacked = np.concatenate(rows, axis=1).view(np.uint8)
    scales = [int(float_bits(scale)[0]) for scale in (0.1, 1 / 256)]
    op = Classify(
        rows=stacked.shape[1],
        elements=elements,
        elements_per_sender=each,
        function="softmax",
        scaling=(*scales, -128, -128, 127),
    )
    chip = bench.chip.topology
    assert faults(Program("p", chip, (), (op,))) == []
    found = classified(op, stacked)
    assert found.shape == (2, -(-elements // ROW) * ROW)
    assert np.array_equal(found[:, :elements].view(np.int8), softmax(x, 0.1, 1 / 256, -128, (-128, 127)))
    assert not found[:, elements:].any()


def test_the_classifier_replies_with_no_more_rows_than_its_elements_take() -> None:
    bench = Bench()
    scales = [int(float_bits(scale)[0]) for scale in (0.1, 1 / 256)]
    scaling = (*scales, -128, -128, 127)
    op = Classify(rows=3, elements=30, elements_per_sender=10, function="softmax", scaling=scaling, label="softmax")
    queue(bench, bench.chip.classifier.buffer, op)
    queue(bench, bench.chip.outfeed.buffer, Outfeed(output=0, rows=1))
    send(bench, random_rows(bench, 3), CLASSIFIER, 10)
    bench.clock.run()
    assert bench.chip.host_outfeed.output(0).shape == (1, ROW)
    assert bench.spans("ring.link2") == [(10 + 2 + 2 + 1 + 30, 1, "busy", "softmax")]
