"""The host interface: activation rows in, result rows out, each way with its own bandwidth and a latency."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from msgspec import Struct

from tilesim.tiled.isa.model.instructions import Infeed, Instruction, program_bytes
from tilesim.tiled.isa.model.program import DataSegment
from tilesim.tiled.stepped.core import BUSY, FIFO, HOST, IDLE, Clock, Fifo, Thread, UnitAccount
from tilesim.tiled.stepped.host_driver import HostRow, HostSide
from tilesim.tiled.stepped.memory import Bytes, Memory
from tilesim.tiled.topology import Topology

QUEUED_ROWS = 8
"""Rows that may wait at the controller beside those in data memory and on their way."""


class Link:
    """One way of the host's link, cycle by cycle. What is left of the last cycle of bytes is the next ones', if they
    follow at once.

    Timing: of ``per_second`` bytes a second each byte owes clock_hz, of which a cycle pays as many; of bytes a cycle
    they owe whole cycles.
    """

    def __init__(self, clock: Clock, topology: Topology, per_second: int) -> None:
        self._clock = clock
        self._per_cycle = topology.host.bytes_per_cycle
        self._byte_owes = topology.clock_hz if per_second else 0
        self._paid = per_second or 1
        self._owed = 0
        self._until = -1

    def occupied_cycles(self, size_bytes: int) -> int:
        """Bytes that the link begins with now: how many cycles pass meanwhile."""
        if self._clock.cycle != self._until:
            self._owed = 0
        self._owed += size_bytes * self._byte_owes or -(-size_bytes // self._per_cycle)
        cycles, self._owed = divmod(self._owed, self._paid)
        self._until = self._clock.cycle + cycles
        return cycles

    @property
    def late_cycles(self) -> int:
        """How much later than the cycle in which they end the bytes are through: the next one, but for whole cycles."""
        return int(self._owed > 0)


class _Sent(Struct, frozen=True):
    """What the host sends: a row, or, without one, so many bytes of instructions, behind the time of a request."""

    label: str
    size_bytes: int
    row: HostRow | None = None
    request_cycles: int = 0


class HostInfeed(Thread):
    """Sends rows one after the other, each once there is a place for it in the queue at the controller; before them,
    if the chip's keys say so, the time of the request and its instructions.

    Timing: a row that is sent from cycle t on is there latency_cycles after the link has carried it. ``programs``
    counts the programs that are there, each from the cycle on in which a row would be.
    """

    def __init__(
        self, clock: Clock, account: UnitAccount, topology: Topology, data: tuple[DataSegment, ...], memory: Memory
    ) -> None:
        self._topology = topology
        self._memory = memory
        self._sent: deque[_Sent] = deque()
        self._link = Link(clock, topology, topology.host.to_chip_bytes_per_second)
        self._side: HostSide | None = None
        self._arrivals: list[int] = []
        self.own_bytes: deque[int] = deque()
        """How many bytes of each of the next rows the link carries, if not all."""
        self.queue: Fifo[Bytes] = Fifo(clock, _places(topology, data))
        super().__init__(clock, account)

    @property
    def programs(self) -> int:
        """How many programs have come by now."""
        return sum(cycle <= self.clock.cycle for cycle in self._arrivals)

    def start(
        self, rows: Sequence[HostRow], instructions: tuple[Instruction, ...], side: HostSide | None = None
    ) -> None:
        """Send ``rows``, and from data memory if that is the host's; those of ``instructions`` that take them only name
        them. The ``side`` of the host knows of rows whether they are made.
        """
        self._side = side
        self._sent.extend(self._request(instructions) if instructions else ())
        left = deque(rows)
        for op in instructions:
            if isinstance(op, Infeed) and op.source == "host":
                self._sent.extend(self._row(op.label, left.popleft()) for _ in range(min(op.total_rows, len(left))))
            elif isinstance(op, Infeed) and op.source == "data" and self._topology.host.sends_parameters:
                self._sent.extend(_Sent(op.label, row.size, row) for row in self._stored(op))
        self._sent.extend(self._row("", row) for row in left)

    def _row(self, label: str, row: HostRow) -> _Sent:
        row_bytes = self._topology.wide_memory.row_bytes
        return _Sent(label, self.own_bytes.popleft() if self.own_bytes else row_bytes, row)

    def _request(self, instructions: tuple[Instruction, ...]) -> Iterator[_Sent]:
        host = self._topology.host
        if host.sends_instructions or host.request_ns:
            size_bytes = program_bytes(instructions) if host.sends_instructions else 0
            cycles = -(-host.request_ns * self._topology.clock_hz // 1_000_000_000)
            yield _Sent("instructions", size_bytes, request_cycles=cycles)

    def _stored(self, op: Infeed) -> Iterator[Bytes]:
        row_bytes = self._topology.wide_memory.row_bytes
        return (self._memory.read(op.address + k * row_bytes, row_bytes) for k in range(op.total_rows))

    def life(self) -> Iterator[str]:
        while True:
            self.label = ""
            while not self._sent:
                yield IDLE
            sent = self._sent.popleft()
            yield from self._announce(sent) if sent.row is None else self._send(sent, sent.row)

    def _announce(self, sent: _Sent) -> Iterator[str]:
        self.label = "request"
        yield from self.spend(sent.request_cycles, HOST)
        yield from self._carry(sent)
        later_cycles = self._topology.host.latency_cycles + self._link.late_cycles
        self._arrivals.append(self.clock.cycle + later_cycles)
        self.clock.stir(later_cycles)

    def _send(self, sent: _Sent, waiting: HostRow) -> Iterator[str]:
        self.label = sent.label
        row = waiting if self._side is None else self._side.row(waiting)
        while row is None:
            yield HOST
            assert self._side is not None
            row = self._side.row(waiting)
        assert not isinstance(row, tuple)
        while not self.queue.room():
            yield FIFO
        self.queue.reserve()
        yield from self._carry(sent)
        self.queue.put(row, self._topology.host.latency_cycles + self._link.late_cycles)

    def _carry(self, sent: _Sent) -> Iterator[str]:
        self.label = sent.label
        yield from self.spend(self._link.occupied_cycles(sent.size_bytes))


class HostOutfeed:
    """Takes the rows of results that the controller's outfeed sends, and keeps their account.

    Timing: a row is at the host latency_cycles after the link has carried it.
    """

    def __init__(self, clock: Clock, account: UnitAccount, topology: Topology) -> None:
        self.received: dict[int, list[Bytes]] = {}
        self.last_arrival = 0
        self.arrivals: dict[int, int] = {}
        self.own_bytes: dict[int, deque[int]] = {}
        """How many bytes of each of an output's next rows the link carries, if not all."""
        self._clock = clock
        self._account = account
        self._link = Link(clock, topology, topology.host.from_chip_bytes_per_second)
        self._latency_cycles = topology.host.latency_cycles

    def carry(self, output: int, row: Bytes, label: str) -> Iterator[str]:
        """The cycles in which the link is occupied by a row."""
        left = self.own_bytes.get(output)
        for _ in range(self._link.occupied_cycles(left.popleft() if left else row.size)):
            self._account.note(self._clock.cycle, BUSY, label)
            self._account.note(self._clock.cycle + 1, IDLE)
            yield BUSY

    def receive(self, output: int, row: Bytes) -> None:
        """A row has left the link by now."""
        self.received.setdefault(output, []).append(row)
        there = self._clock.cycle + self._latency_cycles + self._link.late_cycles
        self.arrivals[output] = there
        self.last_arrival = max(self.last_arrival, there)


def _places(topology: Topology, data: tuple[DataSegment, ...]) -> int:
    """Rows that may be on their way or wait: for those there is room in data memory, if that is the chip's."""
    row_bytes, rate = topology.wide_memory.row_bytes, topology.host.to_chip_bytes_per_second
    if rate:
        on_way = topology.host.latency_cycles * rate // (row_bytes * topology.clock_hz)
    else:
        on_way = topology.host.latency_cycles // -(-row_bytes // topology.host.bytes_per_cycle)
    if topology.host.sends_parameters:
        return QUEUED_ROWS + on_way
    parameter_bytes = max((segment.address + segment.data.size for segment in data), default=0)
    return QUEUED_ROWS + on_way + (topology.data_memory.size_bytes - parameter_bytes) // row_bytes
