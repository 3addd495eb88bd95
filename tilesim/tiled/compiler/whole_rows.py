"""Rectangles of words that go through whole wide rows: in an order in which some words come more than once, so that
there is nothing else in the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from tilesim.tiled.isa.model.fields import Alternate, Loop, Nest, Reference, Traversal


def rows_filled(lines: int, words: int, row_words: int) -> int:
    """The wide rows through which a rectangle goes of ``lines`` of ``words`` each."""
    return _rows_and_lines(*((lines, words) if words > 1 else (1, lines)), row_words)[0]


def in_whole_rows(words: Traversal, row_words: int) -> Traversal:
    """The words of a rectangle, as :func:`~tilesim.tiled.compiler.rows.block` makes it, and no others, as often as fill
    wide rows: in the same order for any two rectangles of as many lines and words, so that what leaves one comes to the
    same place of the other.
    """
    *outer, inner = words.nest.loops
    strides, lines = dict(words.reference.strides), outer[0].bound if outer else 1
    rows, count = _rows_and_lines(lines, inner.bound, row_words)
    each = rows * row_words // count
    loops = [("k", -(-each // inner.bound), 0)]
    if count > lines:
        loops.append(("j", 2, (lines - count // 2) * strides[outer[0].name]))
    loops += [(loop.name, lines if count == lines else count // 2, strides[loop.name]) for loop in outer]
    loops.append((inner.name, inner.bound, strides.get(inner.name, 0)))
    used = [loop for loop in loops if loop[1] > 1] or loops[-1:]
    alternate = Alternate("k", each % inner.bound) if each % inner.bound else None
    nest = Nest(tuple(Loop(name, bound) for name, bound, _ in used), alternate)
    return Traversal(nest, Reference(words.reference.base, tuple((name, by) for name, _, by in used if by)))


@lru_cache(maxsize=1 << 10)
def _rows_and_lines(lines: int, words: int, row_words: int) -> tuple[int, int]:
    """The fewest wide rows that lines fill of which all come equally often and with as many words; and how many lines
    come then each time, some of them twice.
    """
    rows = -(-lines * words // row_words)
    while True:
        for count in _counts(lines):
            if count * words <= rows * row_words and rows * row_words % count == 0:
                return rows, count
        rows += 1


def _counts(lines: int) -> Iterator[int]:
    """How many lines can come: all of them once, or two runs as long as each other that have some in common."""
    yield lines
    yield from range(lines + 2 - lines % 2, 2 * lines - 1, 2)
