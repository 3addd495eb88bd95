"""The keys in which the points of a sweep differ: each a column of the places of its values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tilesim.explore.point import Value
from tilesim.explore.row import Row

NAMELESS = ("name", "description", "machine")
"""Keys of a chip that say nothing of how it works; its name and machine have columns of their own."""
GRID = ("grid.rows", "grid.columns")
NETWORK, CHIP = "network", "chip"


@dataclass(frozen=True, eq=False)
class Key:
    """What points differ in: a key of the chip, ``network``, ``chip``, ``grid``, or an option."""

    name: str
    values: tuple[Value, ...]
    """Those that there are, from the smallest up; grids by their tiles."""
    places: NDArray[np.int32]
    """(point): which of ``values``; -1 where the point has no such key."""

    def value(self, point: int) -> Value | None:
        """What a point has there."""
        place = int(self.places[point])
        return self.values[place] if place >= 0 else None


def varied(rows: Sequence[Row]) -> list[Key]:
    """The keys that have more than one value, networks and chips first; ``grid`` before its rows and columns."""
    columns: dict[str, list[Value | None]] = {}
    for place, row in enumerate(rows):
        for name, value in _keys(row):
            columns.setdefault(name, [None] * len(rows))[place] = value
    keys = [_key(name, column) for name, column in columns.items()]
    found = {key.name: key for key in keys if len(key.values) > 1}
    return [key for key in found.values() if key.name != "grid" or all(part in found for part in GRID)]


def heat_axes(keys: Sequence[Key]) -> tuple[Key, Key] | None:
    """The two keys that a map shows first: of those that do not follow from the chip's name or from the grid, the two
    with most values, the one with more of them first. None where no two keys differ.
    """
    names = {key.name for key in keys}
    known = [key for key in keys if key.name != NETWORK and not ("grid" in names and key.name in GRID)]
    chip = next((key for key in keys if key.name == CHIP), None)
    free = [key for key in known if chip is None or key is chip or not _follows(key, chip)]
    ranked = sorted(free if len(free) > 1 else known, key=lambda key: -len(key.values))
    return (ranked[0], ranked[1]) if len(ranked) > 1 else None


def _keys(row: Row) -> Iterator[tuple[str, Value]]:
    yield NETWORK, row["network"]
    yield CHIP, row["topology"]
    chip = row["chip"]
    if all(part in chip for part in GRID):
        yield "grid", "x".join(str(chip[part]) for part in GRID)
    yield from ((name, value) for name, value in chip.items() if name not in NAMELESS)
    yield from row["options"].items()


def _key(name: str, column: Sequence[Value | None]) -> Key:
    values = _in_order(name, {value for value in column if value is not None})
    places: Mapping[Value | None, int] = {None: -1, **{value: place for place, value in enumerate(values)}}
    return Key(name, tuple(values), np.array([places[value] for value in column], np.int32))


def _in_order(name: str, values: Iterable[Value]) -> list[Value]:
    if name == "grid":
        return sorted(values, key=_tiles)
    return sorted(values, key=lambda value: (isinstance(value, str), value))


def _tiles(grid: Value) -> tuple[int, int]:
    rows, columns = (int(part) for part in str(grid).split("x"))
    return rows * columns, rows


def _follows(key: Key, other: Key) -> bool:
    """Whether who knows a point's ``other`` knows its ``key``."""
    pairs = np.unique(np.stack([other.places, key.places]), axis=1)
    return pairs.shape[1] == np.unique(other.places).size
