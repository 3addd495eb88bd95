"""A map of two keys: what the points that share a value of each gave at best, or in the middle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tilesim.report.exploration.keys import Key
from tilesim.report.exploration.measures import Measure

How = Literal["best", "median"]
MOST_ACROSS, MOST_UP = 40, 30
"""Columns and rows of a map; of a key with more values, those that lie side by side share one."""


@dataclass(frozen=True)
class HeatMap:
    """Cells (value of ``up``, value of ``across``)."""

    across: Key
    up: Key
    measure: Measure
    how: How
    values: NDArray[np.float64]
    """Of the measure; not a number where no point has it."""
    points: NDArray[np.int64]
    """How many points there are, those that did not run too."""

    @property
    def refused(self) -> NDArray[np.bool_]:
        """Cells none of whose points ran."""
        return (self.points > 0) & np.isnan(self.values)


def heat_map(across: Key, up: Key, measure: Measure, of: NDArray[np.bool_], how: How = "best") -> HeatMap:
    """The map of the points in ``of``."""
    shape = (min(len(up.values), MOST_UP), min(len(across.values), MOST_ACROSS))
    columns, rows = _binned(across, shape[1]), _binned(up, shape[0])
    inside = of & (columns >= 0) & (rows >= 0)
    cells = np.where(inside, rows * shape[1] + columns, 0)
    points = np.bincount(cells[inside], minlength=shape[0] * shape[1])
    ran = inside & ~np.isnan(measure.values)
    values = _of_cells(cells[ran], measure.values[ran], points.size, _summary(measure, how))
    return HeatMap(across, up, measure, how, values.reshape(shape), points.reshape(shape))


def labels(key: Key, most: int) -> list[str]:
    """What the columns or rows of a map are called."""
    count = min(len(key.values), most)
    columns = np.arange(len(key.values)) * count // len(key.values)
    ends = [np.flatnonzero(columns == column)[[0, -1]] for column in range(count)]
    return [
        str(key.values[first]) if first == last else f"{key.values[first]} … {key.values[last]}" for first, last in ends
    ]


def _binned(key: Key, count: int) -> NDArray[np.int64]:
    """(point): the column or row; -1 where it has no such key."""
    places = key.places.astype(np.int64)
    return np.where(places >= 0, places * count // len(key.values), -1)


def _summary(measure: Measure, how: How) -> Callable[[NDArray[np.float64]], np.float64]:
    if how == "median":
        return np.median
    return np.max if measure.better == "higher" else np.min


def _of_cells(
    cells: NDArray[np.int64],
    values: NDArray[np.float64],
    count: int,
    summary: Callable[[NDArray[np.float64]], np.float64],
) -> NDArray[np.float64]:
    order = np.argsort(cells, kind="stable")
    ordered, starts = np.unique(cells[order], return_index=True)
    summed = np.full(count, np.nan)
    for cell, part in zip(ordered, np.split(values[order], starts[1:]), strict=True):
        summed[cell] = summary(part)
    return summed
