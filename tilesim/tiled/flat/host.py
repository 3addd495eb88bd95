"""What goes over the host's links: how many bytes, and how long that takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, repeat
from typing import NamedTuple

from tilesim.tiled.isa.model.instructions import Infeed, Instruction, Outfeed, program_bytes
from tilesim.tiled.isa.model.program import HostTensor, Program
from tilesim.tiled.topology import Topology
from tilesim.tiled.units.host.sendings import PROGRAM, REQUEST, requests, takes_from_host


class Sent(NamedTuple):
    """What the host sends for a layer (-1: none): a row, or a request's instructions, or nothing in its time."""

    layer: int
    size_bytes: int
    is_row: bool = True
    pause_cycles: int = 0
    label: str = ""
    """What a timeline calls it: rows are named by their infeed."""


def sent(program: Program, section: Sequence[Instruction]) -> Iterator[Sent]:
    """What the host sends in a section of a program, in order."""
    topology, row_bytes = program.topology, program.topology.wide_memory.row_bytes
    left = iter(_sizes(program.sent, topology)) if section is program.run else iter(())
    begins = {request.begins for request in program.requests if request.begins}
    for request in requests(section, begins):
        if topology.request_cycles:
            yield Sent(-1, 0, False, topology.request_cycles, REQUEST)
        if topology.host.announces_requests:
            size_bytes = program_bytes(request) if topology.host.sends_instructions else 0
            yield Sent(-1, size_bytes, is_row=False, label=PROGRAM)
        for op in request:
            if isinstance(op, Infeed) and takes_from_host(op, topology):
                sizes = repeat(row_bytes) if op.source == "data" else left
                rows = zip(range(op.total_rows), sizes, strict=False)
                yield from (Sent(op.layer, size, label=op.label) for _, size in rows)
    yield from (Sent(-1, size) for size in left)


class Outgoing:
    """The bytes of each output's rows, of which outfeeds take the next ones."""

    def __init__(self, program: Program) -> None:
        self._row_bytes = program.topology.wide_memory.row_bytes
        self._left = [iter(_sizes([tensor], program.topology)) for tensor in program.leaving]

    def sizes(self, op: Outfeed) -> list[int]:
        return [next(self._left[op.output], self._row_bytes) for _ in range(op.rows)]


def _sizes(tensors: Sequence[HostTensor], topology: Topology) -> Iterator[int]:
    """The bytes of each row that a link carries."""
    row_bytes = topology.wide_memory.row_bytes
    if topology.host.sends_padding:
        return repeat(row_bytes, sum(tensor.rows for tensor in tensors))
    return chain.from_iterable(tensor.own_bytes(row_bytes) for tensor in tensors)


def owed(size_bytes: int, per_second: int, topology: Topology) -> int:
    """What bytes owe a link, of which each cycle pays as many as the link carries a second, or 1."""
    return size_bytes * topology.clock_hz if per_second else -(-size_bytes // topology.host.bytes_per_cycle)
