"""A map of two keys: what the points that share a value of each gave at best, or in the middle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tilesim.report.exploration.points import VariedKey

How = Literal["lowest", "highest", "median"]
Summary = Callable[[NDArray[np.float64]], np.float64]
SUMMARIES: dict[How, Summary] = {"lowest": np.min, "highest": np.max, "median": np.median}
MOST_ACROSS, MOST_UP = 40, 30
"""Columns and rows of a map; of a key with more values, those that lie side by side share one."""


@dataclass(frozen=True)
class HeatMap:
    """Cells (value of ``up``, value of ``across``)."""

    across: VariedKey
    up: VariedKey
    values: NDArray[np.float64]
    """Of the measure; not a number where no point has it."""
    points: NDArray[np.int64]
    """How many points there are, those that did not run too."""

    @property
    def refused(self) -> NDArray[np.bool_]:
        """Cells that have points, none of which ran."""
        refused: NDArray[np.bool_] = (self.points > 0) & np.isnan(self.values)
        return refused


def heat_map(across: VariedKey, up: VariedKey, values: NDArray[np.float64], of: NDArray[np.bool_], how: How) -> HeatMap:
    """The map of a measure's ``values``, a number a point, of the points in ``of``."""
    shape = (min(len(up.values), MOST_UP), min(len(across.values), MOST_ACROSS))
    columns, rows = _cells(across, shape[1]), _cells(up, shape[0])
    inside = of & (columns >= 0) & (rows >= 0)
    cells = rows * shape[1] + columns
    points = np.bincount(cells[inside], minlength=shape[0] * shape[1])
    ran = inside & ~np.isnan(values)
    summed = _summed(cells[ran], values[ran], points.size, SUMMARIES[how])
    return HeatMap(across, up, summed.reshape(shape), points.reshape(shape))


def labels(key: VariedKey, most: int) -> list[str]:
    """What the columns or rows of a map are called."""
    words, count = key.words, min(len(key.values), most)
    cells = np.arange(len(words)) * count // len(words)
    ends = [np.flatnonzero(cells == cell)[[0, -1]] for cell in range(count)]
    return [words[first] if first == last else f"{words[first]} … {words[last]}" for first, last in ends]


def _cells(key: VariedKey, count: int) -> NDArray[np.int64]:
    """(point): the column or row; -1 where it has no such key."""
    return np.where(key.codes >= 0, key.codes * count // len(key.values), -1)


def _summed(cells: NDArray[np.int64], values: NDArray[np.float64], count: int, summary: Summary) -> NDArray[np.float64]:
    order = np.argsort(cells, kind="stable")
    filled, starts = np.unique(cells[order], return_index=True)
    summed = np.full(count, np.nan)
    for cell, part in zip(filled, np.split(values[order], starts)[1:], strict=True):
        summed[cell] = summary(part)
    return summed
