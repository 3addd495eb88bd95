"""A convolution whose input channels are the outermost loop: the sums of all outputs so far lie in wide memory.

The first word of channels makes them, the last one finishes the outputs; all between are one instruction, which reads
and writes the row of sums of each result group once for each word. Source: US 19/025,090 [0064] for such an order; the
three instructions are an assumption.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from msgspec import structs

from tilesim.tiled.compiler.task import Level, NestWriter
from tilesim.tiled.isa.model.fields import Alternate, Reference
from tilesim.tiled.isa.model.instructions import TensorOp


def in_parts(
    whole: TensorOp,
    outer: Sequence[Level],
    inner: Sequence[Level],
    words: Level,
    short: Alternate | None,
    row_bytes: int,
) -> list[TensorOp]:
    """The tensorop ``whole`` as two or three, for the first, the middle and the last of ``words``; rows of sums count
    from 0. ``inner`` are the loops inside, with that of the lanes.
    """
    summing: list[Level] = []
    row = row_bytes
    for level in reversed(outer):
        summing.insert(0, structs.replace(level, strides={**level.strides, "sums": row}))
        row *= level.bound
    parts = [_part(whole, [*summing, *inner], short, words, 0)]
    if words.bound > 2:
        middle = structs.replace(words, bound=words.bound - 2, reduce=False)
        parts.append(_part(whole, [middle, *summing, *inner], short, words, 1))
    parts.append(_part(whole, [*summing, *inner], short, words, words.bound - 1))
    sums = [part.sums_out for part in parts]
    first, *between = parts[:-1]
    return [
        _unfinished(replace(first, sums_in=None)),
        *(_unfinished(part) for part in between),
        replace(parts[-1], sums_in=sums[-1], sums_out=None),
    ]


def _part(whole: TensorOp, levels: list[Level], short: Alternate | None, words: Level, word: int) -> TensorOp:
    """The steps from one word of channels on, with references to the sums that they read and write."""
    nest = NestWriter(levels, short)
    assert whole.weights is not None
    sums = nest.reference("sums", 0)
    return replace(
        whole,
        nest=nest.nest,
        reduce=nest.reduce,
        input=nest.reference("input", whole.input.base + word * words.strides["input"]),
        weights=nest.reference("weights", whole.weights.base + word * words.strides["weights"]),
        parameters=_moved(nest, "parameters", whole.parameters),
        output=_moved(nest, "output", whole.output),
        sums_in=sums,
        sums_out=sums,
        produce=nest.outermost,
    )


def _moved(nest: NestWriter, operand: str, reference: Reference | None) -> Reference | None:
    return reference and nest.reference(operand, reference.base)


def _unfinished(part: TensorOp) -> TensorOp:
    """A part whose sums are kept as they are."""
    return replace(part, parameters=None, output=None)


def sum_bytes(op: TensorOp, row_bytes: int) -> int:
    """Bytes of the rows of sums that a tensorop writes."""
    if op.sums_out is None:
        return 0
    strides = dict(op.sums_out.strides)
    return sum((loop.bound - 1) * strides.get(loop.name, 0) for loop in op.nest.loops) + row_bytes


def sum_accesses(op: TensorOp) -> int:
    """Rows of sums that a tensorop reads and writes, one of each for a result group."""
    groups = prod(loop.bound for loop in op.nest.loops[:-1] if loop.name not in op.reduce)
    return groups * ((op.sums_in is not None) + (op.sums_out is not None))
