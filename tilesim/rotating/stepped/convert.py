"""What an out makes of accumulators, and which words of a row it writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.add import add
from tilesim.arithmetic.multiply import multiply
from tilesim.arithmetic.requantise import requantise, saturate
from tilesim.rotating.isa.model.instructions import Function, Mask, Out, Set
from tilesim.rotating.stepped.memory import Bytes, Words, bytes_of, with_sign, words_of
from tilesim.rotating.stepped.parameters import ParameterSet
from tilesim.rotating.topology import RAW_ROWS, Topology

INT32 = np.iinfo(np.int32)


@dataclass(frozen=True)
class Job:
    """An out with everything that it takes along when it is issued."""

    op: Out
    row: int
    control: Set
    mask: Mask
    parameters: ParameterSet | None
    table: NDArray[np.int64] | None

    @property
    def rows(self) -> int:
        """Rows that it writes."""
        return RAW_ROWS if self.op.function is Function.RAW else 1


def converted(job: Job, sums: Words, mux: Words, topology: Topology) -> list[Words]:
    """The words of each row that ``job`` writes, of all units."""
    match job.op.function:
        case Function.REQUANTISE:
            return [_requantised(job, sums)]
        case Function.RAW:
            return [(sums >> (8 * k)) & 0xFF for k in range(RAW_ROWS - 1)] + [with_sign(sums >> 24, 8)]
        case Function.COMBINE:
            return [_combined(job.control, sums, mux, topology.units.word_bits)]
        case Function.LOOKUP:
            assert job.table is not None
            return [job.table[sums & 0xFF]]


def _requantised(job: Job, sums: Words) -> Words:
    parameters, control = job.parameters, job.control
    assert parameters is not None
    biased = np.clip(sums + parameters.bias, INT32.min, INT32.max).astype(np.int32)
    scaled = requantise(control.rule, biased, parameters.multiplier, parameters.shift)
    return saturate(scaled, control.zero_point, control.clamp, np.int64)


def _combined(control: Set, sums: Words, mux: Words, word_bits: int) -> Words:
    dtype = np.int16 if word_bits == 16 else {"signed": np.int8, "unsigned": np.uint8}[control.data]
    operation: Callable[..., NDArray[np.int32]] = {"add": add, "multiply": multiply}[control.combine]
    result = operation(control.rule, sums.astype(dtype), mux.astype(dtype), control.scaling)
    return saturate(result, 0, control.clamp, np.int64)


def written(job: Job, words: Words, before: Bytes, topology: Topology) -> Bytes:
    """The row that ``job`` leaves where ``before`` stood."""
    bits = topology.units.word_bits
    sources, targets = places(job, topology.units.count)
    row = words_of(before, bits) if job.op.outside == "keep" else np.full(topology.units.count, job.op.fill)
    row[targets] = words[sources]
    return bytes_of(row, bits)


def places(job: Job, units: int) -> tuple[list[int], list[int]]:
    """The words that the mask names, and where each is written."""
    mask, place = job.mask, job.op.place
    if not mask.count:
        mask = Mask(block=units, count=units)
    sources, targets = [], []
    for b in range(mask.blocks):
        for i in range(mask.count):
            first, own = mask.offset + b * mask.block, i * mask.stride
            moved = own if place is None else place.slot * (mask.block // place.slots) + i
            sources.append((first + own) % units)
            targets.append((first + moved) % units)
    return sources, targets
