"""Each operand stays within one thing: an address that strays into a neighbour is a fault, not a surprise.

Cached parameters are to outlast every run: nothing may be put on top of them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain, combinations
from operator import attrgetter

from tilesim.tiled.isa.model.instructions import Instruction
from tilesim.tiled.isa.model.program import Program, Region
from tilesim.tiled.rules.tile.effects import Effects, Section, effects_of
from tilesim.tiled.rules.tile.footprint import Footprint, footprints

CACHED = "parameters"
"""The name of their regions."""

_ADDRESS = attrgetter("address")


def strays(program: Program, sections: Sequence[Section] = ()) -> list[str]:
    """Every operand that no single region of its memory holds, one sentence each; only memories with regions count.
    ``sections`` are the program's effects, if somebody has them.
    """
    memories: dict[str, list[Region]] = defaultdict(list)
    for region in sorted(program.regions, key=_ADDRESS):
        memories[region.memory].append(region)
    return [
        _sentence(entry.op, use.footprint, program.regions)
        for entry in chain(*(sections or effects_of(program)))
        if isinstance(entry, Effects)
        for use in entry.uses
        if (regions := memories.get(use.footprint.memory)) and _strays(use.footprint, entry.op.tiles, regions)
    ]


def _strays(footprint: Footprint, tiles: int, regions: Sequence[Region]) -> bool:
    """Whether a footprint is in no region of a tile that has any, of those that are sorted by their addresses."""
    first, end = footprint.extent
    outside = tiles
    for place in range(bisect_right(regions, first, key=_ADDRESS) - 1, -1, -1):
        region = regions[place]
        if end <= region.address + region.bytes:
            outside &= ~region.tiles
            if not outside:
                return False
    return any(region.tiles & outside for region in regions)


def _sentence(op: Instruction, footprint: Footprint, regions: Sequence[Region]) -> str:
    tiles = getattr(op, "tiles", 0)
    there = [region for region in regions if region.memory == footprint.memory and region.tiles & tiles]
    nearest = min(there, key=lambda region: abs(region.address - footprint.first))
    return (
        f"{op.label or 'an unnamed instruction'} {op.mnemonic}: {footprint.operand} must stay within one region of "
        f"the {footprint.memory} memory, such as {nearest.name} from {nearest.address:#x} to "
        f"{nearest.address + nearest.bytes - 1:#x}, not touch {footprint.first:#x} to {footprint.end - 1:#x}"
    )


def overlaps(program: Program) -> Iterator[str]:
    """What a program itself puts on its parameters: another region, or what an instruction of the run writes."""
    for a, b in combinations(program.regions, 2):
        if CACHED in {a.name, b.name}:
            yield from _both(a, b, "region ")
    yield from _written(program, program, "")


def overlaps_between(programs: Sequence[Program]) -> Iterator[str]:
    """Where programs that are to share a chip put something on each other's parameters."""
    for a, b in combinations(programs, 2):
        if a.topology != b.topology:
            yield f"{a.name} and {b.name} must be compiled for the same chip to share it"
            continue
        for ours in a.regions:
            for theirs in b.regions:
                if CACHED in {ours.name, theirs.name}:
                    yield from (
                        f"{a.name} and {b.name}: {sentence}" for sentence in _both(ours, theirs, "their regions ")
                    )
        for owner, writer in ((a, b), (b, a)):
            yield from _written(owner, writer, f"{writer.name}: ")


def _both(a: Region, b: Region, what: str) -> Iterator[str]:
    first, end = max(a.address, b.address), min(a.address + a.bytes, b.address + b.bytes)
    if a.memory == b.memory and a.tiles & b.tiles and first < end:
        yield (
            f"{what}{a.name} and {b.name} must not overlap, as they do from {first:#x} to {end - 1:#x} of the "
            f"{a.memory} memory of tile {_lowest(a.tiles & b.tiles)}"
        )


def _written(owner: Program, writer: Program, who: str) -> Iterator[str]:
    cached = [region for region in owner.regions if region.name == CACHED]
    for op in writer.run if cached else ():
        yield from (f"{who}{sentence}" for sentence in _on_top(op, writer, cached))


def _on_top(op: Instruction, program: Program, cached: list[Region]) -> Iterator[str]:
    for footprint in footprints(op, program.topology):
        for region in cached if footprint.writes else ():
            place = ((1 << region.bytes) - 1) << region.address
            tiles = getattr(op, "tiles", 0) & region.tiles
            if region.memory == footprint.memory and tiles and footprint.touched & place:
                yield (
                    f"{op.label or 'an unnamed instruction'} {op.mnemonic}: {footprint.operand} must not touch "
                    f"{region.address:#x} to {region.address + region.bytes - 1:#x} of the {region.memory} memory of "
                    f"tile {_lowest(tiles)}, where parameters are cached"
                )


def _lowest(tiles: int) -> int:
    return (tiles & -tiles).bit_length() - 1
