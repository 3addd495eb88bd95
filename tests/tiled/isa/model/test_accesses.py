"""What DMA operations read and write, in whichever units."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

import tilesim
from tilesim.tiled.isa.model.accesses import transfer_faults
from tilesim.tiled.isa.model.fields import Engine, Flag, Loop, MemoryName, Nest, Reference, Traversal
from tilesim.tiled.isa.model.instructions import NarrowToWide
from tilesim.tiled.isa.model.sheet import Operand, SheetRow

UNITS = {MemoryName.NARROW: "word", MemoryName.WIDE: "row"}


@dataclass(frozen=True, kw_only=True)
class Copy(NarrowToWide):
    """A copy from one of a tile's memories to any other, or within one."""

    memories: tuple[MemoryName, MemoryName]

    @property
    def row(self) -> SheetRow:
        ways = zip(("read", "write"), self.memories, strict=True)
        operands = tuple(Operand(field, memory, rank=0, unit=UNITS[memory]) for field, memory in ways)
        return SheetRow(words=7, raises={Engine.NARROW_TO_WIDE: Flag.NARROW_TO_WIDE}, operands=operands)


def faults(read: MemoryName, reads: int, write: MemoryName, writes: int) -> list[str]:
    chip = tilesim.load_topology(
        "edge-1x1", {"wide_memory.row_bytes": 32, "narrow_memory.word_bytes": 8, "tile.lanes": 8}
    )
    from_, to = (Traversal(Nest((Loop("w", count),)), Reference(0)) for count in (reads, writes))
    return list(transfer_faults(Copy(tiles=1, read=from_, write=to, memories=(read, write)), chip))


@pytest.mark.parametrize(
    ("read", "write", "sentence"),
    [
        ("narrow", "narrow", "as many bytes, not 24 bytes of narrow words and 16 bytes of narrow words"),
        ("wide", "wide", "the same whole rows of 32 bytes, not 96 bytes of wide rows and 64 bytes of wide rows"),
        ("narrow", "wide", "the same whole rows of 32 bytes, not 24 bytes of narrow words and 64 bytes of wide rows"),
        ("wide", "narrow", "the same whole rows of 32 bytes, not 16 bytes of narrow words and 96 bytes of wide rows"),
    ],
)
def test_a_copy_writes_what_it_reads(read: str, write: str, sentence: str) -> None:
    assert faults(MemoryName(read), 3, MemoryName(write), 2) == [f"read and write must move {sentence}"]
    per_row = {"narrow": 4, "wide": 1}
    assert faults(MemoryName(read), 2 * per_row[read], MemoryName(write), 2 * per_row[write]) == []
