"""What the programs of several networks are together: their parameters in data memory, layers and regions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from tilesim.tiled.isa.model.instructions import WORD_BYTES
from tilesim.tiled.isa.model.program import DataSegment, HostTensor, Layer, Program, Region


def faults(programs: Sequence[Program]) -> Iterator[str]:
    """Why programs can't run on one chip, each of them kept in the controller's memories once."""
    chip = programs[0].topology
    yield from (
        f"{program.name}: must be compiled for the chip of {programs[0].name}, {chip.name}, not for another one"
        for program in programs[1:]
        if program.topology != chip
    )
    words = sum(op.words for program in programs for op in (*program.load, *program.run))
    needs = (
        ("programs", words * WORD_BYTES, "instruction memory", chip.instruction_memory.size_bytes),
        ("parameters", data_starts(programs)[-1], "data memory", chip.data_memory.size_bytes),
    )
    yield from (
        f"the {what} of {len(programs)} networks must fit the {memory} of {have} bytes, not take {need}"
        for what, need, memory, have in needs
        if need > have
    )


def tensors(order: Sequence[int], tensors: Sequence[Sequence[HostTensor]]) -> Iterator[HostTensor]:
    """The inputs or outputs of all requests."""
    for k, number in enumerate(order):
        yield from (replace(tensor, name=f"request{k + 1}.{tensor.name}") for tensor in tensors[number])


def layers(programs: Sequence[Program], times: Mapping[int, int]) -> Iterator[Layer]:
    """What all requests together compute."""
    for number, program in enumerate(programs):
        yield from (replace(layer, macs=layer.macs * times[number], network=program.name) for layer in program.layers)


def segments(programs: Sequence[Program]) -> Iterator[DataSegment]:
    """Data memory holds the parameters of one network after those of the other."""
    for number, (start, program) in enumerate(zip(data_starts(programs), programs, strict=False)):
        for segment in program.data:
            name = segment.name if len(programs) == 1 else f"network{number + 1}.{segment.name}"
            yield replace(segment, name=name, address=segment.address + start)


def data_starts(programs: Sequence[Program]) -> list[int]:
    """Where the data of each program begins, in whole rows, and where the last one's end."""
    row_bytes = programs[0].topology.wide_memory.row_bytes
    ends = (max((segment.address + segment.data.size for segment in program.data), default=0) for program in programs)
    return [0, *accumulate(-(-end // row_bytes) * row_bytes for end in ends)]


def regions(programs: Sequence[Program]) -> tuple[Region, ...]:
    """All, but none of a memory of which a program has none: it may go where it likes."""
    memories = [{region.memory for region in program.regions} for program in programs]
    known = set.intersection(*memories)
    regions = (region for program in programs for region in program.regions if region.memory in known)
    return tuple(dict.fromkeys(regions))


def steps(counts: Sequence[int]) -> list[int]:
    """The first number of each of consecutive runs of so many."""
    return [0, *accumulate(counts)][:-1]
