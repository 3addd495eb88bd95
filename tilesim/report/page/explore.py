"""The page of a sweep: what its points say together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.explore.row import Row
from tilesim.report.exploration.points import MEASURES, VariedKey, measured, varied_keys
from tilesim.report.page import explore_series
from tilesim.report.page.build import PageSection, page
from tilesim.units import format_seconds

STATUSES = ("ran", "refused", "failed")


def exploration_page(rows: Sequence[Row], title: str) -> str:
    """The whole page of a sweep, as HTML."""
    networks = _distinct(row["network"] for row in rows)
    subtitle = f"{len(rows):,} points of {', '.join(networks)}, as tilesim simulated them"
    return page(title, subtitle, sections(rows))


def sections(rows: Sequence[Row]) -> list[PageSection]:
    """The sweep in figures, and what its points say. The first holds what all share: scripts of others ask for it with
    ``tilesim.given("explore")``.
    """
    keys = varied_keys(rows)
    return [
        PageSection("explore", "Sweep", _overview(rows, keys), _columns(rows, keys)),
        *explore_series.sections(rows),
    ]


def _overview(rows: Sequence[Row], keys: Sequence[VariedKey]) -> dict[str, Any]:
    """``networks`` and ``keys[k].values``: what the columns' codes stand for; ``measures``: which columns there are."""
    return {
        "networks": _distinct(row["network"] for row in rows),
        "keys": [{"key": key.key, "values": key.words} for key in keys],
        "measures": [
            {"name": each.name, "words": each.words, "unit": each.unit, "more_is_better": each.more_is_better}
            for each in MEASURES
        ],
        "figures": list(_figures(rows)),
        "best": list(_best(rows)),
        "reasons": [
            {"status": status, "reason": reason, "count": count}
            for (status, reason), count in Counter(
                (row["status"], row["reason"]) for row in rows if row["status"] != "ran"
            ).most_common()
        ],
    }


def _columns(rows: Sequence[Row], keys: Sequence[VariedKey]) -> Mapping[str, NDArray[Any]]:
    """A column for ``network``, ``status``, ``key.<k>`` (-1: the row has no such key), and each measure (NaN: none)."""
    place = {name: code for code, name in enumerate(_distinct(row["network"] for row in rows))}
    return {
        "network": np.array([place[row["network"]] for row in rows], np.int64),
        "status": np.array([STATUSES.index(row["status"]) for row in rows], np.int64),
        **{f"key.{k}": key.codes for k, key in enumerate(keys)},
        **{measure.name: measured(rows, measure) for measure in MEASURES},
    }


def _distinct(names: Iterator[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _figures(rows: Sequence[Row]) -> Iterator[dict[str, str]]:
    count = Counter(row["status"] for row in rows)
    yield {"name": "points", "value": f"{len(rows):,}", "meaning": f"{count['ran']:,} ran"}
    yield {
        "name": "refused",
        "value": f"{count['refused']:,}",
        "meaning": "the chip can't be, or can't hold the network",
    }
    yield {"name": "failed", "value": f"{count['failed']:,}", "meaning": "the run could not go on"}


def _best(rows: Sequence[Row]) -> Iterator[dict[str, str]]:
    """Of each network the fastest point."""
    fastest: dict[str, tuple[float, str]] = {}
    for row in rows:
        if measures := row["measures"]:
            point = (measures["latency_us"], row["command"])
            fastest[row["network"]] = min(point, fastest.get(row["network"], point))
    for network, (latency_us, command) in fastest.items():
        yield {"network": network, "latency": format_seconds(latency_us / 1e6), "command": command}
