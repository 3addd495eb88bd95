"""What came of the points of a sweep: how many ran, why the others did not, and which are best."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tilesim.explore.row import Row, Status
from tilesim.report.exploration.measures import costs
from tilesim.report.exploration.points import Measure

STATUSES: tuple[Status, ...] = ("ran", "refused", "failed")


@dataclass(frozen=True)
class Reason:
    """Why points did not run. Sentences that differ in numbers alone are one; it stands here as the first had it."""

    status: Status
    sentence: str
    points: int
    first: int
    """The first of them."""


@dataclass(frozen=True)
class Best:
    """The best point of a network by a measure."""

    network: str
    measure: Measure
    point: int
    """The first of those that are as good."""
    ties: int
    """How many others are as good."""


def counts(rows: Sequence[Row]) -> dict[Status, int]:
    """How many points there are of each status."""
    found = Counter(row["status"] for row in rows)
    return {status: found[status] for status in STATUSES}


def reasons(rows: Sequence[Row]) -> list[Reason]:
    """Why points did not run, the most frequent first."""
    groups: dict[tuple[Status, str], list[int]] = {}
    for point, row in enumerate(rows):
        if row["status"] != "ran":
            groups.setdefault((row["status"], _without_numbers(row["reason"])), []).append(point)
    found = [
        Reason(status, rows[points[0]]["reason"], len(points), points[0]) for (status, _), points in groups.items()
    ]
    return sorted(found, key=lambda reason: -reason.points)


def bests(rows: Sequence[Row], measures: Sequence[Measure]) -> Iterator[Best]:
    """The best of each network by each of the measures, of the points that ran."""
    names = np.array([row["network"] for row in rows], np.object_)
    by_measure = costs(rows, measures)
    for network in dict.fromkeys(row["network"] for row in rows):
        for measure, of_points in zip(measures, by_measure.T, strict=True):
            if equals := _lowest(np.where(names == network, of_points, np.nan)):
                yield Best(network, measure, equals[0], len(equals) - 1)


def unlike_outputs(rows: Sequence[Row]) -> list[str]:
    """The networks whose outputs are not the same in all points that ran as many inferences."""
    digests: dict[tuple[str, object], set[str]] = {}
    for row in rows:
        if row["measures"] is not None:
            same = (row["network"], row["options"].get("inferences"))
            digests.setdefault(same, set()).add(row["measures"]["outputs_sha256"])
    return list(dict.fromkeys(network for (network, _), found in digests.items() if len(found) > 1))


def _without_numbers(sentence: str) -> str:
    return re.sub(r"\d[\d,._]*( ?[KMG]?i?B\b)?", "#", sentence)


def _lowest(numbers: NDArray[np.float64]) -> list[int]:
    """Where the lowest of them stands, and its equals."""
    if np.isnan(numbers).all():
        return []
    return [int(place) for place in np.flatnonzero(numbers == np.nanmin(numbers))]
