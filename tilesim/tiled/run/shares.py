"""What a chip's tiles did for each layer, as rows of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from tilesim.sim.core.port import NEVER
from tilesim.tiled.flat.tables import Numbers

if TYPE_CHECKING:
    from tilesim.tiled.units.shares import RunPart


class Shares(Struct, frozen=True, dict=True):
    """What was done in a part of a run that began in cycle ``start``.

    ``worked``: a row for each tile and layer: these (-1: none), from when to when. ``spent``: the MAC arrays' cycles
    in tensorops, (layers + 1, causes), the last row for none. ``waits``: what each tensorop waited for, and its tile:
    tile, layer, cause, from when to when. The ``causes`` are as :class:`~tilesim.tiled.units.shares.LayerShare` has
    them.
    """

    start: int
    causes: Sequence[str]
    worked: Numbers
    spent: Numbers
    waits: Numbers

    @cached_property
    def began(self) -> Numbers:
        """When the first tile began with each layer; the last one is none."""
        return self._of_layers(np.minimum, NEVER, self.worked[:, 2])

    @cached_property
    def ended(self) -> Numbers:
        """When the last one was through with it; 0 if there was none."""
        return self._of_layers(np.maximum, 0, self.worked[:, 3])

    @cached_property
    def tiles(self) -> Numbers:
        """How many had a part in it."""
        return self._of_layers(np.add, 0, 1)

    def _of_layers(self, ufunc: np.ufunc, start: int, values: Numbers | int) -> Numbers:
        found = np.full(len(self.spent), start)
        ufunc.at(found, self.worked[:, 1], values)
        return found


def shares_of(part: RunPart, layers: int) -> Shares:
    """What tiles themselves counted, of a program of so many layers."""
    rows = [(tile, k, share) for tile, shares in enumerate(part.shares) for k, share in shares.items()]
    numbers: dict[str, int] = {}
    spent = [(k, _number(numbers, what), n) for _, k, share in rows for what, n in share.spent.items()]
    waits = [
        (tile, k, _number(numbers, what), wait.start, wait.stop)
        for tile, k, share in rows
        for what, wait in share.waits
    ]
    table = np.zeros((layers + 1, len(numbers)), np.int64)
    for k, cause, cycles in spent:
        table[k, cause] += cycles
    worked = [(tile, k, share.start, share.end) for tile, k, share in rows]
    return Shares(part.start, [*numbers], _rows(worked, 4), table, _rows(waits, 5))


def _number(numbers: dict[str, int], what: str) -> int:
    return numbers.setdefault(what, len(numbers))


def _rows(rows: Sequence[tuple[int, ...]], columns: int) -> Numbers:
    return np.array(rows, np.int64).reshape(-1, columns)
