"""What goes over the host's links: how many bytes, and how long that takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice, repeat

from msgspec import Struct

from tilesim.tiled.isa.model.by_type import ByType
from tilesim.tiled.isa.model.instructions import Infeed, Instruction, Outfeed, program_bytes
from tilesim.tiled.isa.model.program import GivenTensor, HostTensor, Program, awaited_by_step
from tilesim.tiled.topology import Topology
from tilesim.tiled.units.host.sendings import PROGRAM, REQUEST, requests, takes_from_host


class Sent(Struct, frozen=True):
    """What the host sends for a layer (-1: none): a row, or a request's instructions, or nothing in its time."""

    layer: int
    size_bytes: int
    is_row: bool = True
    pause_cycles: int = 0
    label: str = ""
    """What a timeline calls it: rows are named by their infeed."""
    step: int = 0
    """The number, from 1 on, of the host's step that makes it; 0: none has to."""


def sent(program: Program, section: Sequence[Instruction]) -> Iterator[Sent]:
    """What the host sends in a section of a program, in order."""
    topology, row_bytes = program.topology, program.topology.wide_memory.row_bytes
    left = iter(_own_rows(program) if section is program.run else ())
    begins = {request.begins for request in program.requests if request.begins}
    for request in requests(section, begins):
        if topology.request_cycles:
            yield Sent(-1, 0, False, topology.request_cycles, REQUEST)
        if topology.host.announces_requests:
            size_bytes = program_bytes(request) if topology.host.sends_instructions else 0
            yield Sent(-1, size_bytes, is_row=False, label=PROGRAM)
        for op in request:
            if isinstance(op, Infeed) and takes_from_host(op, topology):
                rows = repeat((row_bytes, 0), op.total_rows) if op.source == "data" else islice(left, op.total_rows)
                yield from (Sent(op.layer, size, label=op.label, step=step) for size, step in rows)
    yield from (Sent(-1, size, step=step) for size, step in left)


def _own_rows(program: Program) -> Iterator[tuple[int, int]]:
    """The bytes of each of the host's own rows, and the number of the step that makes it."""
    makers = {step.makes: number for number, step in enumerate(program.steps, 1)}
    for tensor in program.sent:
        step = makers[tensor.index] if isinstance(tensor, GivenTensor) else 0
        yield from zip(_sizes([tensor], program.topology), repeat(step))


def last_rows(program: Program) -> dict[int, int]:
    """How many of all rows that leave for the host have come with the last one of each output."""
    last, count = {}, 0
    for place, op in program.once(ByType).of(Outfeed):
        if place >= len(program.load):
            count += op.rows
            last[op.output] = count
    return last


def step_rows(program: Program) -> list[int]:
    """How many of them must have come for each of the host's steps."""
    last = last_rows(program)
    return [max((last[output] for output in awaited), default=0) for _, awaited in awaited_by_step(program)]


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
