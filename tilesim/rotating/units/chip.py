"""The whole chip: the array, its RAMs, the output unit and DMA, wired together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from simpy import Event
from simpy.core import StopSimulation

from tilesim.machines.holds import NO_HOLDS, Holds
from tilesim.rotating.isa.model.instructions import Counter, Instruction, Queue, Ram
from tilesim.rotating.isa.walk import queued
from tilesim.rotating.topology import Topology
from tilesim.rotating.units.array import Array
from tilesim.rotating.units.dma_in import DmaIn
from tilesim.rotating.units.dma_out import DmaOut
from tilesim.rotating.units.host_memory import HostMemory
from tilesim.rotating.units.output_unit import OutputUnit
from tilesim.rotating.units.parameter_fetcher import ParameterFetcher
from tilesim.rotating.units.row_memory import RowMemory
from tilesim.sim.core.clock import Clock, Phase, Work
from tilesim.sim.core.flags import FlagFile
from tilesim.sim.core.logged import LoggedUnit
from tilesim.sim.core.unit import Unit
from tilesim.sim.trace.recorder import Recorder, listener
from tilesim.sim.trace.state_log import StateLog

U = TypeVar("U", bound=Unit)


class Chip:
    """A chip at rest in cycle 0. ``log`` hears of all spans, whoever records the trace."""

    def __init__(
        self,
        topology: Topology,
        host: HostMemory,
        recorder: Recorder | None = None,
        log: StateLog | None = None,
    ) -> None:
        self.topology = topology
        self.clock = Clock()
        self.recorder = recorder
        self.log = log
        self.section = ("load", 0)
        self.halted = False
        self.counts = FlagFile(self.clock)
        self.data_ram, self.weight_ram = (self._ram(ram, host.samples) for ram in Ram)
        units = [self._unit(name, Unit) for name in ("output", "parameters", "dma_in", "dma_out")]
        self.links = [self._unit(name, Unit) for name in ("host.in", "host.out")]
        array = self._unit("array", LoggedUnit)
        self.units = [array, *units]
        rams = {Ram.DATA: self.data_ram, Ram.WEIGHT: self.weight_ram}
        self.dma_in = DmaIn(self.clock, units[2], self.links[0], topology, rams, self.counts, host)
        self.dma_out = DmaOut(self.clock, units[3], self.links[1], topology, self.data_ram, self.counts, host)
        self.output = OutputUnit(self.clock, units[0], topology, self.data_ram, self.dma_in.writes_in, self.counts)
        self.fetcher = ParameterFetcher(units[1], topology, self.weight_ram)
        self.array = Array(
            self.clock, array, topology, self.data_ram, self.weight_ram, self.output, self.fetcher, self.counts
        )
        for work in (self.output.convert(), self.output.write()):
            self.clock.process(work)

    def run(self, section: str, instructions: Sequence[Instruction], holds: Holds = NO_HOLDS) -> range:
        """Run a section up to its end, or until nothing can happen any more: its cycles. ``holds`` says before which
        cycle of the section an instruction must not begin.
        """
        start = self.clock.cycle
        self.section, self.halted = (section, start), False
        for counter in Counter:
            self.counts.reset(counter)
        self.output.restart()
        for unit in (*self.units, *self.links):
            unit.restart()
            unit.holds = {label: start + cycle for (label, _), cycle in holds.items()}
        self.fetcher.restart()
        halted = self.clock.event()
        halted.callbacks.append(StopSimulation.callback)
        self.clock.process(self._section(instructions, halted))
        self.clock.run()
        return range(start, self.clock.cycle)

    def _section(self, instructions: Sequence[Instruction], halted: Event) -> Work:
        """Every unit up to the end of its queue, and the output unit until all can be seen that it has written."""
        start, process = self.clock.cycle, self.clock.process
        dma = [
            process(engine.run([op for _, op in queued(instructions, queue)]))
            for engine, queue in ((self.dma_in, Queue.DMA_IN), (self.dma_out, Queue.DMA_OUT))
        ]
        yield process(self.array.run(instructions))
        yield from dma
        while self.output.busy:
            yield self.output.seen()
        if not self.array.halted:
            return
        # Whatever else is counted, or leaves, in this cycle goes before.
        yield self.clock.phase(Phase.SETTLE, max(0, start + 1 - self.clock.cycle))
        self.halted = True
        halted.succeed()

    def close(self, end: int) -> None:
        """Account for the rest of a run that ends at ``end``."""
        self.fetcher.advance(end)
        self.output.account(end)
        for unit in (*self.units, *self.links):
            unit.close(max(end, unit.accounted_until))

    def stop(self) -> int:
        """Account for a section that can't go on, with the cycle in which it stands, or up to a later one if a unit's
        work is known ahead: the cycle after the last.
        """
        units = (*self.units, *self.links)
        end = max(self.clock.cycle + 1, *(unit.accounted_until for unit in units))
        self.fetcher.advance(end)
        self.output.account(end)
        for unit in units:
            unit.stop(end, working=False)
        return end

    def _ram(self, ram: Ram, samples: int) -> RowMemory:
        keys = self.topology.data_ram if ram is Ram.DATA else self.topology.weight_ram
        return RowMemory(f"nnu.{ram}", keys.rows, self.topology.row_bytes, keys.ports, samples)

    def _unit(self, name: str, kind: type[U]) -> U:
        track = f"nnu.{name}"
        return kind(self.clock, track, listener(track, self.recorder, None if self.log is None else self.log.spans))
