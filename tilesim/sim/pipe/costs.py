"""What a pipe's groups cost."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tilesim.sim.core.port import NEVER

Counts = NDArray[np.int64]


class Costs(Struct, frozen=True, dict=True):
    """Cycles that each group takes: ``extras`` and ``issues`` reads, ``writes`` writes, one array element a group.

    ``apart``: how far before each group the last one stands that writes what it reads; None if there are none. Pipes
    that have the same costs share what is derived from them.
    """

    extras: Counts
    issues: Counts
    writes: Counts
    apart: Counts | None = None

    @cached_property
    def columns(self) -> tuple[list[int], list[int], list[int]]:
        """Extras, issues and writes."""
        return self.extras.tolist(), self.issues.tolist(), self.writes.tolist()

    @cached_property
    def distances(self) -> list[int] | None:
        """``apart``."""
        return None if self.apart is None else self.apart.tolist()

    @cached_property
    def run_ends(self) -> list[int]:
        """Where runs of equally costly groups end."""
        changes = self.issues[1:] != self.issues[:-1]
        for column in (self.extras, self.writes, *([] if self.apart is None else [self.apart])):
            changes |= column[1:] != column[:-1]
        return [*(np.flatnonzero(changes) + 1).tolist(), len(self.issues)]

    @cached_property
    def runs(self) -> Counts:
        """For each run of equally costly groups its end, extras, issues, writes and ``apart`` (never, if None)."""
        ends = np.array(self.run_ends, np.int64)
        apart = np.full(len(self.issues), NEVER) if self.apart is None else self.apart
        columns = [column[ends - 1] for column in (self.extras, self.issues, self.writes, apart)]
        return np.stack([ends, *columns], axis=1)
