"""How much of each memory a program needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tilesim.machines.program import covered_bytes
from tilesim.tiled.isa.model.accesses import accesses, extent
from tilesim.tiled.isa.model.instructions import program_bytes
from tilesim.tiled.isa.model.program import Program

Stretch = tuple[int, int, int]
"""A bitmap of tiles, the first byte of their memory, and the end."""


def peak_bytes(program: Program) -> dict[str, int]:
    """By memory: the bytes of the tile that needs most, of instructions, of parameters.

    What a tile needs is what is set aside for the program in its regions, things that take turns counted once; where a
    program has no regions of a memory, what its operands reach from their first byte to their last.
    """
    return {
        "narrow_memory": _of_fullest_tile(_stretches(program, "narrow")),
        "wide_memory": _of_fullest_tile(_stretches(program, "wide")),
        "instruction_memory": program_bytes((*program.load, *program.run)),
        "data_memory": covered_bytes((part.address, part.address + part.data.size) for part in program.data),
    }


def _stretches(program: Program, memory: str) -> set[Stretch]:
    regions = [region for region in program.regions if region.memory == memory]
    if regions:
        return {(region.tiles, region.address, region.address + region.bytes) for region in regions}
    return set(_reached(program, memory))


def _reached(program: Program, memory: str) -> Iterator[Stretch]:
    for op in (*program.load, *program.run):
        tiles: int = getattr(op, "tiles", 0)
        for access in accesses(op, program.topology) if tiles else ():
            if access.memory == memory:
                yield (tiles, *extent(access, program.topology))


def _of_fullest_tile(stretches: Iterable[Stretch]) -> int:
    """Tiles that have the same stretches are looked at once."""
    stretches = tuple(stretches)
    tiles = range(max((tiles.bit_length() for tiles, _, _ in stretches), default=0))
    different = {tuple((first, end) for where, first, end in stretches if where >> tile & 1) for tile in tiles}
    return max(map(covered_bytes, different), default=0)
