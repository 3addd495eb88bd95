"""The data ring: packets of one wide row pass from stop to stop.

Nodes in order: source (the controller's infeed), the tiles row by row, the classifier, sink (the controller's
outfeed), and back to source.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import simpy

from tilesim.sim.clock import Clock, Phase
from tilesim.sim.memory import Bytes
from tilesim.sim.unit import BUSY, Reason, Unit, Wait
from tilesim.tiled.topology import Topology


@dataclass(frozen=True)
class Packet:
    """A header bitmap, one wide row for each sample, and a tail bit on the last row of a transfer."""

    header: int
    row: Bytes
    tail: bool
    sender: str


class Receiver(Protocol):
    """What takes packets off the ring at a stop."""

    def obstacle(self) -> str | None:
        """Why no packet can be taken in this cycle, in words; None if one can."""

    def take(self, packet: Packet) -> None:
        """A packet has been taken in this cycle."""


class RingStop:
    """One node's stop: a register for what arrives, the link to the next node, and a queue for what the node sends.

    In each cycle the head of the register is tested: a set bit means that the row is taken here (and the bit
    cleared); a packet with bits left is forwarded. Both happen together or not at all. A node's own packet enters the
    link when nothing is forwarded.

    Timing: a packet that leaves at t stands at the next stop at t + hop_cycles; one packet a cycle. A register has
    hop_cycles + 1 places, a place that is freed in t can be used from t + 1 on. ``on_tail`` hears at t + 1 of every
    tail packet that the stop sends, forwards or takes in t; one that it takes and forwards is one. Source: US
    2025/0265455 [0033]-[0035], [0046]; hop, credits, forwarding before injection and counting tails are assumptions.
    """

    def __init__(self, clock: Clock, topology: Topology, bit: int | None, link: Unit) -> None:
        self.link = link
        self.receiver: Receiver | None = None
        self.on_tail: Callable[[], None] | None = None
        self.outgoing: deque[Packet] = deque()
        self.credits = topology.ring.hop_cycles + 1
        self._clock = clock
        self._hop_cycles = topology.ring.hop_cycles
        self._mask = 0 if bit is None else 1 << bit
        self._register: deque[tuple[int, Packet]] = deque()
        self._next: RingStop | None = None
        self._previous: RingStop | None = None
        self._sent: simpy.Event | None = None
        self._decisions: set[int] = set()

    def connect(self, following: RingStop) -> None:
        self._next, following._previous = following, self

    def poke(self, after_cycles: int = 0) -> None:
        """Something may be possible now, or ``after_cycles`` from now."""
        cycle = self._clock.cycle + after_cycles
        if cycle not in self._decisions:
            self._decisions.add(cycle)
            self._clock.phase(Phase.ARBITRATE, after_cycles).callbacks.append(self._decide)

    def send(self, packet: Packet) -> simpy.Event:
        """Queue a packet from this node; the event is when it has left."""
        self.outgoing.append(packet)
        self._sent = self._clock.event()
        self.poke()
        return self._sent

    @property
    def stuck(self) -> str | None:
        """The packet that stands here and why, in words."""
        if self._register:
            packet = self._register[0][1]
            return f"a packet from {packet.sender} with bitmap {packet.header:#x} waits for {self._obstacle(packet)}"
        return None

    def _decide(self, _: simpy.Event) -> None:
        now = self._clock.cycle
        self._decisions.discard(now)
        used = self._handle_head(now)
        if self.outgoing and not used:
            self._inject()
        elif self.outgoing:
            self.poke(1)

    def _handle_head(self, now: int) -> bool:
        """Take and forward the head of the register if that can be; whether the link was used."""
        if not self._register or self._register[0][0] > now:
            return False
        packet = self._register[0][1]
        if self._obstacle(packet) is not None:
            if self._lacks_credit(packet):
                self._await_credit()
            return False
        self._register.popleft()
        assert self._previous is not None
        self._previous.return_credit()
        if packet.header & self._mask:
            assert self.receiver is not None
            self.receiver.take(packet)
        self._note(packet)
        left = packet.header & ~self._mask
        if left:
            self._transmit(replace(packet, header=left))
        if self._register:
            self.poke(1)
        return bool(left)

    def _obstacle(self, packet: Packet) -> str | None:
        """Why the packet can't go on in this cycle."""
        if packet.header & self._mask and self.receiver is not None:
            obstacle = self.receiver.obstacle()
            if obstacle is not None:
                return obstacle
        return "a place at the next stop" if self._lacks_credit(packet) else None

    def _lacks_credit(self, packet: Packet) -> bool:
        return not self.credits and packet.header & ~self._mask != 0

    def _await_credit(self) -> None:
        if self.link.waiting is None:
            self.link.spend("idle")
            self.link.waiting = Wait(Reason.CREDIT, self._clock.cycle, lambda: "a place at the next stop")

    def _inject(self) -> None:
        if not self.credits:
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
        on_tail = self.on_tail
        if packet.tail and on_tail is not None:
            self._clock.timeout(1).callbacks.append(lambda _: on_tail())

    def _transmit(self, packet: Packet) -> None:
        assert self._next is not None
        self.link.spend(Reason.CREDIT.kind if self.link.waiting else "idle")
        self.link.waiting = None
        self.link.instruction = packet.sender
        self.link.add(BUSY, 1, packet.row.shape[1])
        self.credits -= 1
        self._next.arrive(packet, self._hop_cycles)

    def arrive(self, packet: Packet, after_cycles: int) -> None:
        """A packet is on the link and stands here ``after_cycles`` from now."""
        self._register.append((self._clock.cycle + after_cycles, packet))
        self.poke(after_cycles)

    def return_credit(self) -> None:
        """The next stop has freed a place; it can be used from the next cycle on."""
        self._clock.timeout(1).callbacks.append(self._credit)

    def _credit(self, _: simpy.Event) -> None:
        self.credits += 1
        if self.outgoing or self._register:
            self.poke()
