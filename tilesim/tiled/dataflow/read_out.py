"""What is read out of narrow memories as soon as instructions have retired."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cached_property
from typing import TypeAlias

from msgspec import Struct

from tilesim.tiled.isa.model.program import ELEMENTS, Program, TensorPiece
from tilesim.tiled.rules.tile.footprint import repeated


class Standing(Struct, frozen=True, dict=True):
    """Bytes that are read at once: lines of pixels."""

    first: int
    row_bytes: int
    pixel_bytes: int
    extent: tuple[int, int, int]
    """Lines, pixels of each, and the bytes of those."""

    @classmethod
    def of(cls, piece: TensorPiece) -> Standing:
        height, width, channels = piece.extent
        extent = (height, width, channels * ELEMENTS[piece.element].itemsize)
        return cls(piece.address, piece.row_bytes, piece.pixel_bytes, extent)

    @property
    def end(self) -> int:
        height, width, size_bytes = self.extent
        return self.first + (height - 1) * self.row_bytes + (width - 1) * self.pixel_bytes + size_bytes

    @cached_property
    def pattern(self) -> int:
        """The bytes from the first on, as a bitmap."""
        height, width, size_bytes = self.extent
        line, _ = repeated((1 << size_bytes) - 1, self.pixel_bytes, width)
        lines, _ = repeated(line, self.row_bytes, height)
        return lines


ReadOut: TypeAlias = Mapping[int, frozenset[Standing]]
"""What is read, on any tile, when the instruction at a place has retired."""


def read_out(program: Program) -> ReadOut:
    """What is read when all pieces of a program's tensors are."""
    places = {op.label: place for place, op in enumerate(program.run, len(program.load))}
    found: dict[int, set[Standing]] = defaultdict(set)
    for piece in program.pieces:
        found[places[piece.after]].add(Standing.of(piece))
    return {place: frozenset(standing) for place, standing in found.items()}
