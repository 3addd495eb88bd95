"""The controller's sequencer: issues a program's instructions in order."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import simpy

from tilesim.sim.clock import Clock
from tilesim.sim.fifo import Fifo
from tilesim.sim.flags import FlagFile
from tilesim.sim.unit import BUSY, Reason, Unit
from tilesim.tiled.isa.instructions import WORD_BYTES, Infeed, Instruction, Outfeed, ScalarFence
from tilesim.tiled.topology import Topology
from tilesim.tiled.units.instruction_bus import BusStop, Delivery, bus_words, header_of, send

Work = Generator[simpy.Event, Any, None]

FENCES = "tile_fences"
"""The controller's counter of tile fences that are through."""


class Sequencer:
    """Sends tile instructions over the instruction bus, its own to the infeed and the outfeed, and waits at scalar
    fences.

    Timing: an instruction of n bus words takes n cycles, one of the controller's own 1. Source: US 19/025,090 [0045],
    [0059]; US 2025/0265455 [0030].
    """

    def __init__(
        self,
        clock: Clock,
        unit: Unit,
        topology: Topology,
        first_stop: BusStop,
        infeed: Fifo[Infeed],
        outfeed: Fifo[Outfeed],
    ) -> None:
        self.unit = unit
        self.counters = FlagFile(clock)
        self.current: Instruction | None = None
        self._clock = clock
        self._topology = topology
        self._first_stop = first_stop
        self._infeed, self._outfeed = infeed, outfeed

    def start(self, instructions: tuple[Instruction, ...]) -> None:
        self._clock.process(self._work(instructions))

    def _work(self, instructions: tuple[Instruction, ...]) -> Work:
        for op in instructions:
            self.current = op
            self.unit.instruction = op.label
            if isinstance(op, ScalarFence):
                yield from self._await_fences(op)
            elif isinstance(op, Infeed):
                yield from self._dispatch(self._infeed, op)
            elif isinstance(op, Outfeed):
                yield from self._dispatch(self._outfeed, op)
            else:
                yield from self._broadcast(op)
        self.current = None
        self.unit.instruction = ""

    def _broadcast(self, op: Instruction) -> Work:
        words = bus_words(op, self._topology.instruction_bus.width_bytes)
        delivery = Delivery(header_of(op, self._topology.tiles), op, words)
        yield from send(self._clock, self.unit, self._first_stop, delivery, self._topology.instruction_bus.hop_cycles)
        yield self._clock.timeout(words)
        self.unit.spend(BUSY, moved_bytes=op.words * WORD_BYTES)

    def _dispatch(self, queue: Fifo[Any], op: Instruction) -> Work:
        yield from self.unit.wait(queue.room(), Reason.FIFO, lambda: f"a place in the buffer of the {op.mnemonic}")
        yield self._clock.timeout(1)
        self.unit.spend(BUSY)
        queue.put(op)

    def _await_fences(self, op: ScalarFence) -> Work:
        met = self.counters.reached(FENCES, op.count)
        yield from self.unit.wait(met, Reason.FLAG, lambda: self._describe(op))
        self.counters.raise_by(FENCES, -op.count)
        yield self._clock.timeout(1)
        self.unit.spend(BUSY)

    def _describe(self, op: ScalarFence) -> str:
        return f"{op.count} tile fences to be through; so far {self.counters.count(FENCES)} are"
