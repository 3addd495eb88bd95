"""Work of the vector unit as early as what it uses is there: while the array still makes the rest of a map."""

from __future__ import annotations

from collections.abc import Sequence

from tilesim.systolic.compiler.accesses import Accesses, Range, accesses
from tilesim.systolic.compiler.call import Item, PendingMultiply
from tilesim.systolic.isa.model.instructions import ReadHostMemory


def hoisted(stream: Sequence[Item], ops: Sequence[Item]) -> list[Item]:
    """A stream with ``ops``, in their order, each right behind the last instruction that it has to follow."""
    items = list(stream)
    touched = [_touched(item) for item in items]
    place = 0
    for op in ops:
        own = _touched(op)
        place = max(place, next((k for k in range(len(items), place, -1) if _conflict(touched[k - 1], own)), 0))
        items.insert(place, op)
        touched.insert(place, own)
        place += 1
    return items


def _touched(item: Item) -> Accesses:
    """Bytes that arrive count with those of their tensor before them, so that nothing takes its place before all of it
    was there, needed or not.
    """
    op = item.op if isinstance(item, PendingMultiply) else item
    touched = accesses(op)
    if not isinstance(op, ReadHostMemory):
        return touched
    return touched._replace(
        writes=tuple(written._replace(first=written.first - op.offset) for written in touched.writes)
    )


def _conflict(first: Accesses, second: Accesses) -> bool:
    """Whether one writes what the other reads or writes."""
    return _meet(first.writes, second.reads + second.writes) or _meet(first.reads, second.writes)


def _meet(some: Sequence[Range], others: Sequence[Range]) -> bool:
    return any(a.memory == b.memory and a.first < b.end and b.first < a.end for a in some for b in others)
