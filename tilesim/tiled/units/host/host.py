"""The host interface: activation rows in, result rows out, each way with its own bandwidth and a latency."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, repeat

import numpy as np

from tilesim.sim.core.clock import Clock, Work
from tilesim.sim.core.fifo import Fifo
from tilesim.sim.core.memory import Bytes, Memory, joined
from tilesim.sim.core.unit import BUSY, Reason, Unit
from tilesim.tiled.isa.model.instructions import Instruction
from tilesim.tiled.topology import Topology
from tilesim.tiled.units.host.link import HostLink
from tilesim.tiled.units.host.sendings import Content, HostRow, MadeRow, Sending, sendings

QUEUED_ROWS = 8
"""Rows that may wait at the controller for an infeed beside those in data memory and on their way. Assumption."""


class HostInfeed:
    """Sends rows for infeeds, in the order in which these are issued, from the first cycle of the run on; rows of later
    inferences wait at the controller until their time has come. Where the chip's keys say so, the time of a request
    goes before its rows (``host.request_ns``), and then its instructions, for which the controller waits
    (``host.sends_instructions``); parameters come with the rows (``host.sends_parameters``). Rows of what the host's
    processor has yet to make, and all behind them, wait for that.

    Timing: a row of r bytes is at the controller latency_cycles after the link has carried it (:class:`HostLink`; of a
    rate a cycle, row k at (k + 1) * ceil(r / bytes_per_cycle) + latency_cycles), if there is a place in the queue,
    which is as long as data memory has room beside parameters, if it is the chip's. Where the chip adds the pads of
    activations (``host.sends_padding: false``, :meth:`own`), r counts the row's other bytes. The time of a request is
    ceil(request_ns * clock_hz / 10^9); its instructions are there as a row would be, all at once, and ``on_program``
    hears of it. Source: US 19/025,090 [0058]; bandwidth, latency, queue and order are assumptions, and so is that
    passing through data memory takes no time.
    """

    def __init__(self, clock: Clock, unit: Unit, topology: Topology, data_memory: Memory) -> None:
        row_cycles = topology.to_chip_cycles(topology.wide_memory.row_bytes)
        self.rows: Fifo[Bytes] = Fifo(clock, QUEUED_ROWS + topology.host.latency_cycles // row_cycles)
        self.unit = unit
        self.on_program: Callable[[], None] = _nobody_waits
        self._data_memory = data_memory
        self._topology = topology
        self._clock = clock
        self._link = HostLink(topology.to_chip_cycles)
        self._own_bytes: Sequence[int] = ()

    def share(self, parameter_bytes: int) -> None:
        """Leave the first bytes of data memory to parameters, and queue rows in the others."""
        if not self._topology.host.sends_parameters:
            memory_bytes, row_bytes = self._topology.data_memory.size_bytes, self._topology.wide_memory.row_bytes
            self.rows.depth += (memory_bytes - parameter_bytes) // row_bytes

    def own(self, own_bytes: Sequence[int]) -> None:
        """So many bytes of each of the host's rows are no pads."""
        self._own_bytes = () if self._topology.host.sends_padding else own_bytes

    def start(
        self, rows: Sequence[Content], instructions: Sequence[Instruction] = (), begins: Collection[str] = ()
    ) -> None:
        """Send ``rows``, and what else the infeeds among ``instructions`` take. Behind each of the scalar fences
        ``begins`` another request begins.
        """
        link_bytes = chain(self._own_bytes, repeat(self._topology.wide_memory.row_bytes))
        host_rows = [HostRow(row, size) for row, size in zip(rows, link_bytes, strict=False)]
        sent = sendings(host_rows, instructions, begins, self._topology, self._data_memory)
        self._clock.process(self._work(sent))

    def _work(self, sent: Iterator[Sending]) -> Work:
        for sending in sent:
            self.unit.instruction, row = sending.label, sending.row
            if isinstance(row, MadeRow):
                if not row.made.rows:
                    yield from self.unit.wait(row.made.wait(self._clock), Reason.HOST, partial(_words, row))
                row = row.made.rows[row.number]
            if row is not None:
                room = self.rows.room()
                yield from self.unit.wait(room, Reason.FIFO, lambda: "an infeed to take the activations that it sent")
            end, there = self._carry(sending, self._clock.cycle)
            yield self._clock.timeout(end - self._clock.cycle)
            self._account(sending, end)
            if row is not None:
                self._at(there, partial(self.rows.put, row))
            elif not sending.pause_cycles:
                self._at(there, self.on_program)

    def _carry(self, sending: Sending, cycle: int) -> tuple[int, int]:
        """The cycle in which it has left the host, and that from which on it is at the controller."""
        if sending.pause_cycles:
            return cycle + sending.pause_cycles, cycle + sending.pause_cycles
        end, there = self._link.carry(cycle, sending.size_bytes)
        return end, there + self._topology.host.latency_cycles

    def _account(self, sending: Sending, end: int) -> None:
        self.unit.spend(Reason.HOST.kind if sending.pause_cycles else BUSY, end, sending.size_bytes)

    def _at(self, cycle: int, arrive: Callable[[], None]) -> None:
        self._clock.timeout(cycle - self._clock.cycle).callbacks.append(lambda _: arrive())


class HostOutfeed:
    """Takes rows of results.

    Timing: a row is at the host latency_cycles after the link has carried it (:class:`HostLink`; of a rate a cycle, in
    ceil(r / bytes_per_cycle) cycles for r bytes). It carries no pads if the chip drops them (``host.sends_padding:
    false``, :meth:`own`).
    """

    def __init__(self, clock: Clock, unit: Unit, topology: Topology, samples: int) -> None:
        self.unit = unit
        self.received: dict[int, list[Bytes]] = {}
        self.arrivals: dict[int, int] = {}
        self._clock = clock
        self._latency_cycles = topology.host.latency_cycles
        self._link = HostLink(topology.from_chip_cycles)
        self._sends_padding = topology.host.sends_padding
        self._own_bytes: Mapping[int, Sequence[int]] = {}
        self._samples = samples
        self.on_row: Callable[[int, int], None] = _nobody_takes
        """Hears of each row, by its output, and when it is there."""

    def own(self, own_bytes: Mapping[int, Sequence[int]]) -> None:
        """So many bytes of each row of an output are no pads."""
        self._own_bytes = {} if self._sends_padding else own_bytes

    def receive(self, output: int, row: Bytes, sender: str, instant: bool = False) -> Work:
        """Carry one row of output number ``output`` over the link for the outfeed ``sender``, in no time if that is
        ``instant``.
        """
        self.unit.spend("idle")
        self.unit.instruction = sender
        there = self._clock.cycle
        rows = self.received.setdefault(output, [])
        own_bytes = self._own_bytes.get(output, ())
        link_bytes = own_bytes[len(rows)] if len(rows) < len(own_bytes) else row.shape[1]
        if not instant:
            end, through = self._link.carry(there, link_bytes)
            yield self._clock.timeout(end - there)
            there = through + self._latency_cycles
        self.unit.spend(BUSY, moved_bytes=link_bytes)
        self.arrivals[output] = there
        self.on_row(output, there)
        rows.append(row)

    @property
    def last_arrival(self) -> int:
        """The cycle in which the last row was at the host."""
        return self.arrival(self.arrivals)

    def arrival(self, outputs: Iterable[int]) -> int:
        """The cycle in which the last row of some outputs was at the host; 0 if there is none."""
        return max((self.arrivals[output] for output in outputs if output in self.arrivals), default=0)

    def output(self, output: int) -> Bytes:
        """All bytes of one output, (samples, bytes)."""
        rows = joined(self.received[output])
        return np.broadcast_to(rows, (self._samples, rows.shape[1]))


def _nobody_waits() -> None:
    """For a request's instructions."""


def _nobody_takes(_output: int, _cycle: int) -> None:
    """Rows of results, while others come."""


def _words(row: MadeRow) -> str:
    return f"the host to have made {row.made.name}"
