"""Each operand stays within one thing: an address that strays into a neighbour is a fault, not a surprise."""

from __future__ import annotations

from collections.abc import Iterator

from tilesim.tiled.isa.instructions import Instruction
from tilesim.tiled.isa.program import Program, Region
from tilesim.tiled.rules.footprint import Footprint, footprints


def strays(program: Program) -> list[str]:
    """Every operand that no single region of its memory holds, one sentence each; only memories with regions count."""
    return [
        sentence
        for op in (*program.load, *program.run)
        for footprint in footprints(op, program.topology)
        for sentence in _strays(program, op, footprint)
    ]


def _strays(program: Program, op: Instruction, footprint: Footprint) -> Iterator[str]:
    tiles = getattr(op, "tiles", 0)
    there = [region for region in program.regions if region.memory == footprint.memory and region.tiles & tiles]
    held = 0
    for region in there:
        held |= region.tiles if _holds(region, footprint) else 0
    outside = tiles & ~held
    if any(region.tiles & outside for region in there):
        nearest = min(there, key=lambda region: abs(region.address - footprint.first))
        yield (
            f"{op.label or 'an unnamed instruction'} {op.mnemonic}: {footprint.operand} must stay within one region of "
            f"the {footprint.memory} memory, such as {nearest.name} from {nearest.address:#x} to "
            f"{nearest.address + nearest.bytes - 1:#x}, not touch {footprint.first:#x} to {footprint.end - 1:#x}"
        )


def _holds(region: Region, footprint: Footprint) -> bool:
    return region.address <= footprint.first and footprint.end <= region.address + region.bytes
