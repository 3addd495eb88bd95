"""Of the keys in which points differ: networks, chips and grids beside those of the chip, and which two to show."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tilesim.explore.row import Row
from tilesim.report.exploration.points import MISSING, VariedKey, varied_keys

GRID = ("grid.rows", "grid.columns")
NETWORK, CHIP = "network", "chip"


def space_keys(rows: Sequence[Row]) -> list[VariedKey]:
    """Those of :func:`varied_keys`, and before them ``network``, ``chip`` (its name), and ``grid`` where both its rows
    and its columns differ, by the number of tiles.
    """
    keys = varied_keys(rows)
    named = [_named(NETWORK, rows, lambda row: row["network"]), _named(CHIP, rows, lambda row: row["topology"])]
    return [*(key for key in named if len(key.values) > 1), *_grid(keys), *keys]


def telling(keys: Sequence[VariedKey]) -> list[VariedKey]:
    """Those that tell the points of one network apart: where there is ``grid``, not its rows and columns, too."""
    has_grid = any(key.key == "grid" for key in keys)
    return [key for key in keys if key.key != NETWORK and not (has_grid and key.key in GRID)]


def heat_axes(keys: Sequence[VariedKey]) -> tuple[VariedKey, VariedKey] | None:
    """The two keys that a map shows first: those with most values that do not follow from the name of the chip, the one
    with more of them first. None where no two keys differ.
    """
    known = telling(keys)
    chip = next((key for key in known if key.key == CHIP), None)
    free = [key for key in known if chip is None or key is chip or not _follows(key, chip)]
    ranked = sorted(free if len(free) > 1 else known, key=lambda key: -len(key.values))
    return (ranked[0], ranked[1]) if len(ranked) > 1 else None


def _named(name: str, rows: Sequence[Row], of: Callable[[Row], str]) -> VariedKey:
    names = [of(row) for row in rows]
    values = tuple(dict.fromkeys(names))
    places = {value: place for place, value in enumerate(values)}
    return VariedKey(name, values, np.array([places[each] for each in names], np.int64))


def _grid(keys: Sequence[VariedKey]) -> list[VariedKey]:
    found = {key.key: key for key in keys}
    if any(part not in found for part in GRID):
        return []
    rows, columns = (found[part] for part in GRID)
    known = (rows.codes != MISSING) & (columns.codes != MISSING)
    pairs, codes = np.unique(np.stack([rows.codes, columns.codes]), axis=1, return_inverse=True)
    sizes = [(int(rows.values[row]), int(columns.values[column])) for row, column in pairs.T]
    order = sorted(range(len(sizes)), key=lambda k: (sizes[k][0] * sizes[k][1], sizes[k]))
    places = np.argsort(order)[codes.reshape(-1)]
    values = tuple(f"{sizes[k][0]}x{sizes[k][1]}" for k in order)
    return [VariedKey("grid", values, np.where(known, places, MISSING))]


def _follows(key: VariedKey, other: VariedKey) -> bool:
    """Whether who knows a point's ``other`` knows its ``key``."""
    pairs = np.unique(np.stack([other.codes, key.codes]), axis=1)
    return bool(pairs.shape[1] == np.unique(other.codes).size)
