"""What the host sends to the chip in a section of a program, in order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TypeAlias

import simpy
from msgspec import Struct

from tilesim.sim.core.clock import Clock
from tilesim.sim.core.memory import Bytes, Memory
from tilesim.tiled.isa.model.instructions import Infeed, Instruction, program_bytes
from tilesim.tiled.topology import Topology

REQUEST, PROGRAM = "request", "instructions"
"""What a timeline calls the time before a request's first byte, and its instructions on their way."""


class MadeRows(Struct, eq=False):
    """The rows of a tensor, called ``name``, that the host has yet to make: there once ``rows`` are."""

    name: str
    rows: Sequence[Bytes] = ()
    _there: simpy.Event | None = None

    def wait(self, clock: Clock) -> simpy.Event:
        """For the rows to be there."""
        self._there = self._there or clock.event()
        return self._there

    def put(self, rows: Sequence[Bytes], clock: Clock) -> None:
        """They are made now."""
        self.rows = rows
        self.wait(clock).succeed()


class MadeRow(Struct, frozen=True):
    """One of the rows that the host has yet to make."""

    made: MadeRows
    number: int


Content: TypeAlias = Bytes | MadeRow
"""A row, (samples, row bytes), or one that is yet to be made."""


class HostRow(Struct, frozen=True):
    """A row of the host's, and how many bytes of it the link carries."""

    data: Content
    link_bytes: int


class Sending(Struct, frozen=True):
    """A row for an infeed, named by its label; or the instructions of a request; or, before those, the time of a
    request, in which nothing is sent.
    """

    label: str
    size_bytes: int = 0
    row: Content | None = None
    pause_cycles: int = 0


def takes_from_host(op: Infeed, topology: Topology) -> bool:
    """Whether the rows of an infeed come over the host's link."""
    return op.source == "host" or (op.source == "data" and topology.host.sends_parameters)


def sendings(
    rows: Iterable[HostRow],
    instructions: Sequence[Instruction],
    begins: Collection[str],
    topology: Topology,
    data_memory: Memory,
) -> Iterator[Sending]:
    """For each request its time, its instructions and the rows that its infeeds take: of the host's ``rows``, and of
    ``data_memory`` where that is the host's. Behind each of the scalar fences ``begins`` begins another request.
    """
    left = iter(rows)
    for request in requests(instructions, begins):
        if topology.request_cycles:
            yield Sending(REQUEST, pause_cycles=topology.request_cycles)
        if topology.host.announces_requests:
            yield Sending(PROGRAM, program_bytes(request) if topology.host.sends_instructions else 0)
        for op in request:
            if isinstance(op, Infeed) and takes_from_host(op, topology):
                yield from _rows_for(op, left, topology, data_memory)
    yield from (Sending("", row.link_bytes, row.data) for row in left)  # of which nobody says what takes them


def requests(instructions: Sequence[Instruction], begins: Collection[str]) -> Iterator[Sequence[Instruction]]:
    """The instructions of each request; behind each of the scalar fences ``begins`` begins another."""
    start = 0
    for place, op in enumerate(instructions if begins else (), 1):
        if op.label and op.label in begins:
            yield instructions[start:place]
            start = place
    if instructions[start:]:
        yield instructions[start:]


def _rows_for(op: Infeed, left: Iterator[HostRow], topology: Topology, data_memory: Memory) -> Iterator[Sending]:
    row_bytes = topology.wide_memory.row_bytes
    for number in range(op.total_rows):
        if op.source == "data":
            start = op.address + number * row_bytes
            data_memory.check(start, start + row_bytes)
            yield Sending(op.label, row_bytes, data_memory.bytes[:, start : start + row_bytes])
        elif (row := next(left, None)) is not None:
            yield Sending(op.label, row.link_bytes, row.data)
