"""The controller's sequencer: issues a program's instructions in order."""

from __future__ import annotations

from collections.abc import Callable, Collection
from math import ceil
from typing import Any

from tilesim.sim.core.clock import Clock, Work
from tilesim.sim.core.fifo import Fifo
from tilesim.sim.core.flags import FlagFile
from tilesim.sim.core.unit import BUSY, Reason, Unit
from tilesim.tiled.isa.model import instructions as isa
from tilesim.tiled.topology import Topology
from tilesim.tiled.units.control.instruction_bus import Delivery, InstructionBus

FENCES = "tile_fences"
"""The controller's counter of tile fences that are through."""
OUTFEEDS = "outfeeds"
"""The controller's counter of instructions that the outfeed is through with."""
PROGRAMS = "programs"
"""The controller's counter of requests whose instructions are in instruction memory."""


class Sequencer:
    """Sends tile instructions over the instruction bus, its own to the infeed and the outfeed, and waits at scalar
    fences. What a tile is to broadcast goes to that tile's stop alone. It begins with a request when the host has
    announced it, if the host does (``host.request_ns``, ``host.sends_instructions``).

    Timing: an instruction of n bus words takes n cycles, a sub-instruction of a record being one instruction word
    shorter and beginning with a bus word of its own, one of the controller's own 1. Source: US 19/025,090 [0045],
    [0059]; US 2025/0265455 [0030], [0037].
    """

    def __init__(
        self,
        clock: Clock,
        unit: Unit,
        topology: Topology,
        bus: InstructionBus,
        infeed: Fifo[isa.Infeed],
        outfeed: Fifo[isa.Outfeed | isa.Infeed],
    ) -> None:
        self.unit = unit
        self.counters = FlagFile(clock)
        self._current: isa.Instruction | None = None
        self._clock = clock
        self._tiles, self._width_bytes = topology.tiles, topology.instruction_bus.width_bytes
        self._announced = topology.host.announces_requests
        self._programs = 0
        self.began: list[int] = []
        """The cycles in which it began with each request of the section that the host has announced."""
        self._bus = bus
        self._infeed, self._outfeed = infeed, outfeed
        self._starts = 0
        self._record = ""
        self._parts = 0
        self._outfeeds = 0

    @property
    def current(self) -> isa.Instruction | None:
        """The instruction that is being issued."""
        return self._bus.current or self._current

    def start(
        self, instructions: tuple[isa.Instruction, ...], begins: Collection[str], begun: Callable[[], None]
    ) -> None:
        """Issue instructions. Behind each of the scalar fences ``begins`` another request begins, and ``begun()`` hears
        of it.
        """
        self.began.clear()
        self._clock.process(self._work(instructions, begins, begun))

    def _work(
        self, instructions: tuple[isa.Instruction, ...], begins: Collection[str], begun: Callable[[], None]
    ) -> Work:
        begin = self._announced
        for op in instructions:
            if begin:
                yield from self._await_program(op)
            begin = self._announced and bool(op.label) and op.label in begins
            if not isinstance(op, isa.ControllerInstruction):
                self._broadcast(op)
                continue
            yield self._bus.issued()
            self._current = op
            self.unit.instruction = op.label
            if isinstance(op, isa.ScalarFence):
                yield from self._await_fences(op)
                if op.label in begins:
                    begun()
            else:
                yield from self._dispatch(op)
            self._current = None
        yield self._bus.issued()
        self.unit.instruction = ""

    def _await_program(self, first: isa.Instruction) -> Work:
        """Wait for the instructions of a request, of which that is the first."""
        self._programs += 1
        self._current = first
        self.unit.instruction = first.label
        there = self.counters.reached(PROGRAMS, self._programs)
        waker = yield from self.unit.wait(there, Reason.HOST, lambda: "a request and its instructions from the host")
        self.unit.woken_by(waker, Reason.HOST)
        self.began.append(self._clock.cycle)
        self._current = None

    def _broadcast(self, op: isa.Instruction) -> None:
        stops, size_bytes = isa.header_of(op, self._tiles), self._size_bytes(op)
        header, then = (self._starts, stops) if self._starts else (stops, 0)
        record = self._record if self._parts else ""
        self._bus.send(Delivery(header, op, ceil(size_bytes / self._width_bytes), size_bytes, then, record))
        self._starts = stops if isinstance(op, isa.Broadcast) else 0
        if isinstance(op, isa.Record):
            self._record, self._parts = op.label, op.parts
        else:
            self._parts = max(0, self._parts - 1)

    def _size_bytes(self, op: isa.Instruction) -> int:
        """What an instruction takes on the bus."""
        return (op.words - (self._parts > 0)) * isa.WORD_BYTES

    def _dispatch(self, op: isa.Infeed | isa.Outfeed) -> Work:
        """Rows that are forwarded concern both: the outfeed takes them, the infeed sends them."""
        queues: list[Fifo[Any]] = []
        if isinstance(op, isa.Infeed):
            queues.append(self._infeed)
        if isinstance(op, isa.Outfeed) or op.source == "ring":
            queues.append(self._outfeed)
        for queue in queues:
            yield from self.unit.wait(queue.room(), Reason.FIFO, lambda: f"a place in the buffer of the {op.mnemonic}")
        yield self._clock.timeout(1)
        self.unit.spend(BUSY)
        for queue in queues:
            queue.put(op)
        self._outfeeds += self._outfeed in queues

    def _await_fences(self, op: isa.ScalarFence) -> Work:
        met = self.counters.reached(FENCES, op.count)
        yield from self.unit.wait(met, Reason.FLAG, lambda: self._describe(op))
        self.counters.raise_by(FENCES, -op.count)
        if op.idle:
            left = self.counters.reached(OUTFEEDS, self._outfeeds)
            yield from self.unit.wait(left, Reason.FLAG, self._describe_outfeed)
        yield self._clock.timeout(1)
        self.unit.spend(BUSY)

    def _describe_outfeed(self) -> str:
        through = self.counters.count(OUTFEEDS)
        return f"the outfeed to be through with {self._outfeeds} instructions; so far it is with {through}"

    def _describe(self, op: isa.ScalarFence) -> str:
        return f"{op.count} tile fences to be through; so far {self.counters.count(FENCES)} are"
