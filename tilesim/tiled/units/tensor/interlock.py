"""The tensor control's interlock: a result group never reads what one before it has yet to write.

The words (narrow) and registers' bytes (wide: sums of all lanes, a row or a part of one) that a group would read are
compared with those of the groups that are in the output FIFO or on their way to it. If one of them is among those, the
group's first read waits until the last such group has been written: it may be in the cycle after that group's last
write. Groups further back than the FIFO is deep have been written anyway, and what a later group writes is no hazard,
for all groups write after they have read, in order.

Timing: groups of s steps, each of which reads the row of sums that the one before it writes, take s + 2 cycles each on
one wide port, s + 1 on two; groups of s steps that read outputs of w words likewise take s + w. Source: US 19/025,090
[0050] for the stall; where the hazard is seen is an assumption.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

import numpy as np

from tilesim.ragged import ranges
from tilesim.tiled.isa.model.loops import Indices
from tilesim.tiled.units.memories import TileMemories
from tilesim.tiled.units.tensor.operands import AddressStream, Operands

READ_AND_WRITTEN: Mapping[str, tuple[str, ...]] = {"output": ("input", "input_b"), "sums_out": ("sums_in", "weights")}
"""The operands that a tensorop may read where it writes, by the one that it writes."""


def last_writers(operands: Operands, memories: TileMemories, inputs_per_cycle: int) -> Indices | None:
    """For each group, the last one before it that writes some of what it reads; -1: none does; None: for none.
    ``inputs_per_cycle``: activations of a convolution's step.
    """
    last: Indices | None = None
    for written, read in READ_AND_WRITTEN.items():
        unit_bytes = memories.word_bytes if written == "output" else memories.register_bytes
        for name in read:
            if not operands.may_meet(name, written, unit_bytes, inputs_per_cycle):
                continue
            stream, write = getattr(operands, name), getattr(operands, written)
            reads, widths = (operands.touched_bytes(field, unit_bytes, inputs_per_cycle) for field in (name, written))
            stride = (operands.word_stride_bytes if written == "output" else None) or unit_bytes
            writers = _last_writers(stream, reads, _sorted_writes(write, widths, unit_bytes, stride), unit_bytes)
            last = writers if last is None else np.maximum(last, writers)
    return last if last is not None and last.max() >= 0 else None


def chunks(last: Indices, first: int, end: int) -> Iterator[tuple[int, int]]:
    """The groups ``first`` to ``end`` in runs, none of which reads what it writes itself: (first, end) of each."""
    start = first
    for group in (first + np.flatnonzero(last[first:end] >= first)).tolist():
        if last[group] >= start:
            yield start, group
            start = group
    yield start, end


def _last_writers(read: AddressStream, reads: Indices, writes: Indices, unit_bytes: int) -> Indices:
    """``reads``: the bytes that a step of each group reads from its address on; ``writes``: see
    :func:`_sorted_writes`.
    """
    groups = len(reads)
    last = np.full(groups, -1, np.int64)
    most = int(reads.max())
    offsets = dict.fromkeys((*range(0, most, unit_bytes), most - 1))
    for step, offset in product({*read.steps.tolist()}, offsets):
        units = (read.groups + step + np.minimum(offset, reads - 1)) // unit_bytes
        before = np.searchsorted(writes, units * groups + np.arange(groups)) - 1
        same = (before >= 0) & (writes[before] // groups == units)
        np.maximum(last, np.where(same, writes[before] % groups, -1), out=last)
    return last


def _sorted_writes(write: AddressStream, widths: Indices, unit_bytes: int, stride: int) -> Indices:
    """Every (unit, group that writes it) as one number, sorted. ``widths``: the bytes that each group writes from its
    address on, in units ``stride`` bytes apart.
    """
    groups = len(write.groups)
    units = -(-widths // unit_bytes)
    group = np.repeat(np.arange(groups), units)
    place = ranges(0, units)
    return np.sort((write.groups[group] + place * stride) // unit_bytes * groups + group)
