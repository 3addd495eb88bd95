"""Two channels of the ring: who has the link, whom a blocked channel holds, and when both write to a tile."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tiled.units.bench import Bench, chip_of, line
from tests.tiled.units.ring.test_ring import Circle, Sink
from tests.tiled.units.test_ring_engines import ROW
from tilesim.sim.core.unit import Unit
from tilesim.tiled.isa.model.fields import ByteFilter, Channel, Flag
from tilesim.tiled.isa.model.instructions import Infeed, RingConsume, RingProduce
from tilesim.tiled.units.ring.ring import RingStop

A, B = Channel.A, Channel.B


class Second(Circle):
    """A circle of stops of channel B that shares the links of another one, whose stops are of channel A."""

    def __init__(self, first: Circle) -> None:
        self.clock = first.clock
        topology = chip_of(ring={"hop_cycles": first.stops[0].hop_cycles})
        self.stops = [RingStop(self.clock, topology, k, stop.node_link, B) for k, stop in enumerate(first.stops)]
        self.sinks = [Sink(self.clock, Unit(self.clock, f"sink{k}")) for k in range(len(self.stops))]
        for stop, sink, following in zip(self.stops, self.sinks, [*self.stops[1:], self.stops[0]], strict=True):
            stop.receiver = sink
            stop.connect(following)
        self.sent = []


def test_a_link_carries_a_before_b_and_what_is_forwarded_before_what_is_sent() -> None:
    a = Circle(3)
    b = Second(a)
    for circle in (a, b):
        circle.master(0, 0b100, 3)
        circle.master(1, 0b100, 2, start=3)
    a.clock.run()
    assert a.arrivals(2) == [2, 3, 4, 5, 6]
    assert b.arrivals(2) == [7, 8, 9, 10, 11]
    assert [sender for _, sender, _ in a.sinks[2].taken] == ["m0.0", "m0.1", "m0.2", "m1.0", "m1.1"]
    assert [sender for _, sender, _ in b.sinks[2].taken] == ["m0.0", "m0.1", "m0.2", "m1.0", "m1.1"]
    assert a.stops[1].link.cycles == {"idle": 1, "busy": 10}


@pytest.mark.parametrize("hop", [1, 2, 3])
def test_a_blocked_channel_holds_the_other_by_no_cycle(hop: int) -> None:
    """B's rows stand at their stops, as many as these have places; A goes by at its full rate."""
    a = Circle(4, hop)
    b = Second(a)
    b.post(2, 200)
    b.master(0, 0b100, 20)
    a.master(0, 0b100, 50, start=50)
    a.clock.run(until=190)
    assert a.arrivals(2) == list(range(50 + 2 * hop, 100 + 2 * hop))
    assert len(b.sent) == 2 * (hop + 1)
    a.clock.run()
    assert b.arrivals(2) == list(range(200, 220))


def test_the_link_stalls_for_b_only_when_it_is_idle() -> None:
    a = Circle(4)
    b = Second(a)
    b.post(2, 100)
    b.master(0, 0b100, 20)
    a.master(0, 0b10, 10, start=20)
    a.clock.run(until=100)
    b.stops[0].link.spend("stall:credit")
    assert b.stops[0].link.cycles == {"busy": 4 + 10, "stall:credit": 100 - 14}


def consume(rows: int, channel: Channel, kept: ByteFilter | None = None) -> RingConsume:
    base = 64 * ROW if channel is B else 0
    return RingConsume(
        tiles=1, write=line(base, rows, ROW), filter=kept, channel=channel, produce="r", label=f"consume.{channel}"
    )


def crowded(ports: int, width_bytes: int = ROW) -> Bench:
    """Two rows stand on each channel at tile 0 when its consumers are posted, in cycle 100."""
    chip = chip_of(1, 2, ring={"consumer_queues": 2, "width_bytes": width_bytes}, wide_memory={"ports": ports})
    bench = Bench(chip)
    bench.wide(1)[:, : 2 * ROW] = np.repeat(np.array([5, 6], np.uint8), ROW)
    for channel in (A, B):
        bench.deliver(RingProduce(tiles=2, read=line(0, 2, ROW), to=1, channel=channel, label=f"send.{channel}"), 1)
        bench.deliver(consume(2, channel), after=100)
    bench.clock.run()
    return bench


def busy(bench: Bench, track: str) -> list[int]:
    return [at + k for at, cycles, kind, _ in bench.spans(track) for k in range(cycles) if kind == "busy"]


def test_of_two_rows_at_a_tile_that_of_a_is_taken_first() -> None:
    """Rows that stand from t on: A's from t on, B's from t + 1 on, and so on, if wide memory has one port."""
    bench = crowded(ports=1)
    assert busy(bench, "tile0.ring_consumer") == [100, 101]
    assert busy(bench, "tile0.ring_consumer_b") == [102, 103]
    assert bench.wide()[0, ::ROW][[0, 1, 64, 65]].tolist() == [5, 6, 5, 6]


def test_with_two_ports_both_are_taken_at_once() -> None:
    bench = crowded(ports=2)
    assert busy(bench, "tile0.ring_consumer") == busy(bench, "tile0.ring_consumer_b") == [100, 101]


def test_rows_in_parts_are_only_kept_from_ending_in_one_cycle() -> None:
    """Of four parts: A's rows are committed in cycles 103 and 107, B's in 104 and 108."""
    bench = crowded(ports=1, width_bytes=ROW // 4)
    assert busy(bench, "tile0.ring_consumer") == list(range(100, 108))
    assert busy(bench, "tile0.ring_consumer_b") == list(range(101, 109))


def test_each_channel_has_flags_of_its_own() -> None:
    bench = crowded(ports=1)
    flags = bench.chip.tiles[0].flags
    assert [flags.count(flag) for flag in (Flag.RING_READ_A, Flag.RING_READ_B)] == [1, 1]
    for tile in bench.chip.tiles:
        assert [tile.flags.count(flag) for flag in (Flag.RING_PRODUCER_A, Flag.RING_PRODUCER_B)] == [1, 1]
        assert tile.flags.count(Flag.RING_WRITE) == 0


def test_the_infeed_counts_the_tails_of_each_channel() -> None:
    """It waits for one that has passed it on B; that of A doesn't count."""
    bench = Bench(chip_of(1, 2, ring={"consumer_queues": 2}))
    for channel, after in ((A, 0), (B, 50)):
        bench.deliver(consume(1, channel))
        bench.deliver(RingProduce(tiles=2, read=line(0, 1, ROW), to=1, channel=channel, label=f"s.{channel}"), 1, after)
    bench.deliver(RingConsume(tiles=2, write=line(0, 1, ROW), channel=B, label="last"), 1)
    infeed = Infeed(source="data", rows=1, address=0, to=2, channel=B, turn=1, label="turn")
    bench.clock.timeout(1).callbacks.append(lambda _: _queue(bench, infeed))
    bench.clock.run()
    [wait] = [(at, cycles) for at, cycles, kind, _ in bench.spans("infeed") if kind == "stall:flag"]
    assert sum(wait) > 50
    assert bench.retired["last"] > sum(wait)


def _queue(bench: Bench, op: Infeed) -> None:
    assert bench.chip.infeed.buffer.room().triggered
    bench.chip.infeed.buffer.put(op)
