"""Traversals between the words of a map's parts and whole wide rows."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from msgspec.structs import replace

from tilesim.tiled.compiler.feature_map import FeatureMap, MapPart
from tilesim.tiled.isa.model.fields import Alternate, Loop, Nest, Reference, Traversal, Watcher, bits
from tilesim.tiled.isa.model.instructions import RingConsume
from tilesim.tiled.isa.model.loops import addresses


def wide_rows(address: int, rows: int, row_bytes: int) -> Traversal:
    """``rows`` consecutive wide rows; the loop ``r`` completes with the last of them."""
    strides = (("r", row_bytes),) if rows > 1 else ()
    return Traversal(Nest((Loop("r", rows),)), Reference(address, strides))


def rows_of(rows: Traversal) -> int:
    return rows.nest.loops[0].bound


def each_row(rows: Traversal) -> Traversal:
    """The same rows, with an inner loop ``b`` that completes with each of them."""
    return rows._replace(nest=Nest((*rows.nest.loops, Loop("b", 1))))


def receive(rows: Traversal, wait: tuple[Watcher, ...], layer: int) -> RingConsume:
    """Take wide rows off the ring, raising the flag with each of them."""
    arriving = each_row(rows) if rows_of(rows) > 1 else rows
    return RingConsume(tiles=0, write=arriving, wait=wait, produce=arriving.nest.loops[-1].name, layer=layer)


def rows_for(part: MapPart, row_bytes: int) -> int:
    """Wide rows that hold all words of a part."""
    return -(-part.bytes // row_bytes)


def spill_bytes(map_: FeatureMap, words: Iterable[Traversal], word_bytes: int) -> int:
    """How far traversals of whole wide rows run past the end of a map's bytes."""
    return max(0, *(_end(traversal, word_bytes) - map_.address - map_.size_bytes for traversal in words))


def _end(words: Traversal, word_bytes: int) -> int:
    strides = dict(words.reference.strides)
    reach = sum((loop.bound - 1) * strides.get(loop.name, 0) for loop in words.nest.loops)
    return words.reference.base + reach + word_bytes


def part_words(part: MapPart, row_bytes: int, word_bytes: int) -> Traversal:
    """The words of a part, line by line, as many as its wide rows hold: the last line may be cut, or past the part."""
    line = part.line_bytes // word_bytes
    words = rows_for(part, row_bytes) * row_bytes // word_bytes
    if len(part.rows) == 1 or words <= line:
        return block(part.address, 1, part.row_bytes, words, word_bytes)
    whole = block(part.address, -(-words // line), part.row_bytes, line, word_bytes)
    return whole._replace(nest=whole.nest._replace(alternate=Alternate("y", words % line))) if words % line else whole


def sent(map_: FeatureMap, copy: FeatureMap, tile: int) -> MapPart:
    """What a tile sends of a map that is copied: its block, as it is computed.

    Of several rows of some channels, lines as long as a copy's, whatever lies behind the own pixels: then the pixels
    have their places in the copy at one distance, and the borders between them, which the junk falls on, are filled in
    later.
    """
    part = map_.part(tile).block
    return replace(part, columns=range(copy.columns.length)) if map_.block and len(part.rows) > 1 else part


def copied_words(map_: FeatureMap, copy: FeatureMap, tile: int, row_bytes: int, word_bytes: int) -> Traversal:
    """The words of a whole copy of a map in the order in which its parts, as they are sent, come one after the other;
    what runs past a block is written again by the ones that follow.
    """
    if map_.block and map_.shape.pixels > 1:
        return _interleaved(map_, copy, tile, row_bytes, word_bytes)
    target, first = copy.part(tile), next(part for _, part in map_.parts()).block
    one = part_words(replace(first, address=target.at(0, 0), row_bytes=copy.row_bytes), row_bytes, word_bytes)
    across = first.pixel_bytes if map_.block else first.line_bytes
    down, right = map_.cuts()
    around = [axis for axis in (("i", down, len(first.rows) * copy.row_bytes), ("j", right, across)) if axis[1] > 1]
    loops = (*(Loop(name, bound) for name, bound, _ in around), *one.nest.loops)
    strides = (*((name, stride) for name, _, stride in around), *one.reference.strides)
    return Traversal(Nest(loops, one.nest.alternate), Reference(one.reference.base, strides))


def _interleaved(map_: FeatureMap, copy: FeatureMap, tile: int, row_bytes: int, word_bytes: int) -> Traversal:
    """The words of parts that hold some channels of all pixels: each part's pixel by pixel."""
    part = sent(map_, copy, bits(map_.tiles)[0])
    words, words_a_pixel = rows_for(part, row_bytes) * row_bytes // word_bytes, part.pixel_bytes // word_bytes
    axes = [("j", map_.tiles.bit_count(), part.pixel_bytes), ("p", -(-words // words_a_pixel), copy.pixel_bytes)]
    axes += [("w", words_a_pixel, word_bytes)] if words_a_pixel > 1 else []
    nest = Nest(
        tuple(Loop(name, bound) for name, bound, _ in axes),
        Alternate("p", words % words_a_pixel) if words % words_a_pixel else None,
    )
    strides = tuple((name, stride) for name, _, stride in axes)
    return Traversal(nest, Reference(copy.part(tile).at(0, 0), strides))


@lru_cache(maxsize=1 << 12)  # tiles differ little in what they move
def block(address: int, lines: int, line_bytes: int, words: int, word_bytes: int) -> Traversal:
    """A rectangle of words, with loops for the directions in which it has more than one; ``y`` or else ``w`` is the
    outer.
    """
    axes = (("y", lines, line_bytes), ("w", words, word_bytes))
    used = [axis for axis in axes if axis[1] > 1] or [axes[1]]
    strides = tuple((name, stride) for name, bound, stride in used if bound > 1)
    return Traversal(Nest(tuple(Loop(name, bound) for name, bound, _ in used)), Reference(address, strides))


def meet(a: Traversal, b: Traversal) -> bool:
    """Whether some word is in both; most are far apart."""
    (low, high), (other_low, other_high) = _span(a), _span(b)
    if low > other_high or other_low > high:
        return False
    ones, others = (addresses(words.nest, words.reference) for words in (a, b))
    return bool(np.isin(ones, others).any())


def _span(words: Traversal) -> tuple[int, int]:
    """The lowest and the highest address, or beyond, if an alternate limit leaves some out."""
    strides = dict(words.reference.strides)
    moves = [(loop.bound - 1) * strides.get(loop.name, 0) for loop in words.nest.loops]
    base = words.reference.base
    return base + sum(move for move in moves if move < 0), base + sum(move for move in moves if move > 0)
