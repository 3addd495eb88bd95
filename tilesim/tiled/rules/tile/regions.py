"""Each operand stays within one thing: an address that strays into a neighbour is a fault, not a surprise."""

from __future__ import annotations

from bisect import bisect_right

from tilesim.tiled.isa.model.instructions import Instruction
from tilesim.tiled.isa.model.program import Program, Region
from tilesim.tiled.rules.tile.footprint import Footprint, footprints


def strays(program: Program) -> list[str]:
    """Every operand that no single region of its memory holds, one sentence each; only memories with regions count."""
    memories = {region.memory: _Memory(program, region.memory) for region in program.regions}
    return [
        _sentence(op, footprint, memory.regions)
        for op in (*program.load, *program.run)
        for footprint in footprints(op, program.topology)
        if (memory := memories.get(footprint.memory)) and memory.loses(footprint, getattr(op, "tiles", 0))
    ]


class _Memory:
    """The regions of one memory."""

    def __init__(self, program: Program, name: str) -> None:
        self.regions = [region for region in program.regions if region.memory == name]
        ordered = sorted(self.regions, key=lambda region: region.address)
        self._starts = [region.address for region in ordered]
        self._spans = [(region.address + region.bytes, region.tiles) for region in ordered]

    def loses(self, footprint: Footprint, tiles: int) -> bool:
        """Whether a footprint is in no region of a tile that has any."""
        first, end = footprint.extent
        outside = tiles
        for place in range(bisect_right(self._starts, first) - 1, -1, -1):
            region_end, there = self._spans[place]
            if end <= region_end:
                outside &= ~there
                if not outside:
                    return False
        return any(region.tiles & outside for region in self.regions)


def _sentence(op: Instruction, footprint: Footprint, regions: list[Region]) -> str:
    there = [region for region in regions if region.tiles & getattr(op, "tiles", 0)]
    nearest = min(there, key=lambda region: abs(region.address - footprint.first))
    return (
        f"{op.label or 'an unnamed instruction'} {op.mnemonic}: {footprint.operand} must stay within one region of "
        f"the {footprint.memory} memory, such as {nearest.name} from {nearest.address:#x} to "
        f"{nearest.address + nearest.bytes - 1:#x}, not touch {footprint.first:#x} to {footprint.end - 1:#x}"
    )
