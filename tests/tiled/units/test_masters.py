"""Masters of the ring take turns by counting the transfers that pass them."""

from itertools import permutations

import numpy as np
import pytest

from tests.tiled.programs import program
from tests.tiled.units.bench import Bench, chip_of, line
from tests.tiled.units.ring.test_ring import Circle
from tests.tiled.units.test_ring_engines import ROW, consume, queue
from tilesim import simulate
from tilesim.errors import HangError
from tilesim.tiled.isa.model.fields import Flag, Watcher
from tilesim.tiled.isa.model.instructions import Infeed, Outfeed, RingProduce

SINK = 1 << 5
"""Of a chip with four tiles."""


def master(ordinal: int, rows: int, to: int = SINK) -> RingProduce:
    wait = (Watcher(Flag.RING_PRODUCER_A, ordinal),)
    return RingProduce(tiles=1, read=line(0, rows, ROW), to=to, wait=wait, label=f"master{ordinal}")


def passed(bench: Bench) -> list[int]:
    return [tile.flags.count(Flag.RING_PRODUCER_A) for tile in bench.chip.tiles]


@pytest.mark.parametrize("hop", [1, 2])
def test_a_tail_counts_once_at_each_stop_that_sends_forwards_or_takes_it(hop: int) -> None:
    circle = Circle(6, hop)
    noted: list[tuple[int, int]] = []
    for node, stop in enumerate(circle.stops):
        stop.on_tail = lambda node=node: noted.append((node, circle.clock.cycle))  # type: ignore[misc]
    circle.master(0, 0b1010, 3)
    circle.clock.run()
    assert noted == [(node, 2 + node * hop + 1) for node in range(4)]


@pytest.mark.parametrize("masters", [2, 3])
def test_they_send_in_their_order_whatever_their_start(masters: int) -> None:
    """Oracle 14: the k-th waits for k tails, and never are there two."""
    for starts in permutations(40 * k for k in range(masters)):
        bench = Bench(chip_of(2, 2))
        for k, start in enumerate(starts):
            bench.wide(k)[:] = k + 1
            bench.deliver(master(k, rows=3), tile=k, after=start)
        queue(bench, bench.chip.outfeed.buffer, Outfeed(output=0, rows=3 * masters))
        bench.clock.run()
        assert bench.chip.host_outfeed.output(0)[0, ::ROW].tolist() == [k + 1 for k in range(masters) for _ in range(3)]
        senders = [what for _, cycles, kind, what in bench.spans("ring.link4") for _ in range(cycles) if kind == "busy"]
        assert senders == [f"master{k}" for k in range(masters) for _ in range(3)]
        assert passed(bench) == [1, 2, masters, masters]


def test_a_master_behind_the_others_counts_what_wraps() -> None:
    """Tile 2 goes first; its rows for tile 1 pass tile 0, which has been ready for long."""
    bench = Bench(chip_of(2, 2))
    bench.wide(0)[:], bench.wide(2)[:] = 7, 9
    bench.deliver(master(1, 2, to=0b10), tile=0)
    bench.deliver(master(0, 2, to=0b10), tile=2, after=90)
    bench.deliver(consume(4), tile=1)
    bench.clock.run()
    assert bench.wide(1)[0, 0x400 : 0x400 + 4 * ROW : ROW].tolist() == [9, 9, 7, 7]
    assert passed(bench) == [2, 2, 1, 1]


def test_an_infeed_sends_as_many_transfers_as_it_says_each_a_stop_further() -> None:
    bench = Bench(chip_of(2, 2))
    sent = bench.random.integers(0, 256, 6 * ROW, np.uint8)
    bench.chip.data_memory.bytes[0, 0x300 : 0x300 + 6 * ROW] = sent
    op = Infeed(source="data", rows=2, address=0x300, to=0b1, transfers=3, label="send")
    queue(bench, bench.chip.infeed.buffer, op)
    for tile in range(3):
        bench.deliver(consume(2), tile=tile)
    bench.clock.run()
    for tile in range(3):
        part = sent[tile * 2 * ROW : (tile + 1) * 2 * ROW]
        assert bench.wide(tile)[0, 0x400 : 0x400 + 2 * ROW].tolist() == part.tolist()
    assert passed(bench) == [3, 2, 1, 0]


PRODUCE = "out: ring_produce tiles=0x1 read=[r:1 @0x0] to=0x8 wait=ring_producer_a>=1"


def test_a_turn_that_never_comes_says_what_it_waits_for() -> None:
    with pytest.raises(HangError) as caught:
        simulate(program(PRODUCE), [])
    assert (
        "chip.tile0.ring_producer in out has waited since cycle 5 for flag ring_producer_a to reach 1; it stands at 0, "
        "and only transfers that pass the tile's ring stop can still raise it"
    ) in str(caught.value)
