"""The data ring: packets of one wide row pass from stop to stop."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from tilesim.tiled.stepped.core import BUSY, CREDIT, IDLE, Clock, UnitAccount
from tilesim.tiled.stepped.memory import Bytes
from tilesim.tiled.topology import Ring


class SentTransfer(Struct, eq=False):
    """Rows that end with one tail, for the monitor: ``afloat`` of them are on the ring."""

    sender: str
    afloat: int = 0
    sent: bool = False


class Packet(Struct, frozen=True, eq=False):
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

    def accept(self, packet: Packet, last: bool) -> None:
        """A part of a packet is taken in this cycle, the ``last`` one or another."""


class Passing(Struct):
    """A packet that goes through a stop part by part: out of its register or the node's own, on the link, into the
    receiver, or both.
    """

    packet: Packet
    parts: int
    own: bool
    taken: bool


class Link:
    """The link from a node to the next one, which the stops of the node's channels share: what became of it in this
    cycle, and how many parts are left of the packet that it carries.
    """

    def __init__(self, account: UnitAccount) -> None:
        self.account = account
        self.kind = IDLE
        self.parts_left = 0

    def begin(self) -> None:
        """The cycle begins."""
        self.kind = BUSY if self.parts_left else IDLE

    def enter(self, parts: int) -> None:
        """A packet enters it."""
        self.kind, self.parts_left = BUSY, parts

    def lack(self) -> None:
        """A packet would, but for a place at the next stop."""
        self.kind = CREDIT if self.kind == IDLE else self.kind

    def end(self, cycle: int) -> None:
        """The cycle ends."""
        self.parts_left -= self.kind == BUSY
        self.account.note(cycle, self.kind)


class RingStop:
    """The stop of one channel at node ``node``: a register for what arrives, and the link to the next node, on which
    the stop of channel A goes before that of channel B.

    In each cycle the packet that stands first is tested: where its bit is set, the row is taken here and the bit
    cleared; with bits left, it is forwarded; both happen together or not at all, and go on for as many cycles as the
    row has parts, one a cycle. The node's own packet enters the link when nothing is forwarded.

    Timing: of a packet that leaves from t on, the header stands at the next stop at t + hop_cycles; there it can leave
    again while parts of it still come. A register has hop_cycles + 1 places; one of which the last part leaves in t can
    be used from t + 1 on. Of a tail of which the last part is sent, forwarded or taken in t (one that is taken and
    forwarded is one) ``on_tail`` hears at the end of t.
    """

    following: RingStop

    def __init__(self, clock: Clock, link: Link, node: int, ring: Ring, row_bytes: int, channel: int = 0) -> None:
        self.link = link
        self.node = node
        self.channel = channel
        self.receiver: Receiver | None = None
        self.on_tail: Callable[[], None] | None = None
        self.note: Callable[[RingStop, Packet], None] = lambda _stop, _packet: None
        self.outgoing: Packet | None = None
        self.register: deque[tuple[int, Packet]] = deque()
        self.credits = ring.hop_cycles + 1
        self.parts = -(-row_bytes // (ring.width_bytes or row_bytes))
        self._passing: list[Passing] = []
        self._clock = clock
        self._bit = 1 << node >> 1
        self._hop_cycles = ring.hop_cycles
        self._circulates = ring.no_consumer == "circulate"
        self._returned = 0

    @property
    def takes(self) -> bool:
        """Whether the node's packet has begun to leave, or there is none."""
        return self.outgoing is None

    def sending(self, packet: Packet) -> Iterator[str]:
        """Send a packet of this node: what each cycle of that is to who sends it."""
        self.outgoing = packet
        while not self.takes:
            yield CREDIT
        for _ in range(self.parts - 1):
            yield BUSY

    def arbitrate(self, upstream: RingStop) -> None:
        """Do what can be done in this cycle; a place freed here is the ``upstream`` stop's."""
        if not self.register and self.outgoing is None and not self._passing:
            return
        self._pass_on()
        if self.outgoing is not None and self.link.kind != BUSY:
            self._send_own()
        for passing in self._passing:
            self._pass_part(passing, upstream)
        self._passing = [passing for passing in self._passing if passing.parts]

    def _pass_on(self) -> None:
        """Begin to take and forward what stands first, if that can be."""
        if any(not passing.own for passing in self._passing):
            return
        if not self.register or self.register[0][0] > self._clock.cycle:
            return
        packet = self.register[0][1]
        taken = self._taken_bit(packet)
        left = packet.header & ~taken
        if taken and not (self.receiver and self.receiver.ready()):
            return
        if left and (self.link.kind == BUSY or not self.credits):
            self.link.lack()
            return
        self.register.popleft()
        self._pass(packet, left, taken=bool(taken))

    def _pass_part(self, passing: Passing, upstream: RingStop) -> None:
        """Let one more part of a packet go where it goes."""
        passing.parts -= 1
        last = not passing.parts
        self._clock.pass_on(1)
        if passing.taken and self.receiver:
            self._clock.stir()
            self.receiver.accept(passing.packet, last)
        if last and not passing.own:
            upstream._returned += 1
        if last and passing.packet.tail and self.on_tail:
            self.on_tail()

    def _taken_bit(self, packet: Packet) -> int:
        """The bit with which the packet is taken here; none if it goes past."""
        taken = packet.header & self._bit
        if taken and self._circulates and not (self.receiver and self.receiver.engaged()):
            return 0
        return taken

    def _send_own(self) -> None:
        packet = self.outgoing
        assert packet is not None
        if not self.credits:
            self.link.lack()
            return
        self.outgoing = None
        self._clock.stir()
        packet.transfer.afloat += 1
        packet.transfer.sent = packet.tail
        self._pass(packet, packet.header, own=True)

    def _pass(self, packet: Packet, left: int, own: bool = False, taken: bool = False) -> None:
        """A packet begins to leave, with the bits that are ``left``."""
        self._clock.pass_on(self._hop_cycles)
        self.note(self, packet)
        self._passing.append(Passing(packet, self.parts, own, taken))
        if left:
            self.link.enter(self.parts)
            self.credits -= 1
            self.following.register.append((self._clock.cycle + self._hop_cycles, replace(packet, header=left)))
        else:
            packet.transfer.afloat -= 1

    def state(self) -> tuple[object, ...]:
        """Everything here that decides on what happens next."""
        standing = tuple(
            (max(0, at - self._clock.cycle), id(packet.row), packet.header) for at, packet in self.register
        )
        passing = tuple((each.parts, each.own) for each in self._passing)
        return standing, self.credits, self.outgoing is None, passing, self.link.parts_left

    def commit(self) -> None:
        """The cycle ends."""
        self.credits += self._returned
        self._returned = 0
