"""The best points of each network, by what a sweep is to minimise or maximise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tilesim.explore.answers import Objective, score
from tilesim.explore.row import Row
from tilesim.report.exploration.front import front


def best(rows: Sequence[Row], objectives: Sequence[Objective]) -> dict[str, list[Row]]:
    """By network the rows that ran: of one objective all, the best first; of several those on the Pareto front, in the
    order of the first. Of equal ones the smaller chip comes first, then the smaller key.
    """
    networks = dict.fromkeys(row["network"] for row in rows)
    found = {name: [*_best([row for row in rows if row["network"] == name], objectives)] for name in networks}
    return {name: points for name, points in found.items() if points}


def _best(rows: Sequence[Row], objectives: Sequence[Objective]) -> Iterator[Row]:
    costs = np.array([[score(row, objective) for objective in objectives] for row in rows])
    counts = front(costs) if len(objectives) > 1 else ~np.isnan(costs[:, 0])
    scored = [
        (*cost, sum(row["area"].values()), row["key"], row)
        for row, cost, one in zip(rows, costs.tolist(), counts, strict=True)
        if one
    ]
    yield from (row for *_, row in sorted(scored, key=lambda each: each[:-1]))
