"""The instruction bus: from the controller past every tile, and the classifier, back to the controller."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import simpy

from tilesim.sim.core.clock import Clock
from tilesim.sim.core.fifo import Fifo
from tilesim.sim.core.unit import BUSY, Reason, Unit, Wait
from tilesim.tiled.isa.model.instructions import Broadcast, Instruction, Record, TileFence
from tilesim.tiled.isa.model.sheet import Goes

Waiting = Generator[None, None, int]
"""Work that yields while it can't go on, and returns the cycle in which it could."""


class Delivery(NamedTuple):
    """An instruction on the bus: the stops that still have to copy it, and the bus words and the bytes that it takes.

    ``then``: the stops to which the one that it is for now, which starts its broadcast, sends it. ``record``: the label
    of the record whose sub-instruction it is.
    """

    header: int
    op: Instruction
    words: int
    bytes: int
    then: int = 0
    record: str = ""


class Station(Protocol):
    """What hangs on a stop: the buffers of a tile or of the classifier."""

    def buffer_of(self, op: Instruction) -> Fifo[Any]:
        """The buffer that ``op`` belongs into."""

    def deliver(self, op: Instruction) -> None:
        """``op`` has arrived; its place in the buffer was reserved."""

    def fence(self, op: TileFence) -> simpy.Event:
        """Obey a fence; the event is when it lets later instructions pass."""


class BusStop:
    """A stop: the instructions on their way to it, with the cycles in which they come, the cycles from which on each of
    its free places can be used, whether somebody waits for one, and whether a fence of its tile is not through.
    """

    __slots__ = ("fenced", "fenced_until", "inbox", "mask", "places", "sought", "station", "unit")

    def __init__(self, unit: Unit, bit: int, station: Station) -> None:
        self.unit = unit
        self.mask = 1 << bit
        self.station = station
        self.inbox: deque[tuple[int, Delivery]] = deque()
        self.places: deque[int] = deque()
        self.sought = False
        self.fenced = False
        self.fenced_until = 0


class InstructionBus:
    """Carries instructions from the controller past all stops, each as soon as it can go on.

    A stop copies the instructions that carry its bit into their buffers and passes on what others still need. What
    happens there is worked out ahead, as far as it is certain: a place in a buffer that is there now will be there when
    the instruction comes, as nobody else fills it. Only a full buffer, or a fence that is not through, keeps the work
    waiting until it is heard of.

    Timing: an instruction of n words whose first word enters the bus at t is in the buffer of stop k (from 0) at
    t + (k + 1) * hop_cycles + n; peak rate one word a cycle. A full buffer, or a fence of this tile that is not
    through, stalls this stop and so everything behind it. A stop that starts a broadcast has the whole instruction
    before it sends the first word, so that it is n cycles later in the buffers of the stops behind. A stop has places
    for hop_cycles + 1 instructions; one that it begins with in t leaves its place to another at t + 1. Source: US
    2025/0265455 [0030]-[0031], [0037]; US 19/025,090 [0059]; hop, width, places and that broadcasts start from a whole
    instruction are assumptions.

    The header of a record and its sub-instructions follow one another as if each were an instruction, in fewer words:
    each goes as far as its own tiles are, and a full buffer holds that sub-instruction and all behind it, while those
    before it are in their buffers already. So one is there at t + (k + 1) * hop_cycles + h + the words of all up to it,
    with h of the header. The stops know by the header what the words behind it are. Source: US 19/025,090
    [0046]-[0047]; that a record comes part by part is an assumption.
    """

    def __init__(self, clock: Clock, hop_cycles: int, controller: Unit, stops: Sequence[BusStop]) -> None:
        self.current: Instruction | None = None
        self._clock = clock
        self._hop_cycles = hop_cycles
        self._controller = controller
        self._queue: deque[Delivery] = deque()
        self._ready = 0
        self._issued: simpy.Event | None = None
        self._stops = stops
        self._works = [self._issue(), *(self._carry(place) for place in range(len(stops)))]
        self._wakers = [partial(self._wake, place + 1) for place in range(len(stops))]
        self._awake: deque[int] = deque()
        self._working = False
        for stop in stops:
            stop.places.extend([0] * (hop_cycles + 1))

    def send(self, delivery: Delivery) -> None:
        """Send an instruction after all before it."""
        if not self._queue:
            self._ready = max(self._ready, self._clock.cycle)
        self._queue.append(delivery)
        self._wake(0)

    def issued(self) -> simpy.Event:
        """When the last word of everything so far has left the controller."""
        event = self._issued = self._clock.event()
        if self.current is None:
            self._end_issue()
        return event

    def _wake(self, place: int) -> None:
        """Something may be possible: at the controller (0), or at the stop before ``place``."""
        self._awake.append(place)
        if not self._working:
            self._working = True
            while self._awake:
                next(self._works[self._awake.popleft()])
            self._working = False

    def _issue(self) -> Generator[None, None, None]:
        """The controller's work."""
        unit = self._controller
        while True:
            while not self._queue:
                yield
            delivery = self._queue.popleft()
            self.current = delivery.op
            unit.instruction = delivery.op.label
            at = yield from self._pass(unit, 0, delivery, self._ready)
            unit.add(BUSY, delivery.words, delivery.bytes)
            self._ready = at + delivery.words
            if not self._queue:
                self.current = None
                self._end_issue()

    def _end_issue(self) -> None:
        if self._issued is not None:
            event, self._issued = self._issued, None
            over = self._clock.timeout(max(self._ready - self._clock.cycle, 0))
            over.callbacks.append(event.trigger)

    def _carry(self, place: int) -> Generator[None, None, None]:
        """The work of a stop."""
        stop, ready = self._stops[place], 0
        unit = stop.unit
        while True:
            while not stop.inbox:
                yield
            arrival, delivery = stop.inbox.popleft()
            at = max(arrival, ready)
            unit.spend("idle", at)
            unit.instruction = delivery.op.label
            stop.places.append(at + 1)
            if stop.sought:
                self._wake(place)
            mine = delivery.header & stop.mask
            starts = delivery.then if mine else 0
            copies = bool(starts & stop.mask) if starts else bool(mine)
            if mine and not self._is_open(stop, place, delivery.op if copies else None, at):
                at = yield from self._admit(stop, place, delivery, copies, at)
            if mine != delivery.header:
                at = yield from self._forward(unit, place, delivery, delivery.header, at)
            ready = at + delivery.words
            unit.add(BUSY, delivery.words, delivery.bytes)
            if copies:
                self._copy(stop, place, delivery.op, ready)
            if starts:
                ready = delivery.words + (yield from self._forward(unit, place, delivery, starts, ready))
                unit.add(BUSY, delivery.words)

    def _is_open(self, stop: BusStop, place: int, op: Instruction | None, at: int) -> bool:
        """Whether no fence is in the way, and ``op``, if the stop copies it, has got a place in its buffer."""
        if stop.fenced or stop.fenced_until > at:
            return False
        return op is None or op.row.goes is Goes.STOP or stop.station.buffer_of(op).claim(self._wakers[place])

    def _admit(self, stop: BusStop, place: int, delivery: Delivery, copies: bool, at: int) -> Waiting:
        """Wait until this tile's fence is through and there is a place for an instruction that the stop copies."""
        op = delivery.op
        while stop.fenced:
            stop.unit.waiting = Wait(Reason.FLAG, at, lambda: "a tile fence to let instructions pass")
            yield
            stop.unit.waiting = None
        if stop.fenced_until > at:
            at = stop.fenced_until
            stop.unit.spend(Reason.FLAG.kind, at)
        if not copies or op.row.goes is Goes.STOP:
            return at
        buffer = stop.station.buffer_of(op)
        if not buffer.claim(self._wakers[place]):
            whose = f", for a sub-instruction of {delivery.record}" if delivery.record else ""
            what = f"a place in the instruction buffer of {op.mnemonic}{whose}"
            stop.unit.waiting = Wait(Reason.FIFO, at, lambda: what)
            yield
            while not buffer.claim(self._wakers[place]):
                yield
            stop.unit.waiting = None
            at = max(at, self._clock.cycle)
            stop.unit.spend(Reason.FIFO.kind, at)
        return at

    def _forward(self, unit: Unit, place: int, delivery: Delivery, header: int, at: int) -> Waiting:
        """Send on what is for other stops than the one at ``place``, if it is for any."""
        left = header & ~self._stops[place].mask
        if not left or place + 1 == len(self._stops):
            return at
        onward = delivery._replace(header=left, then=delivery.then if header == delivery.header else 0)
        if self._stops[place + 1].places:
            return self._enter(unit, place + 1, onward, at)
        return (yield from self._pass(unit, place + 1, onward, at))

    def _pass(self, unit: Unit, to: int, delivery: Delivery, at: int) -> Waiting:
        """Wait for a place at the stop ``to``; the first word stands there ``hop_cycles`` later."""
        stop = self._stops[to]
        if not stop.places:
            unit.waiting = Wait(Reason.CREDIT, at, lambda: "a place at the next stop of the instruction bus")
            stop.sought = True
            while not stop.places:
                yield
            stop.sought = False
            unit.waiting = None
        return self._enter(unit, to, delivery, at)

    def _enter(self, unit: Unit, to: int, delivery: Delivery, at: int) -> int:
        """Take a place at the stop ``to``, which there is."""
        stop = self._stops[to]
        at = max(at, stop.places.popleft())
        unit.spend(Reason.CREDIT.kind, at)
        stop.inbox.append((at + self._hop_cycles, delivery))
        self._wake(to + 1)
        return at

    def _copy(self, stop: BusStop, place: int, op: Instruction, cycle: int) -> None:
        """Put an instruction into its buffer, or begin a fence, in ``cycle``."""
        if isinstance(op, Broadcast | Record):  # which only say what comes next
            return
        copied = self._clock.timeout(cycle - self._clock.cycle)
        if isinstance(op, TileFence):
            stop.fenced = True
            copied.callbacks.append(lambda _: self._begin_fence(stop, place, op))
        else:
            copied.callbacks.append(lambda _: stop.station.deliver(op))

    def _begin_fence(self, stop: BusStop, place: int, op: TileFence) -> None:
        def end(through: simpy.Event) -> None:
            stop.unit.woken_by(through.value, Reason.FLAG)
            stop.fenced = False
            stop.fenced_until = self._clock.cycle
            self._wake(place + 1)

        passed = stop.station.fence(op)
        passed.callbacks.append(end)
