"""What goes over the instruction bus behind what announces it: sub-instructions of records, and broadcasts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilesim.tiled.isa.model.instructions import Broadcast, Instruction, Record, Work


def begin_of(ops: Sequence[Instruction], place: int) -> int:
    """Where the instruction at ``place`` begins: with the header of its record, or with what starts its broadcast."""
    head = record_of(ops, place)
    if head is not None:
        return head
    return place - (place > 0 and isinstance(ops[place - 1], Broadcast))


def record_of(ops: Sequence[Instruction], place: int) -> int | None:
    """The place of the header of the record whose sub-instruction stands at ``place``; None if it is none's."""
    head = place - 1
    while head >= 0 and isinstance(ops[head], Work):
        head -= 1
    op = ops[head] if head >= 0 else None
    return head if isinstance(op, Record) and head < place <= head + op.parts else None


def records_of(ops: Sequence[Instruction]) -> Iterator[int | None]:
    """What ``record_of`` says of each place in turn, in one pass."""
    head, end = None, -1
    for place, op in enumerate(ops):
        yield head if place <= end else None
        if isinstance(op, Record):
            head, end = place, place + op.parts
        elif not isinstance(op, Work):
            end = -1
