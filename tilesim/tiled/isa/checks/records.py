"""Static checks of records: their headers against the chip, and what stands behind them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilesim.machines.program import where
from tilesim.tiled.isa.model.instructions import Instruction, Record, Work
from tilesim.tiled.isa.model.program import Program


def record_faults(program: Program) -> Iterator[str]:
    """Every record that a stop can't hold, or whose sub-instructions are none."""
    for section, ops in (("load", program.load), ("run", program.run)):
        for place, op in enumerate(ops):
            if isinstance(op, Record):
                behind = ops[place + 1 : place + 1 + max(0, op.parts)]
                faults = (*_header_faults(op, program.topology.instruction_bus.record_words), *_part_faults(op, behind))
                yield from (f"{where(section, place, op)}: {sentence}" for sentence in faults)


def _header_faults(op: Record, most_words: int) -> Iterator[str]:
    if not most_words:
        yield "a record must not be given on a chip without instruction_bus.record_words"
    elif op.words > most_words:
        yield f"parts must be so few that its header has at most {most_words} words, not {op.parts}: it has {op.words}"


def _part_faults(op: Record, behind: Sequence[Instruction]) -> Iterator[str]:
    """Faults of the instructions that are to be its parts."""
    others = [part for part in behind if not isinstance(part, Work)]
    if others or len(behind) < op.parts:
        found = f"{others[0].mnemonic} among them" if others else f"only {len(behind)} to the end"
        yield f"the next {op.parts} instructions must be for engines of tiles, not {found}"
    for part in behind:
        beyond = getattr(part, "tiles", 0) & ~op.tiles
        if isinstance(part, Work) and beyond:
            name = part.label or part.mnemonic
            yield f"tiles must have those of its sub-instructions: {name} is for {beyond:#x}, too"
