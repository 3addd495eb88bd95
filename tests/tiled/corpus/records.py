"""Random programs some of whose instructions travel in records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

from tilesim.tiled.isa.model.instructions import Broadcast, Instruction, Record, Work
from tilesim.tiled.isa.model.program import Program

WORDS = (1, 1, 1, 2, 3)
"""Of headers that stops can hold."""
MOST_PARTS = 8


def with_records(program: Program, number: int) -> Program:
    """``program`` on a chip that has records, with instructions at random stretches of it in such."""
    random = Random(number)  # noqa: S311
    chip = program.topology
    bus = chip.instruction_bus.model_copy(update={"record_words": random.choice(WORDS)})
    sections = {
        section: tuple(_joined(random, getattr(program, section), bus.record_words, section))
        for section in ("load", "run")
    }
    return replace(program, topology=chip.model_copy(update={"instruction_bus": bus}), **sections)


def _joined(random: Random, ops: Sequence[Instruction], most_words: int, section: str) -> Iterator[Instruction]:
    place = 0
    while place < len(ops):
        parts = (
            0 if place and isinstance(ops[place - 1], Broadcast) else _parts(ops, place, random.randint(0, MOST_PARTS))
        )
        header = _header(ops[place : place + parts], f"{section}.record{place}")
        while header is not None and header.words > most_words:
            parts -= 1
            header = _header(ops[place : place + parts], header.label)
        yield from () if header is None else (header,)
        yield from ops[place : place + max(1, parts)]
        place += max(1, parts)


def _parts(ops: Sequence[Instruction], place: int, most: int) -> int:
    """How many instructions for engines stand at a place, up to so many."""
    return next(
        (k for k, op in enumerate(ops[place : place + most]) if not isinstance(op, Work)),
        len(ops[place : place + most]),
    )


def _header(parts: Sequence[Instruction], label: str) -> Record | None:
    tiles = 0
    for part in parts:
        tiles |= getattr(part, "tiles", 0)
    return Record(tiles=tiles, parts=len(parts), label=label) if parts else None
