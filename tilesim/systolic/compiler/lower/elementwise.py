"""Layers that work element by element, where tensors lie: look-ups, other scales, sums and products of two,
normalisation, softmax.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod

from tilesim.arithmetic.softmax import softmax_scaling
from tilesim.network.operators import Add, Multiply, Normalise, Rescale, Softmax, Subtract, Table
from tilesim.systolic.compiler.boxes import Strided, broadcast, nests, together
from tilesim.systolic.compiler.call import ArrayTraits, TaskCall
from tilesim.systolic.compiler.task import element_of
from tilesim.systolic.isa.model import instructions as isa

MOST_PIECES = 8
"""A large tensor is worked on in so many parts, so that what reads it can begin with the first."""
LEAST_CYCLES = 64
"""A part of fewer cycles is not worth an instruction."""


def pieces(call: TaskCall, rows: bool = False) -> Iterator[list[isa.Nest]]:
    """Nests of what is read and of what is made, part by part; with ``rows``, innermost are last axes."""
    shape = call.output.shape
    tensors = [*call.task.inputs, call.output]
    addresses = (*call.sources, call.targets)
    for images in together(*addresses):
        whole = [
            _joined(broadcast(own[images.first], tensor.shape, shape, tensor.dtype.itemsize), pitch)
            for own, tensor, pitch in zip(addresses, tensors, images.pitches, strict=True)
        ]
        for part, size in _parts(call, whole, (images.count, *shape)):
            yield nests(size, *part, rows=rows)


def _joined(operand: Strided, pitch: int) -> Strided:
    """An operand with the images as its first axis."""
    return replace(operand, strides=(pitch, *operand.strides))


def _parts(
    call: TaskCall, operands: Sequence[Strided], size: tuple[int, ...]
) -> Iterator[tuple[list[Strided], tuple[int, ...]]]:
    """Cut along the first axis that has more than one place, but not the last one."""
    axis = next((k for k, count in enumerate(size[:-1]) if count > 1), -1)
    if axis < 0:
        yield list(operands), size
        return
    least = -(-LEAST_CYCLES * call.topology.vector_unit.lanes // prod(size[axis + 1 :]))
    step = max(least, -(-size[axis] // MOST_PIECES))
    for first in range(0, size[axis], step):
        moved = [replace(operand, address=operand.address + first * operand.strides[axis]) for operand in operands]
        yield moved, (*size[:axis], min(step, size[axis] - first), *size[axis + 1 :])


def lower_table(call: TaskCall, op: Table) -> Iterator[isa.Instruction]:
    address = call.storage.keep(op.entries)
    for source, destination in pieces(call):
        yield isa.Lookup(source=source, destination=destination, table=address)


def lower_rescale(call: TaskCall, op: Rescale) -> Iterator[isa.Instruction]:
    for source, destination in pieces(call):
        yield isa.Requantise(
            source=source,
            destination=destination,
            rule=op.rule,
            multiplier=int(op.multiplier),
            shift=int(op.shift),
            input_zero_point=op.input_zero_point,
            zero_point=op.output_zero_point,
            clamp=op.clamp,
            element=call.element,
            result=element_of(call.output.dtype),
        )


def lower_pair(call: TaskCall, op: Add | Multiply) -> Iterator[isa.Instruction]:
    for a, b, destination in pieces(call):
        yield isa.Combine(
            function="add" if isinstance(op, Add) else "multiply",
            a=a,
            b=b,
            destination=destination,
            rule=op.rule,
            scaling=tuple(int(value) for value in op.scaling),
            clamp=op.clamp,
            element=call.element,
        )


def lower_softmax(call: TaskCall, op: Softmax) -> Iterator[isa.Instruction]:
    for source, destination in pieces(call, rows=True):
        yield isa.RowSoftmax(
            source=source,
            destination=destination,
            rule=op.rule,
            scaling=softmax_scaling(op.input_scale, op.output_scale, op.output_zero_point),
            clamp=op.clamp,
            element=call.element,
        )


def normalise_of(op: Normalise) -> isa.Normalise:
    return isa.Normalise(op.size, tuple(op.scaling), op.clamp)


def lower_normalise(call: TaskCall, op: Normalise) -> Iterator[isa.Instruction]:
    """Pixel by pixel."""
    for source, destination in pieces(call, rows=True):
        yield isa.Normalisation(
            source=source, destination=destination, normalise=normalise_of(op), element=call.element
        )


OPERATORS = {
    Add: ArrayTraits(lower_pair),
    Multiply: ArrayTraits(lower_pair),
    Normalise: ArrayTraits(lower_normalise),
    Rescale: ArrayTraits(lower_rescale),
    Softmax: ArrayTraits(lower_softmax, bytes_only=True),
    Subtract: ArrayTraits(lower_pair),
    Table: ArrayTraits(lower_table, bytes_only=True),
}
