"""The controller's infeed: puts rows of the host, of data memory or of the ring's end on the ring."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from functools import partial
from math import ceil

from tilesim.tiled.isa.model.instructions import Infeed
from tilesim.tiled.stepped.core import CREDIT, FIFO, FLAG, HOST, Clock, Fifo, Thread, UnitAccount
from tilesim.tiled.stepped.memory import Bytes, Memory
from tilesim.tiled.stepped.ring import Packet, RingStop, SentTransfer
from tilesim.tiled.topology import Topology

FORWARDED_ROWS = 2


class InfeedEngine(Thread):
    """One instruction after the other, its rows one after the other; those of the host's data memory come as all that
    it sends.

    Timing: a row from data memory takes ceil(row bytes / bytes_per_cycle) cycles to read, and to enter the ring as many
    as it has parts; any other one the latter alone, from the cycle on in which it is there. ``passed`` counts the tails
    that have passed its stop, each in the cycle after.
    """

    def __init__(
        self,
        clock: Clock,
        account: UnitAccount,
        topology: Topology,
        memory: Memory,
        host: Fifo[Bytes],
        stops: list[RingStop],
    ) -> None:
        self.buffer: Fifo[Infeed] = Fifo(clock, topology.instruction_bus.buffer_depth)
        self.forwarded: Fifo[Bytes] = Fifo(clock, FORWARDED_ROWS)
        self.passed = [0, 0]
        self.awaits_turn = False
        self._passing = [0, 0]
        self._row_bytes = topology.wide_memory.row_bytes
        self._read_cycles = ceil(self._row_bytes / topology.data_memory.bytes_per_cycle)
        self._sends_parameters = topology.host.sends_parameters
        self._memory = memory
        self._host = host
        self._stops = stops
        for stop in stops:
            stop.on_tail = partial(self._count, stop.channel)
        self._stop = stops[0]
        super().__init__(clock, account)

    def _count(self, channel: int) -> None:
        self._passing[channel] += 1

    def life(self) -> Iterator[str]:
        while True:
            op: Infeed = yield from self.next_of(self.buffer)
            self._stop = self._stops[op.channel == "b"]
            while self.passed[self._stop.channel] < op.turn:
                self.awaits_turn = True
                yield FLAG
            self.awaits_turn = False
            yield from self._send(op)

    def _send(self, op: Infeed) -> Iterator[str]:
        for k in range(op.transfers):
            transfer = SentTransfer(op.label)
            for place in range(op.rows):
                row = yield from self._row(op, k * op.rows + place)
                yield from self._stop.sending(Packet(op.to << k, row, place == op.rows - 1, transfer))

    def _row(self, op: Infeed, number: int) -> Generator[str, None, Bytes]:
        if op.source == "data" and not self._sends_parameters:
            yield from self.spend(self._read_cycles)
            return self._memory.read(op.address + number * self._row_bytes, self._row_bytes)
        queue, kind = (self.forwarded, FIFO) if op.source == "ring" else (self._host, HOST)
        while queue.head() is None:
            yield kind
        return queue.take()

    def commit(self) -> None:
        self.acted = self._kind == CREDIT and self._stop.takes
        self.passed = [before + more for before, more in zip(self.passed, self._passing, strict=True)]
        self._passing = [0, 0]
        super().commit()
