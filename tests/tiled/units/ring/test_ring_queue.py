"""One instruction buffer for both ring roles: one at a time, in order, with as many places as one buffer has."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tiled.programs import program
from tests.tiled.units.bench import Bench, chip_of, line
from tests.tiled.units.test_ring_engines import ROW, consume, random_rows, send
from tilesim import simulate
from tilesim.errors import ProgramError
from tilesim.sim.core.clock import Clock
from tilesim.tiled.isa.model.fields import Engine, Flag, Watcher
from tilesim.tiled.isa.model.instructions import RingProduce
from tilesim.tiled.units.ring.ring_queue import RingQueue

TILE, SINK = 0b001, 0b100
"""Bits of a chip with one tile."""


def produce(rows: int, **extra: object) -> RingProduce:
    return RingProduce(tiles=1, read=line(0, rows, ROW), to=SINK, label="produce", **extra)  # type: ignore[arg-type]


@pytest.mark.parametrize(("queue", "consumed"), [("split", 10 + 2), ("shared", 20 + 2)])
def test_a_consumer_behind_a_producer_begins_when_that_retires(queue: str, consumed: int) -> None:
    """Three rows, 2 cycles each, from cycle 14 on; the two rows for this tile stand at its stop from 10 and 11 on."""
    bench = Bench(chip_of(ring={"queue": queue}))
    bench.clock.timeout(14).callbacks.append(lambda _: bench.chip.tiles[0].flags.raise_by(Flag.AVDATA))
    bench.deliver(produce(3, wait=(Watcher(Flag.AVDATA, 1),)))
    bench.deliver(consume(2))
    send(bench, random_rows(bench, 2), TILE, 9)
    bench.clock.run(until=60)
    assert bench.retired == {"produce": 14 + 3 * 2, "consume": consumed}


def test_a_producer_behind_a_consumer_sends_what_that_has_brought() -> None:
    bench = Bench(chip_of(2, 1, ring={"queue": "shared"}))
    rows = random_rows(bench, 2)
    bench.deliver(consume(2, base=0))
    bench.deliver(RingProduce(tiles=1, read=line(0, 2, ROW), to=0b10, label="pass on"))
    bench.deliver(consume(2), tile=1)
    send(bench, rows, 0b01, 30)
    bench.clock.run()
    assert np.array_equal(bench.wide(1)[:, 0x400 : 0x400 + 2 * ROW], np.concatenate(rows, axis=1))
    assert next(start for start, _, kind, _ in bench.spans("tile0.ring_producer") if kind == "busy") == 33


def test_its_places_are_for_both_roles_together() -> None:
    clock = Clock()
    queue = RingQueue(clock, depth=3)
    one, other = queue.share(), queue.share()
    one.get()  # nobody asks for the other's: its role is still at work
    for share in (one, other, one):
        assert share.room().triggered
        share.put("op")
    assert not other.room().triggered
    first = other.get()
    clock.run()
    assert not first.triggered
    assert len(queue.fifo) == 2


def test_a_fence_waits_for_what_stands_in_the_common_buffer() -> None:
    bench = Bench(chip_of(ring={"queue": "shared"}))
    bench.deliver(consume(1))
    bench.deliver(produce(1))
    drained = bench.chip.tiles[0].engines[Engine.RING_PRODUCER].drained()
    send(bench, random_rows(bench, 1), TILE, 50)
    bench.clock.run(until=50)
    assert not drained.triggered
    bench.clock.run(until=60)
    assert drained.triggered
    assert bench.retired == {"consume": 52, "produce": 54}


RELAY = """
send: infeed source=data rows=2 to=0x1
here: ring_consume tiles=0x1 write=[r:2 @0x0+r*16]
on: ring_produce tiles=0x1 read=[r:2 @0x0+r*16] to=0x2 wait=ring_producer_a>=1
there: ring_consume tiles=0x2 write=[r:2 @0x0+r*16]
"""


def test_its_order_needs_no_watcher() -> None:
    assert simulate(program(RELAY, ring__queue="shared"), []).statistics["findings"] == []
    with pytest.raises(ProgramError, match="nothing orders here"):
        simulate(program(RELAY), [])


def test_a_row_that_waits_for_a_consumer_in_the_buffer_says_so() -> None:
    bench = Bench(chip_of(ring={"queue": "shared"}))
    bench.deliver(produce(1, wait=(Watcher(Flag.AVDATA, 1),)))
    bench.deliver(consume(1))
    send(bench, random_rows(bench, 1), TILE, 0)
    bench.clock.run()
    stuck = bench.chip.stops[1].stuck
    assert stuck is not None
    assert stuck.endswith("waits for its ring consumer, which has consume still to begin")
