"""Stripes of maps whose lines no row has room for: a tensor of its own for each, and all of them as one layout."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from tilesim.rotating.isa.model.program import Layout


class Piece(NamedTuple):
    """Of tensor ``whole``, the columns from ``first`` on."""

    whole: int
    first: int


class Columns(NamedTuple):
    """From ``first`` up to ``end``."""

    first: int
    end: int

    @property
    def width(self) -> int:
        return self.end - self.first

    def around(self, other: Columns) -> Columns:
        """These, and others."""
        return Columns(min(self.first, other.first), max(self.end, other.end))


NO_PIECES: Mapping[int, Piece] = MappingProxyType({})


def whole_of(index: int, pieces: Mapping[int, Piece]) -> int:
    """The tensor that another one is a stripe of; itself, if it is none."""
    return pieces[index].whole if index in pieces else index


def together(layouts: Mapping[int, Layout], pieces: Mapping[int, Piece]) -> dict[int, Layout]:
    """The layouts of tensors that are cut, from those of their stripes: a line has the rows of each in order."""
    cut: dict[int, list[tuple[int, Layout]]] = defaultdict(list)
    for index, (whole, first) in pieces.items():
        if index in layouts:
            cut[whole].append((first, layouts[index]))
    merged = {}
    for whole, own in cut.items():
        stripes = tuple(replace(layout.stripes[0], first_column=first) for first, layout in own)
        width = max(first + layout.width for first, layout in own)
        merged[whole] = replace(own[0][1], width=width, stripes=stripes)
    return merged


def rows_before(layouts: Mapping[int, Layout], pieces: Mapping[int, Piece]) -> dict[int, int]:
    """Of each stripe, the rows of a line that stand before its own."""
    taken: dict[int, int] = defaultdict(int)
    before = {}
    for index, (whole, _) in pieces.items():
        if index in layouts:
            before[index] = taken[whole]
            taken[whole] += layouts[index].line_rows
    return before
