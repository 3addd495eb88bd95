"""Static checks of broadcasts that tiles start: one tile each, for stops behind it on the instruction bus."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilesim.machines.program import where
from tilesim.tiled.isa.model.instructions import Broadcast, Instruction, header_of
from tilesim.tiled.isa.model.program import Program


def broadcast_faults(program: Program) -> Iterator[str]:
    """Every broadcast that no stop could start."""
    for section, ops in (("load", program.load), ("run", program.run)):
        for place, op in enumerate(ops):
            if isinstance(op, Broadcast):
                faults = _faults(op, ops[place + 1 : place + 2], program.topology.tiles)
                yield from (f"{where(section, place, op)}: {sentence}" for sentence in faults)


def _faults(op: Broadcast, following: Sequence[Instruction], tiles: int) -> Iterator[str]:
    if op.tiles.bit_count() != 1:
        yield f"tiles must name the one tile that starts the broadcast, not {op.tiles:#x}"
        return
    stops = sum(header_of(later, tiles) for later in following)
    if stops <= op.tiles or stops % op.tiles:
        what = f"{following[0].mnemonic} for the bitmap {stops:#x}" if following else "the end"
        first = op.tiles.bit_length() - 1
        yield f"an instruction for tiles behind tile {first}, and none before it, must stand next, not {what}"
