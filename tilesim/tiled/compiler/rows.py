"""Traversals between a feature map's words and whole wide rows."""

from __future__ import annotations

from tilesim.tiled.compiler.feature_map import FeatureMap
from tilesim.tiled.isa.fields import Alternate, Loop, Nest, Reference, Traversal


def wide_rows(address: int, rows: int, row_bytes: int) -> Traversal:
    """``rows`` consecutive wide rows; loop ``r`` completes with the last of them, the single-pass loop ``b`` with each."""
    return Traversal(Nest((Loop("r", rows), Loop("b", 1))), Reference(address, (("r", row_bytes),)))


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
    """The words of a map, row by row, as many as ``rows`` wide rows hold."""
    line = map_.shape.width * map_.pixel_bytes // word_bytes
    words = rows * row_bytes // word_bytes
    lines = -(-words // line)
    alternate = Alternate("y", words - (lines - 1) * line) if words % line else None
    loops = (Loop("y", lines), Loop("w", line))
    return Traversal(Nest(loops, alternate), Reference(map_.at(0, 0), (("y", map_.row_bytes), ("w", word_bytes))))


def block(address: int, lines: int, line_bytes: int, words: int, word_bytes: int) -> Traversal:
    """A rectangle of words."""
    return Traversal(
        Nest((Loop("y", lines), Loop("w", words))), Reference(address, (("y", line_bytes), ("w", word_bytes)))
    )
