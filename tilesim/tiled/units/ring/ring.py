"""The data ring: packets of one wide row pass from stop to stop.

Nodes in order: source (the controller's infeed), the tiles row by row, the classifier, sink (the controller's
outfeed), and back to source. On a chip with two consumer queues each node has a stop for each channel, and both share
its link.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

import simpy

from tilesim.sim.core.clock import Clock, Work
from tilesim.sim.core.memory import Bytes
from tilesim.sim.core.unit import BUSY, Reason, Unit
from tilesim.tiled.isa.model.fields import Channel
from tilesim.tiled.topology import Topology
from tilesim.tiled.units.ring.node_link import NodeLink
from tilesim.tiled.units.ring.ring_monitor import Passage, SentTransfer


class Packet(NamedTuple):
    """A header bitmap, one wide row for each sample, and a tail bit on the last row of a transfer.

    ``transfer``, and ``number`` in it, are for the monitor: no unit knows where a row comes from. One that is
    ``instant`` takes no time from stop to stop, needs no link and no place in a register, and overtakes nobody.
    """

    header: int
    row: Bytes
    tail: bool
    sender: str
    transfer: SentTransfer | None = None
    number: int = 0
    instant: bool = False


class Receiver(Protocol):
    """What takes packets off the ring at a stop; its unit is engaged while an instruction for them is posted."""

    unit: Unit

    def obstacle(self) -> str | None:
        """Why no packet can be taken in this cycle, in words; None if one can."""

    def take(self, packet: Packet) -> None:
        """A packet has been taken in this cycle."""


class StopListener(Protocol):
    """Hears of the packets of a stop."""

    def arrives(self, packet: Packet, cycle: int) -> None:
        """A packet will stand here from ``cycle`` on."""

    def leaves(self, end: int, following: tuple[int, Packet] | None) -> None:
        """The head of the register is taken or forwarded, all of it before the cycle ``end``; the ``following`` packet,
        with the cycle from which on it stands here.
        """

    def enters(self, packet: Packet, cycle: int, end: int) -> None:
        """A packet enters the link from ``cycle`` on, all of it before ``end``."""


class RingStop:
    """One node's stop, or that of one of its channels: a register for what arrives, the link to the next node, and a
    queue for what the node sends.

    In each cycle the head of the register is tested: a set bit means that the row is taken here (and the bit
    cleared); a packet with bits left is forwarded. Both happen together or not at all. A node's own packet enters the
    link when nothing is forwarded. Where rows ``circulate``, one that finds nobody posted goes on with its bit set, and
    may come by again; ``on_miss`` hears of it.

    A packet goes on part by part, ``width_bytes`` a cycle, the header with the first part (cut-through): what is
    decided of it is decided when that stands here, for all that follow. Each part leaves the register in one cycle, on
    the link, into the receiver's own register for a row, or both; the row is there with its last part, when a consumer
    commits it.

    Timing: a row takes k = ceil(row bytes / width_bytes) cycles a link, and k at a stop: of a packet that leaves from t
    on, the header stands at the next stop at t + hop_cycles, and its last part leaves here, or is committed, in t + k -
    1. So a row for the stop h hops on is committed there in t + h * hop_cycles + k - 1; peak rate one row in k cycles.
    The stop handles the next packet, and the link takes the next one, from t + k on. A register has hop_cycles + 1
    places, each for a whole packet; the place of one that leaves from t on can be used from t + k on. The link is busy
    for k cycles with each packet that enters it and stalls for want of a credit alone: a row that waits for its
    consumer leaves it idle. ``on_tail`` hears at t + k of every tail packet that the stop sends, forwards or takes from
    t on; one that it takes and forwards is one. Source: US 2025/0265455 [0033]-[0035], [0046], [0054]; hop, width,
    cut-through, credits, forwarding before injection and counting tails are assumptions.
    """

    def __init__(
        self, clock: Clock, topology: Topology, bit: int | None, node_link: NodeLink, channel: Channel = Channel.A
    ) -> None:
        self.node_link = node_link
        self.link = node_link.unit
        self.poke = node_link.poke
        self.channel = channel
        self.receiver: Receiver | None = None
        self.on_tail: Callable[[], None] | None = None
        self.on_miss: Callable[[], None] | None = None
        self.passage: Passage | None = None
        self.listener: StopListener | None = None
        self.outgoing: deque[Packet] = deque()
        self._places = topology.ring.hop_cycles + 1
        self._freed: deque[int] = deque()
        self.node = (0 if bit is None else bit + 1) + channel.number * topology.ring_links
        """Its number among all stops: those of channel B come behind those of A."""
        self.hop_cycles = topology.ring.hop_cycles
        self.row_cycles = topology.ring_row_cycles
        self._clock = clock
        self._circulates = topology.ring.no_consumer == "circulate"
        self._mask = 0 if bit is None else 1 << bit
        self._register: deque[tuple[int, Packet]] = deque()
        self._next: RingStop | None = None
        self._previous: RingStop | None = None
        self._sent: simpy.Event | None = None
        self._next_packet = 0
        """The cycle from which on the stop can handle another packet that takes its time."""
        node_link.stops.append(self)

    def connect(self, following: RingStop) -> None:
        self._next, following._previous = following, self

    def send(self, packet: Packet) -> simpy.Event:
        """Queue a packet from this node; the event is when it has left."""
        self.outgoing.append(packet)
        self._sent = self._clock.event()
        self.poke()
        return self._sent

    def transmit(self, unit: Unit, packet: Packet) -> Work:
        """Send a packet, and account for ``unit``'s cycles until the one after its last part has left."""
        yield from unit.wait(self.send(packet), Reason.CREDIT, lambda: "the ring to take its packet")
        if packet.instant:
            unit.add(BUSY, 0, packet.row.shape[1])
            return
        yield self._clock.timeout(self.row_cycles)
        unit.spend(BUSY, moved_bytes=packet.row.shape[1])

    @property
    def stuck(self) -> str | None:
        """The packet that stands here and why, in words."""
        if not self._register:
            return None
        packet = self._register[0][1]
        obstacle = self._obstacle(packet, self._taken_bit(packet))
        return obstacle and f"a packet from {packet.sender} with bitmap {packet.header:#x} waits for {obstacle}"

    @property
    def packets(self) -> Iterator[Packet]:
        """Those that stand here or are on their way here."""
        return (packet for _, packet in self._register)

    @property
    def holds_packets(self) -> bool:
        return bool(self._register)

    def state(self) -> object:
        """Everything that decides on what the stop does next, but for what others do."""
        now, places = self._clock.cycle, self.credits
        packets = [
            (max(0, ready - now), packet.header, packet.transfer, packet.number) for ready, packet in self._register
        ]
        coming = [cycle - now for cycle in self._freed]
        decisions = self.node_link.decisions_from(now)
        busy = max(0, self._next_packet - now), max(0, self.node_link.free - now)
        return packets, len(self.outgoing), places, coming, decisions, busy

    def decide(self, now: int) -> None:
        """Do what can be done in this cycle; the stops of the channels before this one have."""
        self._let_instants_pass(now)
        if self._next_packet <= now:
            if self._handle_head(now):
                self._let_instants_pass(now)
        elif self._register:
            self.poke(self._next_packet - now)
        if self.outgoing and (self.node_link.free <= now or self.outgoing[0].instant):
            self._inject()
        elif self.outgoing:
            self.poke(self.node_link.free - now)

    def _let_instants_pass(self, now: int) -> None:
        """Handle the packets at the head of the register that take no time, as many as can go on."""
        while self._register and self._register[0][1].instant and self._handle_head(now):
            pass

    def _handle_head(self, now: int) -> bool:
        """Take and forward the head of the register if that can be; whether it was."""
        if not self._register or self._register[0][0] > now:
            return False
        packet = self._register[0][1]
        taken = self._taken_bit(packet)
        left = packet.header & ~taken
        if self._receiver_obstacle(taken) is not None:
            return False
        if left and not packet.instant and not self._link_takes_packets(now):
            return False
        self._leave(packet, now)
        if taken:
            assert self.receiver is not None
            if self.passage is not None and packet.transfer is not None:
                self.passage.taken[self.receiver.unit.instruction].append(packet.transfer)
            self.receiver.take(packet)
        elif left & self._mask and self.on_miss is not None:
            self.on_miss()
        self._note(packet)
        if left:
            self._transmit(Packet(left, *packet[1:]) if taken else packet)
        if self._register:
            self.poke(max(1, self._next_packet - now))
        return True

    def _link_takes_packets(self, now: int) -> bool:
        """Whether one can enter the link in this cycle; what becomes of the link if not."""
        if self.node_link.free > now:
            self.poke(self.node_link.free - now)
            return False
        if not self.credits:
            self._await_credit()
        return self.credits > 0

    def _leave(self, packet: Packet, now: int) -> None:
        """The head of the register leaves it."""
        self._register.popleft()
        if self.listener is not None:
            end = now + (1 if packet.instant else self.row_cycles)
            self.listener.leaves(end, self._register[0] if self._register else None)
        if not packet.instant:
            self._next_packet = now + self.row_cycles
            assert self._previous is not None
            self._previous.return_credit()

    def _taken_bit(self, packet: Packet) -> int:
        """The bit with which the packet is to be taken here; none if it goes past."""
        bit = packet.header & self._mask
        if bit and self._circulates and self.receiver is not None and not self.receiver.unit.engaged:
            return 0
        return bit

    def _obstacle(self, packet: Packet, taken: int) -> str | None:
        """Why the packet can't go on in this cycle."""
        credit = "a place at the next stop" if packet.header & ~taken and not self.credits else None
        return self._receiver_obstacle(taken) or credit

    def _receiver_obstacle(self, taken: int) -> str | None:
        """Why a packet of which the bit ``taken`` is to be taken here can't be."""
        return self.receiver.obstacle() if taken and self.receiver is not None else None

    def _await_credit(self) -> None:
        if self._freed:  # by a packet that began to leave when nobody here waited
            self.poke(self._freed[0] - self._clock.cycle)
        self.node_link.await_credit()

    def _inject(self) -> None:
        if not self.outgoing[0].instant and not self.credits:
            self._await_credit()
            return
        packet = self.outgoing.popleft()
        self._note(packet)
        self._transmit(packet)
        if self._sent is not None:
            sent, self._sent = self._sent, None
            sent.succeed()

    def _note(self, packet: Packet) -> None:
        """A packet passes here in this cycle."""
        if self.passage is not None and packet.transfer is not None:
            self.passage.note(packet.transfer, packet.tail)
        if packet.tail and self.on_tail is not None:
            row_cycles = 1 if packet.instant else self.row_cycles
            self._clock.timeout(row_cycles).callbacks.append(self._tail_passed)

    def _tail_passed(self, _: simpy.Event) -> None:
        assert self.on_tail is not None
        self.on_tail()

    def _transmit(self, packet: Packet) -> None:
        assert self._next is not None
        if packet.instant:
            self._pass_over(packet)
            return
        self.node_link.carry(packet.sender, self.row_cycles, packet.row.shape[1])
        self._places -= 1
        if self.listener is not None:
            self.listener.enters(packet, self._clock.cycle, self.node_link.free)
        self._next.arrive(packet, self.hop_cycles)

    def _pass_over(self, packet: Packet) -> None:
        """Let a packet that takes no time stand at the next stop, behind all that are on their way there."""
        assert self._next is not None
        self.node_link.pass_over(packet.sender, packet.row.shape[1])
        self._next.arrive(packet, 0)

    def arrive(self, packet: Packet, after_cycles: int) -> None:
        """A packet is on the link and stands here ``after_cycles`` from now."""
        cycle = self._clock.cycle + after_cycles
        self._register.append((cycle, packet))
        if self.listener is not None:
            self.listener.arrives(packet, cycle)
        self.poke(after_cycles)

    @property
    def credits(self) -> int:
        """Free places at the next stop."""
        if self._freed:
            now = self._clock.cycle
            while self._freed and self._freed[0] <= now:
                self._freed.popleft()
                self._places += 1
        return self._places

    def return_credit(self) -> None:
        """The next stop begins to free a place; it can be used when the last part has left."""
        self._freed.append(self._clock.cycle + self.row_cycles)
        if self.outgoing or self._register:
            self.poke(self.row_cycles)
