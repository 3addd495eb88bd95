"""The data ring: packets of one wide row pass from stop to stop."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from tilesim.tiled.stepped.core import BUSY, CREDIT, IDLE, Clock, UnitAccount
from tilesim.tiled.stepped.memory import Bytes
from tilesim.tiled.topology import Ring


@dataclass(eq=False)
class SentTransfer:
    """Rows that end with one tail, for the monitor: ``afloat`` of them are on the ring."""

    sender: str
    afloat: int = 0
    sent: bool = False


@dataclass(frozen=True, eq=False)
class Packet:
    """A header bitmap, one wide row, and a tail bit on the last one of a transfer."""

    header: int
    row: Bytes
    tail: bool
    transfer: SentTransfer


class Receiver(Protocol):
    """What takes packets off the ring at a stop."""

    def engaged(self) -> bool:
        """Whether an instruction that takes packets has begun, even if it can't take one now."""

    def ready(self) -> bool:
        """Whether it takes a packet in this cycle."""

    def accept(self, packet: Packet) -> None:
        """A packet is taken in this cycle."""


class RingStop:
    """Node ``node``'s stop: a register for what arrives, and the link to the next node.

    In each cycle the packet that stands first is tested: where its bit is set, the row is taken here and the bit
    cleared; with bits left, it is forwarded; both happen together or not at all. The node's own packet enters the link
    when nothing is forwarded.

    Timing: a packet that leaves at t stands at the next stop at t + hop_cycles. A register has hop_cycles + 1 places;
    one that is freed in t can be used from t + 1 on. Of a tail that is sent, forwarded or taken in t (one that is
    taken and forwarded is one) ``on_tail`` hears at the end of t.
    """

    following: RingStop

    def __init__(self, clock: Clock, account: UnitAccount, node: int, ring: Ring) -> None:
        self.account = account
        self.node = node
        self.receiver: Receiver | None = None
        self.on_tail: Callable[[], None] | None = None
        self.note: Callable[[RingStop, Packet], None] = lambda _stop, _packet: None
        self.outgoing: Packet | None = None
        self.register: deque[tuple[int, Packet]] = deque()
        self.credits = ring.hop_cycles + 1
        self._clock = clock
        self._bit = 1 << node >> 1
        self._hop_cycles = ring.hop_cycles
        self._circulates = ring.no_consumer == "circulate"
        self._returned = 0

    def arbitrate(self, upstream: RingStop) -> None:
        """Do what can be done in this cycle; a place freed here is the ``upstream`` stop's."""
        if not self.register and self.outgoing is None:
            self.account.note(self._clock.cycle, IDLE)
            return
        kind = self._pass_on(upstream)
        if self.outgoing is not None and kind != BUSY:
            kind = self._send_own()
        self.account.note(self._clock.cycle, kind)

    def _pass_on(self, upstream: RingStop) -> str:
        """Take and forward what stands first, if that can be; what became of the link."""
        if not self.register or self.register[0][0] > self._clock.cycle:
            return IDLE
        packet = self.register[0][1]
        taken = self._taken_bit(packet)
        left = packet.header & ~taken
        if taken and not (self.receiver and self.receiver.ready()):
            return IDLE
        if left and not self.credits:
            return CREDIT
        self.register.popleft()
        upstream._returned += 1
        self._pass(packet, left)
        if taken and self.receiver:
            self._clock.stir()
            self.receiver.accept(packet)
        return BUSY if left else IDLE

    def _taken_bit(self, packet: Packet) -> int:
        """The bit with which the packet is taken here; none if it goes past."""
        taken = packet.header & self._bit
        if taken and self._circulates and not (self.receiver and self.receiver.engaged()):
            return 0
        return taken

    def _send_own(self) -> str:
        packet = self.outgoing
        assert packet is not None
        if not self.credits:
            return CREDIT
        self.outgoing = None
        self._clock.stir()
        packet.transfer.afloat += 1
        packet.transfer.sent = packet.tail
        self._pass(packet, packet.header)
        return BUSY

    def _pass(self, packet: Packet, left: int) -> None:
        self._clock.pass_on(self._hop_cycles)
        self.note(self, packet)
        if packet.tail and self.on_tail:
            self.on_tail()
        if left:
            self.credits -= 1
            self.following.register.append((self._clock.cycle + self._hop_cycles, replace(packet, header=left)))
        else:
            packet.transfer.afloat -= 1

    def state(self) -> tuple[object, ...]:
        """Everything here that decides on what happens next."""
        standing = tuple((at - self._clock.cycle, id(packet.row), packet.header) for at, packet in self.register)
        return standing, self.credits, self.outgoing is None

    def commit(self) -> None:
        """The cycle ends."""
        self.credits += self._returned
        self._returned = 0
