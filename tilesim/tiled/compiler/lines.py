"""Lines of maps that come one by one: in which of them a layer's rows are made, and what each row waits for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from math import gcd, inf
from typing import Any

from msgspec import Struct

from tilesim.machines.changed import changed
from tilesim.tiled.compiler.feature_map import MapPart
from tilesim.tiled.isa.model.fields import Flag, Loop, Nest, Reference, Traversal, Watcher
from tilesim.tiled.isa.model.instructions import TensorOp
from tilesim.tiled.isa.model.loops import KEPT
from tilesim.tiled.isa.model.sheet import SHEET

OPERANDS = tuple(operand.field for operand in SHEET["tensorop"].operands)
MOST_SEGMENTS = 8
"""In how many pieces a part comes at most, and is read: each costs an infeed and a tensorop. Assumption."""
FEWEST_LINES = 4
"""A part of fewer comes whole: there is hardly a row for which some of them do. Assumption."""


class LineArrivals(Struct, frozen=True):
    """Lines of a map that come to a tile with one instruction, one after the other up or down the map, which raises
    ``flag`` to ``first`` with the first of ``rows`` and once more with each further one; to ``first`` with all of them
    if not ``by_line``.
    """

    flag: Flag
    rows: range
    first: int
    by_line: bool

    def count(self, needed: range) -> int:
        """The count when those of the lines ``needed`` have come that are among these; 0 if none are."""
        last = self._last(needed)
        return 0 if last is None else self.first + (last if self.by_line else 0)

    def _last(self, needed: range) -> int | None:
        """The place of the last one that is needed."""
        rows = self.rows
        upwards = rows.step < 0
        lowest, highest = (rows.stop - rows.step, rows.start) if upwards else (rows.start, rows.stop - rows.step)
        low, high = max(lowest, needed.start), min(highest, needed.stop - 1)
        return None if low > high else rows.start - low if upwards else high - rows.start


def segment_lines(part: MapPart, row_bytes: int) -> int:
    """As many lines of a part as fill whole wide rows, so that what is cut there needs no more rows; all if none do."""
    if len(part.rows) < FEWEST_LINES:
        return len(part.rows)
    unit = row_bytes // gcd(part.line_bytes, row_bytes)
    return min(len(part.rows), unit * -(-len(part.rows) // (unit * MOST_SEGMENTS)))


def segments(part: MapPart, row_bytes: int) -> list[range]:
    """The lines of a part as they come; none of a tile that holds none."""
    length = max(1, segment_lines(part, row_bytes))
    return [part.rows[k : k + length] for k in range(0, len(part.rows), length)]


def line_counts(part: MapPart, row_bytes: int, before: int) -> tuple[int, ...]:
    """A count of wide rows when each line of a part is whole, ``before`` without any of them."""
    return tuple(before - (-(k + 1) * part.line_bytes // row_bytes) for k in range(len(part.rows)))


def earliest(flag: Flag, counts: Sequence[int], strict: bool, loop: str = "y") -> tuple[Watcher, ...]:
    """The waits of a loop, round k of which may begin when ``flag`` has counted to ``counts[k]``: at the start for what
    the first needs, and, as a watcher's count goes up by the same in each round, for at least what the others need, but
    never for more than the last count of all.
    """
    first, most = counts[0], max(counts)
    if most == first:
        return (Watcher(flag, most - strict),)
    stride = _stride(tuple(counts))
    if not stride:
        return (Watcher(flag, most - strict),)
    begin = _begin(counts, stride)
    later = Watcher(flag, begin - strict, loop, stride)
    return (later,) if begin >= first or first <= 0 else (Watcher(flag, first - strict), later)


def lateness(counts: Sequence[int], stride: int) -> float:
    """How much more all rounds wait for with a stride than they and those before them need."""
    begin, most = _begin(counts, stride), max(counts)
    if begin + (len(counts) - 1) * stride > most:
        return inf
    needed = accumulate(counts, max)
    return sum(max(begin + k * stride, counts[0]) - count for k, count in enumerate(needed))


@lru_cache(maxsize=KEPT)
def _stride(counts: tuple[int, ...]) -> int:
    """The one with which rounds wait for least too much."""
    return min(range(max(counts) - counts[0] + 1), key=lambda stride: lateness(counts, stride))


def _begin(counts: Sequence[int], stride: int) -> int:
    """The lowest count for round 0 with which all rounds have theirs that need more than the first."""
    return max((count - k * stride for k, count in enumerate(counts) if count > counts[0]), default=counts[0])


def by_segment(words: Traversal, counts: Sequence[int]) -> tuple[Traversal, list[int]]:
    """A traversal of lines, its loop ``y`` split in ``q`` and ``y`` so that its rounds wait for little more than their
    lines, which are there with these counts; and the count for each round of the outermost loop.
    """
    sizes = (size for size in range(1, len(counts) + 1) if len(counts) % size == 0)
    size = min(sizes, key=lambda size: _waiting(counts, size))
    rounds = _rounds(counts, size)
    if size in {1, len(counts)}:
        return words, rounds if size == 1 else [max(counts)]
    outer, *inner = words.nest.loops
    reference, stride = words.reference, dict(words.reference.strides)[outer.name]
    loops = (Loop("q", len(rounds)), Loop(outer.name, size), *inner)
    moved = reference._replace(strides=(("q", stride * size), *reference.strides))
    return Traversal(Nest(loops, words.nest.alternate), moved), rounds


def _rounds(counts: Sequence[int], size: int) -> list[int]:
    """What is needed for so many lines together."""
    return [max(counts[k : k + size]) for k in range(0, len(counts), size)]


def _waiting(counts: Sequence[int], size: int) -> float:
    """How much more all lines wait for than they need if so many wait together."""
    rounds = _rounds(counts, size)
    return sum(rounds) * size - sum(counts) + lateness(rounds, _stride(tuple(rounds))) * size


def sliced(op: TensorOp, rows: range) -> TensorOp:
    """The rounds ``rows`` of a tensorop's outermost loop alone."""
    outer, *inner = op.nest.loops
    if rows == range(outer.bound):
        return op
    moved: dict[str, Any] = {
        name: Reference(reference.base + rows.start * dict(reference.strides).get(outer.name, 0), reference.strides)
        for name in OPERANDS
        if (reference := getattr(op, name)) is not None
    }
    return changed(op, nest=Nest((Loop(outer.name, len(rows)), *inner), op.nest.alternate), **moved)


def runs(rows: int, ends: Iterable[int], late: int) -> list[range]:
    """The rounds of ``rows`` rows in the order in which they are made, ``ends`` being where segments end: the first
    ``late`` come last.
    """
    cuts = sorted({late, rows, *(end for end in ends if late < end < rows)})
    middle = [range(a, b) for a, b in pairwise(cuts)]
    return [*middle, range(late)] if late else middle
