"""Traversals between a feature map's words and whole wide rows."""

from __future__ import annotations

from dataclasses import replace

from tilesim.tiled.compiler.feature_map import FeatureMap
from tilesim.tiled.isa.fields import Alternate, Loop, Nest, Reference, Traversal


def wide_rows(address: int, rows: int, row_bytes: int) -> Traversal:
    """``rows`` consecutive wide rows; the loop ``r`` completes with the last of them."""
    strides = (("r", row_bytes),) if rows > 1 else ()
    return Traversal(Nest((Loop("r", rows),)), Reference(address, strides))


def rows_of(rows: Traversal) -> int:
    return rows.nest.loops[0].bound


def each_row(rows: Traversal) -> Traversal:
    """The same rows, with an inner loop ``b`` that completes with each of them."""
    return replace(rows, nest=Nest((*rows.nest.loops, Loop("b", 1))))


def rows_for(map_: FeatureMap, row_bytes: int) -> int:
    """Wide rows that hold all words of a map, without its border."""
    return -(-map_.shape.height * map_.shape.width * map_.pixel_bytes // row_bytes)


def spill_bytes(map_: FeatureMap, row_bytes: int) -> int:
    """How far a traversal of whole wide rows runs past the end of the map's last inner row."""
    inner = map_.shape.width * map_.pixel_bytes
    lines, tail = divmod(rows_for(map_, row_bytes) * row_bytes, inner)
    end = lines * map_.row_bytes + (tail or inner - map_.row_bytes)
    start = map_.border.top * map_.row_bytes + map_.border.left * map_.pixel_bytes
    bare = (map_.border.top + map_.shape.height + map_.border.bottom) * map_.row_bytes
    return max(0, start + end - bare)


def map_words(map_: FeatureMap, rows: int, row_bytes: int, word_bytes: int) -> Traversal:
    """The words of a map, line by line, as many as ``rows`` wide rows hold; the last line may be cut or run past the
    map.
    """
    line = map_.shape.width * map_.pixel_bytes // word_bytes
    words = rows * row_bytes // word_bytes
    lines = -(-words // line)
    whole = block(map_.at(0, 0), lines, map_.row_bytes, line, word_bytes)
    if words % line == 0:
        return whole
    if lines == 1:
        return block(map_.at(0, 0), 1, map_.row_bytes, words, word_bytes)
    return replace(whole, nest=replace(whole.nest, alternate=Alternate("y", words % line)))


def block(address: int, lines: int, line_bytes: int, words: int, word_bytes: int) -> Traversal:
    """A rectangle of words, with loops for the directions in which it has more than one; ``y`` or else ``w`` is the
    outer.
    """
    axes = (("y", lines, line_bytes), ("w", words, word_bytes))
    used = [axis for axis in axes if axis[1] > 1] or [axes[1]]
    strides = tuple((name, stride) for name, bound, stride in used if bound > 1)
    return Traversal(Nest(tuple(Loop(name, bound) for name, bound, _ in used)), Reference(address, strides))
