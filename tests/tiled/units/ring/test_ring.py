"""Ring stops in a circle with packets put in by hand: hops, credits, multicast, and who goes first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest
import simpy

from tests.tiled.units.bench import chip_of
from tilesim.sim.core.clock import Clock
from tilesim.sim.core.unit import Unit
from tilesim.tiled.units.ring.node_link import NodeLink
from tilesim.tiled.units.ring.ring import Packet, RingStop


@dataclass
class Sink:
    """Takes packets from cycle ``ready`` on, ``every`` cycles apart."""

    clock: Clock
    unit: Unit
    ready: int = 0
    every: int = 1
    taken: list[tuple[int, str, int]] = field(default_factory=list)

    def obstacle(self) -> str | None:
        return None if self.clock.cycle >= self.ready else "a consumer to be posted"

    def take(self, packet: Packet) -> None:
        self.taken.append((self.clock.cycle, packet.sender, packet.header))
        self.ready = self.clock.cycle + self.every


class Circle:
    """``nodes`` stops; node k has bit k and a sink."""

    def __init__(self, nodes: int, hop_cycles: int = 1) -> None:
        self.clock = Clock()
        topology = chip_of(ring={"hop_cycles": hop_cycles})
        self.stops = [
            RingStop(self.clock, topology, k, NodeLink(self.clock, Unit(self.clock, f"link{k}"))) for k in range(nodes)
        ]
        self.sinks = [Sink(self.clock, Unit(self.clock, f"sink{k}")) for k in range(nodes)]
        for stop, sink, following in zip(self.stops, self.sinks, [*self.stops[1:], self.stops[0]], strict=True):
            stop.receiver = sink
            stop.connect(following)
        self.sent: list[tuple[str, int]] = []

    def master(self, node: int, header: int, packets: int, start: int = 0, every: int = 1) -> None:
        self.clock.process(self._send(node, header, packets, start, every))

    def _send(self, node: int, header: int, packets: int, start: int, every: int) -> Iterator[simpy.Event]:
        yield self.clock.timeout(start)
        for k in range(packets):
            row = np.full((1, 8), k, np.uint8)
            yield self.stops[node].send(Packet(header, row, k == packets - 1, f"m{node}.{k}"))
            self.sent.append((f"m{node}.{k}", self.clock.cycle))
            yield self.clock.timeout(every)

    def post(self, node: int, cycle: int, every: int = 1) -> None:
        """Let a node's sink take from ``cycle`` on."""
        self.sinks[node].ready, self.sinks[node].every = cycle, every
        for later in range(cycle, cycle + 100):
            self.clock.timeout(later).callbacks.append(lambda _: self.stops[node].poke())

    def arrivals(self, node: int) -> list[int]:
        return [cycle for cycle, _, _ in self.sinks[node].taken]


@pytest.mark.parametrize("hop", [1, 2, 3])
def test_a_multicast_clears_one_bit_after_the_other_and_ends_at_the_last(hop: int) -> None:
    """Oracle 9: 8 nodes, source 0, bits 1 and 3, 4 packets: a packet a cycle, nothing behind node 3."""
    circle = Circle(8, hop)
    circle.master(0, 0b1010, 4)
    circle.clock.run()
    assert circle.arrivals(1) == [hop, hop + 1, hop + 2, hop + 3]
    assert circle.arrivals(3) == [3 * hop, 3 * hop + 1, 3 * hop + 2, 3 * hop + 3]
    assert {header for _, _, header in circle.sinks[1].taken} == {0b1010}
    assert {header for _, _, header in circle.sinks[3].taken} == {0b1000}
    assert [stop.link.cycles.get("busy", 0) for stop in circle.stops] == [4, 4, 4, 0, 0, 0, 0, 0]
    assert [stop.link.bytes for stop in circle.stops[:4]] == [32, 32, 32, 0]


@pytest.mark.parametrize("hop", [1, 2, 3])
def test_a_link_carries_a_packet_a_cycle_through_every_stop(hop: int) -> None:
    """hop + 1 places a stop are just enough for that, at any hop."""
    circle = Circle(5, hop)
    circle.master(0, 0b10000, 50)
    circle.clock.run()
    assert [cycle for _, cycle in circle.sent] == list(range(50))
    assert circle.arrivals(4) == list(range(4 * hop, 4 * hop + 50))


@pytest.mark.parametrize("hop", [1, 2, 3])
def test_credits_hold_the_source_when_nobody_takes(hop: int) -> None:
    """Each stop up to the receiver holds hop + 1 packets; each one taken lets one more in, once the credit is back."""
    circle = Circle(4, hop)
    circle.post(2, 100)
    circle.master(0, 0b100, 20)
    circle.clock.run(until=99)
    assert len(circle.sent) == 2 * (hop + 1)
    circle.clock.run()
    assert circle.arrivals(2) == list(range(100, 120))
    late = [cycle for _, cycle in circle.sent[2 * (hop + 1) :]]
    assert late[0] == 102
    assert circle.stops[0].link.cycles["stall:credit"] == 102 - 2 * (hop + 1)


def test_a_row_is_taken_and_forwarded_together_or_not_at_all() -> None:
    """The second receiver is free, but the first is not: neither gets anything until both go on."""
    circle = Circle(4)
    circle.post(1, 30)
    circle.master(0, 0b110, 2)
    circle.clock.run()
    assert circle.arrivals(1) == [30, 31]
    assert circle.arrivals(2) == [31, 32]


def test_what_is_under_way_goes_before_what_is_put_in() -> None:
    """Node 1 sends only in cycles in which nothing from node 0 needs the link."""
    circle = Circle(4)
    circle.master(0, 0b1000, 10)
    circle.master(1, 0b0100, 3, start=4)
    circle.clock.run()
    assert circle.arrivals(3) == list(range(3, 13))
    assert [cycle for name, cycle in circle.sent if name.startswith("m1")] == [11, 12, 13]
    assert circle.arrivals(2) == [12, 13, 14]


def test_two_disjoint_groups_run_as_if_alone() -> None:
    """Oracle 10: masters 0 to {1, 2, 3} and 4 to {5, 6, 7}."""
    both, alone = Circle(8), Circle(8)
    both.master(0, 0b1110, 6)
    both.master(4, 0b11100000, 6)
    alone.master(0, 0b1110, 6)
    for circle in (both, alone):
        circle.clock.run()
    assert [both.arrivals(k) for k in (1, 2, 3)] == [alone.arrivals(k) for k in (1, 2, 3)]
    assert [both.arrivals(k + 4) for k in (1, 2, 3)] == [alone.arrivals(k) for k in (1, 2, 3)]


def test_a_packet_wraps_past_the_last_node() -> None:
    circle = Circle(8)
    circle.master(6, 0b10, 1)
    circle.clock.run()
    assert circle.arrivals(1) == [3]


def test_a_packet_that_nobody_takes_says_so() -> None:
    circle = Circle(4)
    circle.sinks[2].ready = 1 << 40
    circle.master(0, 0b100, 1)
    circle.clock.run()
    assert circle.stops[2].stuck == "a packet from m0.0 with bitmap 0x4 waits for a consumer to be posted"
    assert circle.stops[1].stuck is None


def test_a_slow_receiver_paces_the_ring_and_loses_nothing() -> None:
    circle = Circle(4, hop_cycles=2)
    circle.post(3, 0, every=5)
    circle.master(0, 0b1000, 12)
    circle.clock.run()
    assert circle.arrivals(3) == list(range(6, 6 + 12 * 5, 5))
    assert Counter(name for _, name, _ in circle.sinks[3].taken) == Counter(f"m0.{k}" for k in range(12))
