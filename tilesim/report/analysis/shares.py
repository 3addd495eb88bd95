"""The run at a glance: for each unit, or all of a kind together, which share of each bin of time went into what."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tilesim.report.analysis.roles import role
from tilesim.report.analysis.spans import Words, edges_of, run_spans
from tilesim.report.kinds import in_order
from tilesim.sim.trace.trace import Trace
from tilesim.statistics import RunStatistics, UnitStatistics

ALONE = ("MAC arrays",)
"""What each has a row of its own; all others of a role share one."""


@dataclass(frozen=True)
class Shares:
    """``cycles`` is (row, kind, bin): of all ``units[row]`` units of the row together; what is missing is idle."""

    rows: tuple[str, ...]
    units: NDArray[np.int64]
    kinds: tuple[str, ...]
    edges: Words
    cycles: Words

    @property
    def fractions(self) -> NDArray[np.float64]:
        """Of each bin, in (row, kind, bin)."""
        result: NDArray[np.float64] = self.cycles / (np.diff(self.edges) * self.units[:, None, None])
        return result


def shares(statistics: RunStatistics, trace: Trace, bins: int) -> Shares:
    """Of the units that were ever busy: first those of a row each, then the others in the order of run.json."""
    rows = _rows([unit for unit in (*statistics["units"], *statistics["links"]) if unit["busy_cycles"]])
    rows = dict(sorted(rows.items(), key=lambda row: role(row[1][0]).words not in ALONE))
    spans = run_spans(statistics, trace, [track for tracks in rows.values() for track in tracks])
    edges = edges_of(statistics["cycles"], bins)
    kinds = in_order(spans.kinds)
    cycles = np.zeros((len(rows), len(kinds), len(edges) - 1), np.int64)
    for row, tracks in enumerate(rows.values()):
        for of in (spans.of[track] for track in tracks):
            for place, kind in enumerate(kinds):
                cycles[row, place] += of.where(of.kind == spans.kinds.index(kind)).per_bin(edges)
    units = np.array([len(tracks) for tracks in rows.values()], np.int64)
    return Shares(tuple(rows), units, tuple(kinds), edges, cycles)


def _rows(units: Sequence[UnitStatistics]) -> dict[str, list[str]]:
    """Tracks by the name of the row that shows them."""
    rows: defaultdict[str, list[str]] = defaultdict(list)
    for unit in units:
        words = role(unit["track"]).words
        rows[unit["track"] if words in ALONE else words].append(unit["track"])
    return dict(rows)
