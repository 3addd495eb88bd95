"""All units of a section, in the order in which they are asked."""

from __future__ import annotations

from collections.abc import Mapping

from tilesim.rotating.isa.model import instructions as isa
from tilesim.rotating.isa.model.instructions import Instruction, Queue
from tilesim.rotating.stepped.array import Array
from tilesim.rotating.stepped.core import Account, Counters, queue_of
from tilesim.rotating.stepped.dma_in import DmaIn
from tilesim.rotating.stepped.dma_out import DmaOut
from tilesim.rotating.stepped.host import HostMemory, Link
from tilesim.rotating.stepped.memory import Ram, Words
from tilesim.rotating.stepped.output_unit import OutputUnit
from tilesim.rotating.stepped.parameters import ParameterFetch
from tilesim.rotating.topology import Topology

Rams = Mapping[isa.Ram, Ram]


def rams_of(topology: Topology) -> dict[isa.Ram, Ram]:
    """The RAMs of a chip that was just switched on."""
    data, weights = topology.data_ram, topology.weight_ram
    return {
        isa.Ram.DATA: Ram("data_ram", data.rows, topology.row_bytes, data.ports),
        isa.Ram.WEIGHT: Ram("weight_ram", weights.rows, topology.row_bytes, weights.ports),
    }


class Section:
    """The units as they are at the start of a section: everything is reset but the RAMs and the host's memory.

    With ``observes``, mux-registers and accumulators at the start of each cycle are kept.
    """

    def __init__(
        self, topology: Topology, instructions: list[Instruction], rams: Rams, host: HostMemory, observes: bool = False
    ) -> None:
        data_ram, weight_ram = self._rams = (rams[isa.Ram.DATA], rams[isa.Ram.WEIGHT])
        self._counters = Counters()
        self.links = [Link(f"nnu.host.{way}", topology.link_cycles) for way in ("in", "out")]
        coming, going = (queue_of(instructions, queue) for queue in (Queue.DMA_IN, Queue.DMA_OUT))
        self.dma_in = DmaIn(coming, dict(rams), host, self.links[0], self._counters)
        self.dma_out = DmaOut(going, data_ram, host, self.links[1], self._counters)
        self.output = OutputUnit(topology, data_ram, weight_ram, self._counters)
        self.parameters = ParameterFetch(topology, weight_ram)
        issued = queue_of(instructions, Queue.ARRAY)
        self.array = Array(topology, issued, self._rams, self.output, self.parameters, self._counters)
        self.registers: list[tuple[Words, Words]] = []
        self.hangs = False
        self._observes = observes

    def run(self) -> None:
        """Go on until all is done, or nothing can happen any more."""
        cycle = 0
        while not self.done and not self.hangs:
            self._cycle(cycle)
            self.hangs = not self.done and not self._goes_on(cycle)
            cycle += 1

    def _cycle(self, cycle: int) -> None:
        """One cycle: who goes first at the ports is asked first."""
        array = self.array
        if self._observes:
            self.registers.append((array.mux, array.sums))
        self.dma_in.act(cycle)
        self.dma_out.act(cycle)
        self.output.act(cycle, array.sums, array.mux)
        array.act(cycle)
        self.parameters.act(cycle)
        for unit in (*self._rams, self.dma_out, self.output, self.parameters, self._counters):
            unit.commit()

    @property
    def done(self) -> bool:
        units = (self.dma_in, self.dma_out, self.output, self.parameters)
        return self.array.halted and all(unit.done for unit in units)

    def _goes_on(self, cycle: int) -> bool:
        """Whether something happened in ``cycle``, or is on its way."""
        moves = self.dma_in.is_moving or self.dma_out.is_moving or not (self.output.done and self.parameters.done)
        array, output = self.array, self.output
        last = max(array.last_issue, output.last_write, self.dma_in.last_write, self.dma_out.last_sent)
        return moves or max(last, self.parameters.last_read) == cycle

    @property
    def cycles(self) -> int:
        """How long the section is: up to the end of what was done last, at least a cycle."""
        ends = (self.output.last_write, self.dma_in.last_write, self.dma_out.last_sent, self.parameters.last_read)
        return max(1, self.array.last_issue + 2 if self.array.last_issue >= 0 else 1, *(end + 1 for end in ends))

    @property
    def accounts(self) -> list[Account]:
        queues = [self.array.account, self.dma_in.account, self.dma_out.account]
        return [*queues, self.output.account, self.parameters.account, *(link.account for link in self.links)]
