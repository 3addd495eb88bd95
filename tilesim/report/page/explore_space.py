"""The sections of a sweep's page that show its points: in figures, as a map of two keys, as a front, and in a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.explore.row import Row
from tilesim.printable import printable
from tilesim.report.exploration import front, heat
from tilesim.report.exploration.keys import CHIP, NETWORK, Key, heat_axes, varied
from tilesim.report.exploration.measures import DEFINITIONS, MAIN, Measure, measures
from tilesim.report.exploration.outcomes import bests, counts, reasons, unlike_outputs
from tilesim.report.page.build import PageSection
from tilesim.report.words import cause_words

STATUSES = ("ran", "refused", "failed")
TITLES = {
    "explore_points": "Points",
    "explore_heat": "Two keys",
    "explore_pareto": "Pareto front",
    "explore_table": "All points",
}
"""The sections; the first brings the points, which the others wait for."""


@dataclass(frozen=True)
class Texts:
    """Many texts: each the places of its words, which they share, parted by single spaces."""

    words: list[str]
    places: NDArray[np.int64]
    ends: NDArray[np.int64]
    """(text): where its places end."""


def space_sections(rows: Sequence[Row]) -> list[PageSection]:
    """The sections of :data:`TITLES`, in this order."""
    keys, measured = varied(rows), measures(rows)
    axes = heat_axes(keys)
    data: dict[str, Any] = {
        "explore_points": _points(rows, keys, measured),
        "explore_heat": {"axes": [keys.index(key) for key in axes] if axes else None, "most": _most()},
        "explore_pareto": {"definition": front.DEFINITION},
        "explore_table": None,
    }
    columns = {"explore_points": _columns(rows, keys, measured)}
    return [
        PageSection(name, title, data[name], columns.get(name, {}), ("explore_common.js", *_scripts(name)))
        for name, title in TITLES.items()
    ]


def texts(sentences: Iterable[str]) -> Texts:
    """Sentences as numbers: those of a sweep are made of few words."""
    vocabulary: dict[str, int] = {}
    places: list[int] = []
    ends: list[int] = []
    for sentence in sentences:
        places += [vocabulary.setdefault(word, len(vocabulary)) for word in sentence.split(" ")]
        ends.append(len(places))
    return Texts([*vocabulary], np.array(places, np.int64), np.array(ends, np.int64))


def _most() -> dict[str, int]:
    return {"across": heat.MOST_ACROSS, "up": heat.MOST_UP}


def _scripts(name: str) -> tuple[str, ...]:
    more = {
        "explore_heat": ("explore_colours.js", "explore_heat_cells.js"),
        "explore_pareto": ("explore_colours.js", "explore_pareto_front.js", "explore_pareto_plot.js"),
        "explore_table": ("explore_table_filter.js", "explore_table_rows.js"),
    }
    return (*more.get(name, ()), f"{name}.js")


# ---- the points, and what they are in figures


def _points(rows: Sequence[Row], keys: Sequence[Key], measured: Sequence[Measure]) -> dict[str, Any]:
    main = [measure for measure in measured if measure.name in DEFINITIONS]
    return {
        "count": len(rows),
        "statuses": STATUSES,
        "counts": counts(rows),
        "networks": [printable(name) for name in _distinct(row["network"] for row in rows)],
        "keys": [_key(key) for key in keys],
        "measures": [_measure(measure) for measure in measured],
        "bounds": [cause_words(cause) for cause in _distinct(_bound_by(row) for row in rows)],
        "texts": {name: found.words for name, found in _texts(rows).items()},
        "reasons": [
            {"status": each.status, "sentence": printable(each.sentence), "points": each.points, "first": each.first}
            for each in reasons(rows)
        ],
        "bests": [
            {
                "network": printable(best.network),
                "measure": measured.index(best.measure),
                "point": best.point,
                "ties": best.ties,
            }
            for best in bests(rows, main)
        ],
        "unlike_outputs": [printable(name) for name in unlike_outputs(rows)],
    }


def _key(key: Key) -> dict[str, Any]:
    values = [printable(value) if isinstance(value, str) else value for value in key.values]
    return {"name": printable(key.name), "values": values, "role": key.name if key.name in (NETWORK, CHIP) else "key"}


def _measure(measure: Measure) -> dict[str, Any]:
    return {
        "name": measure.name,
        "words": printable(measure.words),
        "unit": measure.unit,
        "better": measure.better,
        "main": measure.name in {name for name, *_ in MAIN},
        "definition": DEFINITIONS.get(measure.name, ""),
    }


def _columns(rows: Sequence[Row], keys: Sequence[Key], measured: Sequence[Measure]) -> dict[str, NDArray[Any]]:
    columns: dict[str, NDArray[Any]] = {
        "status": np.array([STATUSES.index(row["status"]) for row in rows], np.int32),
        "network": _places(row["network"] for row in rows),
        "bound": _places(_bound_by(row) for row in rows),
    }
    columns |= {f"key {place}": key.places for place, key in enumerate(keys)}
    columns |= {f"measure {place}": measure.values for place, measure in enumerate(measured)}
    for name, found in _texts(rows).items():
        columns |= {f"{name} words": found.places, f"{name} ends": found.ends}
    return columns


def _texts(rows: Sequence[Row]) -> dict[str, Texts]:
    return {"command": texts(row["command"] for row in rows), "reason": texts(printable(row["reason"]) for row in rows)}


def _bound_by(row: Row) -> str | None:
    gave = row["measures"]
    return gave["bound_by"] if gave else None


def _distinct(values: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(values))


def _places(values: Iterable[Any]) -> NDArray[np.int32]:
    """(point): which of the distinct values, counted as they come."""
    found: dict[Any, int] = {}
    return np.array([found.setdefault(value, len(found)) for value in values], np.int32)
