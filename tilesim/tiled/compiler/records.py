"""Neighbouring instructions joined into records, which take fewer words of the instruction bus."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import groupby
from operator import or_

from tilesim.tiled.isa.model.instructions import Instruction, Record, Work
from tilesim.tiled.topology import Topology


def joined(ops: Sequence[Instruction], chip: Topology) -> tuple[Instruction, ...]:
    """``ops`` with instructions for engines that stand next to each other as sub-instructions of records, as many as
    the chip's stops can hold the header of; none where that saves nothing. Their order is as before.
    """
    most_words = chip.instruction_bus.record_words
    return tuple(_joined(ops, most_words)) if most_words else tuple(ops)


def _joined(ops: Sequence[Instruction], most_words: int) -> Iterator[Instruction]:
    for works, stretch in groupby(ops, lambda op: isinstance(op, Work)):
        left = list(stretch)
        while works and (header := _header(left, most_words)) is not None:
            yield from (header, *left[: header.parts])
            left = left[header.parts :]
        yield from left


def _header(ops: Sequence[Instruction], most_words: int) -> Record | None:
    """The header of the longest record that ``ops`` can begin with, if one is shorter than they are."""
    found = None
    for parts in range(2, len(ops) + 1):
        tiles = reduce(or_, (getattr(op, "tiles", 0) for op in ops[:parts]))
        header = Record(tiles=tiles, parts=parts, layer=ops[0].layer, label=f"{ops[0].label}.record")
        if header.words > most_words:
            return found
        found = header if header.words < parts else found
    return found
