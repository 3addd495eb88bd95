"""Of the keys in which points differ: networks, chips and grids beside those of the chip, and which two to show."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

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


def in_order(rows: Sequence[Row]) -> list[Row]:
    """The rows by their keys, the first of them first, whatever the order in which they ran."""
    keys = space_keys(rows)
    places = np.lexsort([key.codes for key in reversed(keys)]) if keys else range(len(rows))
    return [rows[place] for place in places]


def telling(keys: Sequence[VariedKey]) -> list[VariedKey]:
    """Those that tell the points of one network apart: where there is ``grid``, not its rows and columns, too."""
    has_grid = any(key.key == "grid" for key in keys)
    return [key for key in keys if key.key != NETWORK and not (has_grid and key.key in GRID)]


def heat_axes(keys: Sequence[VariedKey], values: NDArray[np.float64]) -> tuple[VariedKey, VariedKey] | None:
    """The two keys that a map of ``values``, a number a point, shows first: those that change them most, the one with
    more values first. None where no two keys differ.
    """
    effects = {key.key: effect(key, values) for key in telling(keys)}
    ranked = sorted(telling(keys), key=lambda key: -effects[key.key])[:2]
    across, up = sorted(ranked, key=lambda key: -len(key.values)) if len(ranked) > 1 else (None, None)
    return (across, up) if across and up else None


def effect(key: VariedKey, values: NDArray[np.float64]) -> float:
    """How much of the variance of the values' logarithms goes with the key: 1 if all, about 0 if no more than chance
    would, as of a key of which each point has another value.

    Source: the adjusted coefficient of determination, with the key's values as classes; its use here is an assumption.
    """
    known = (key.codes != MISSING) & (values > 0)
    codes, logarithms = key.codes[known], np.log(values[known])
    counts = np.bincount(codes)
    sums, free = np.bincount(codes, logarithms), codes.size - np.count_nonzero(counts)
    if not free or not logarithms.var():
        return 0.0
    within: float = np.square(logarithms - (sums / np.maximum(counts, 1))[codes]).sum() / free
    return 1 - within / float(logarithms.var(ddof=1))


def _named(name: str, rows: Sequence[Row], of: Callable[[Row], str]) -> VariedKey:
    names = [of(row) for row in rows]
    values = tuple(sorted(set(names)))
    places = {value: place for place, value in enumerate(values)}
    return VariedKey(name, values, np.array([places[each] for each in names], np.int64))


def _grid(keys: Sequence[VariedKey]) -> list[VariedKey]:
    found = {key.key: key for key in keys}
    if any(part not in found for part in GRID):
        return []
    rows, columns = (found[part] for part in GRID)
    known = (rows.codes != MISSING) & (columns.codes != MISSING)
    pairs, codes = np.unique(np.stack([rows.codes, columns.codes])[:, known], axis=1, return_inverse=True)
    sizes = [(int(rows.values[row]), int(columns.values[column])) for row, column in pairs.T]
    order = sorted(range(len(sizes)), key=lambda k: (sizes[k][0] * sizes[k][1], sizes[k]))
    places = np.full(known.size, MISSING)
    places[known] = np.argsort(order)[codes.reshape(-1)]
    return [VariedKey("grid", tuple(f"{sizes[k][0]}x{sizes[k][1]}" for k in order), places)]
