"""Static checks of a program: what no hardware could run, found before the run."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import accumulate
from math import prod

from tilesim.machines.program import where
from tilesim.systolic.isa.checks.deadlock import Deadlock
from tilesim.systolic.isa.checks.fields import field_faults
from tilesim.systolic.isa.checks.footprints import ACCUMULATORS, BUFFER, SIZES, WEIGHTS, MemoryAccess, accesses
from tilesim.systolic.isa.checks.host import batching_faults, tensor_faults
from tilesim.systolic.isa.checks.untimed import UntimedExecution
from tilesim.systolic.isa.encoding import range_faults
from tilesim.systolic.isa.model.instructions import Instruction, MatrixMultiply, Queue, ReadWeights, Sync
from tilesim.systolic.isa.model.program import Program


def faults(program: Program) -> list[str]:
    """Everything that is wrong with ``program``, one sentence each; empty when it is sound.

    A fault names the instruction by its label or its place (``run[3] activate``). A program without a halt is sound,
    and hangs; whether syncs order what must be ordered, :func:`tilesim.systolic.isa.checks.hazards.hazards` says.
    """
    sentences = [*tensor_faults(program), *batching_faults(program)]
    sizes = _sizes(program)
    for name, section in sections(program):
        for place, op in enumerate(section):
            sentences += (f"{where(name, place, op)}: {fault}" for fault in _instruction_faults(op, program, sizes))
        sentences += _count_faults(name, section)
    if not sentences:
        sentences += _weight_faults(program)
    for name, section in sections(program) if not sentences else ():
        execution = UntimedExecution(section, program.topology)
        sentences += Deadlock(name, section, program.topology, execution.stuck, execution.issued).sentences()
    return sentences


def sections(program: Program) -> tuple[tuple[str, tuple[Instruction, ...]], ...]:
    """The sections of a program by name, in the order in which they run."""
    return ("load", program.load), ("run", program.run)


def _sizes(program: Program) -> dict[str, int]:
    """What every memory holds, the host's included: bytes, or entries."""
    topology = program.topology
    ends = [("input", program.inputs), ("output", program.outputs)]
    return {
        BUFFER: topology.unified_buffer.size_bytes,
        WEIGHTS: topology.weight_memory.size_bytes,
        ACCUMULATORS: topology.accumulators.entries,
        **{
            f"{way} {place}": SIZES.get(tensor.element, 1) * prod(tensor.shape)
            for way, tensors in ends
            for place, tensor in enumerate(tensors)
        },
        **{f"data {place}": segment.data.size for place, segment in enumerate(program.data)},
    }


def _instruction_faults(op: Instruction, program: Program, sizes: dict[str, int]) -> Iterator[str]:
    ranges = list(range_faults(op))
    yield from ranges
    if not -1 <= op.layer < len(program.layers):
        yield f"layer must be -1 to {len(program.layers) - 1}, not {op.layer}"
    if not ranges:
        shapes = list(field_faults(op, program.topology))
        yield from shapes
        if not shapes:
            yield from _footprint_faults(accesses(op, program.topology), sizes)


def _footprint_faults(touched: Iterable[MemoryAccess], sizes: dict[str, int]) -> Iterator[str]:
    for access in touched:
        size, footprint = sizes.get(access.memory), access.footprint
        if size is None:
            kind = access.memory.split()[0]
            number = sum(name.startswith(f"{kind} ") for name in sizes)
            yield f"tensor must be one of {number} of {kind}, not {access.memory}"
        elif not 0 <= footprint.first <= footprint.end <= size:
            has = f"which ha{'ve' if access.memory == ACCUMULATORS else 's'} {size}"
            kept = span(access.memory, footprint.first, footprint.end)
            yield f"{access.field} must keep {kept} inside {access.memory}, {has}"


def span(memory: str, first: int, end: int) -> str:
    """A part of a memory in words, up to ``end``."""
    return f"entries {first} to {end - 1}" if memory == ACCUMULATORS else f"bytes {first:#x} to {end - 1:#x}"


def _count_faults(name: str, section: tuple[Instruction, ...]) -> Iterator[str]:
    """Syncs for more than there is, or for themselves, and what stands behind a halt."""
    totals = {unit: sum(op.queue is unit for op in section) for unit in Queue}
    before = dict.fromkeys(Queue, 0)
    halted = False
    for place, op in enumerate(section):
        here = where(name, place, op)
        if halted:
            yield f"{here}: must not stand behind a halt, where nothing runs"
            return
        if isinstance(op, Sync):
            most = before[op.unit] if op.until is op.unit else totals[op.until]
            if op.count > most:
                own = "before it " if op.until is op.unit else ""
                what = f"the instructions of {op.until} {own}in the section"
                yield f"{here}: count must be at most {most}, {what}, not {op.count}"
        if op.queue is not None:
            before[op.queue] += 1
        halted = op.mnemonic == "halt"


def _weight_faults(program: Program) -> Iterator[str]:
    """The k-th switch takes the k-th tile that is fetched."""
    fetches = [
        (where(name, place, op), op)
        for name, section in sections(program)
        for place, op in enumerate(section)
        if isinstance(op, ReadWeights)
    ]
    ends = list(accumulate(op.tiles for _, op in fetches))
    taken = 0
    for name, section in sections(program):
        for place, op in enumerate(section):
            if isinstance(op, MatrixMultiply):
                taken += op.switch
                fetch = bisect_left(ends, taken)
                here = where(name, place, op)
                if not taken:
                    yield f"{here}: switch must be true, for the array has no weights yet"
                elif fetch == len(ends):
                    there = ends[-1] if ends else 0
                    yield f"{here}: must have a tile of weights, and takes number {taken} of {there} that are fetched"
                elif (size := fetches[fetch][1].weight_bytes) != SIZES[op.weights]:
                    source = fetches[fetch][0]
                    yield f"{here}: weights must be of {size} bytes, as {source} fetches tile {taken}, not {op.weights}"
