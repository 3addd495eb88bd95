"""The sections of a sweep's page that show its points: in figures, as a map of two keys, as a front, and in a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.explore.row import Row
from tilesim.explore.rows import front
from tilesim.printable import printable, printable_lines
from tilesim.report.exploration import heat
from tilesim.report.exploration.keys import heat_axes, space_keys, telling
from tilesim.report.exploration.measures import DEFINITIONS, SHARE, judged, shown_in, space_measures
from tilesim.report.exploration.outcomes import STATUSES, bests, counts, reasons, unlike_outputs
from tilesim.report.exploration.points import MEASURES, Measure, VariedKey, distinct, measured
from tilesim.report.page.build import PageSection
from tilesim.report.words import cause_words

NOTHING = '""'
"""How an empty value shows."""


@dataclass(frozen=True)
class Texts:
    """Many texts: each the places of its words, which they share, parted by single spaces."""

    words: list[str]
    places: NDArray[np.int64]
    ends: NDArray[np.int64]
    """(text): where its places end."""


def points_section(rows: Sequence[Row]) -> PageSection:
    """The points in figures, and all that the other sections show of them.

    Data: ``networks`` and ``keys[k].values`` are what the columns' codes stand for; ``measures`` says which columns
    there are. Columns: ``network``, ``status``, ``key.<k>`` (-1: the row has no such key), each measure by its name
    (not a number: none), and the words of commands and reasons.
    """
    keys, measures = space_keys(rows), space_measures(rows)
    sentences = {name: texts(found) for name, found in _sentences(rows).items()}
    data = {
        **_dictionaries(rows, keys, measures),
        **_figures(rows, measures),
        "texts": {name: found.words for name, found in sentences.items()},
    }
    columns = _columns(rows, keys, measures)
    for name, found in sentences.items():
        columns |= {f"{name} words": found.places, f"{name} ends": found.ends}
    return PageSection("explore", "Points", data, columns, ("explore_common.js", "explore.js"))


def space_sections(rows: Sequence[Row]) -> list[PageSection]:
    """A map of two keys, the Pareto front, and the table of all points: of what :func:`points_section` holds."""
    keys = space_keys(rows)
    axes = heat_axes(keys, first_latencies(rows))
    chosen = {
        "axes": [keys.index(key) for key in axes] if axes else None, "across": heat.MOST_ACROSS, "up": heat.MOST_UP,
    }  # fmt: skip
    heat_scripts = ("explore_common.js", "explore_colours.js", "explore_heat_cells.js", "explore_heat.js")
    front_scripts = ("explore_colours.js", "explore_front.js", "explore_plot.js", "explore_pareto.js")
    table_scripts = ("explore_common.js", "explore_filter.js", "explore_columns.js", "explore_table.js")
    definition = {"definition": front.DEFINITION}
    return [
        PageSection("explore_heat", "Two keys", chosen, scripts=heat_scripts),
        PageSection("explore_pareto", "Pareto front", definition, scripts=("explore_common.js", *front_scripts)),
        PageSection("explore_table", "All points", scripts=table_scripts),
    ]


def first_latencies(rows: Sequence[Row]) -> NDArray[np.float64]:
    """(point): latency in microseconds; not a number of all networks but the first."""
    of_first = np.array([row["network"] == rows[0]["network"] for row in rows], np.bool_)
    return np.where(of_first, measured(rows, MEASURES[0]), np.nan)


def texts(sentences: Iterable[str]) -> Texts:
    """Sentences as numbers: those of a sweep are made of few words."""
    vocabulary: dict[str, int] = {}
    places: list[int] = []
    ends: list[int] = []
    for sentence in sentences:
        places += [vocabulary.setdefault(word, len(vocabulary)) for word in sentence.split(" ")]
        ends.append(len(places))
    return Texts([*vocabulary], np.array(places, np.int64), np.array(ends, np.int64))


# ---- what columns stand for


def _dictionaries(rows: Sequence[Row], keys: Sequence[VariedKey], measures: Sequence[Measure]) -> dict[str, Any]:
    told = telling(keys)
    return {
        "count": len(rows),
        "statuses": STATUSES,
        "networks": [printable(name) for name in distinct(row["network"] for row in rows)],
        "bounds": [cause_words(cause) for cause in distinct(map(_bound_by, rows))],
        "keys": [{**_key(key), "telling": any(key is each for each in told)} for key in keys],
        "measures": [_measure(rows, measure) for measure in measures],
    }  # fmt: skip


def _key(key: VariedKey) -> dict[str, Any]:
    """Its values in words, and as numbers where all are."""
    are_numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in key.values)
    return {
        "key": printable(key.key),
        "values": [printable(word) or NOTHING for word in key.words],
        "numbers": list(key.values) if are_numbers else None,
    }


def _measure(rows: Sequence[Row], measure: Measure) -> dict[str, Any]:
    """What it is, and the unit in which it shows: that of its column times a factor."""
    unit, factor = shown_in(measure, measured(rows, measure))
    return {
        "name": measure.name,
        "words": printable(measure.words),
        "unit": unit,
        "factor": factor,
        "more_is_better": measure.more_is_better,
        "main": measure in MEASURES,
        "share": measure.name.startswith(SHARE),
        "definition": DEFINITIONS.get(measure.name, ""),
    }


def _columns(
    rows: Sequence[Row], keys: Sequence[VariedKey], measures: Sequence[Measure]
) -> dict[str, NDArray[Any]]:  # fmt: skip
    return {
        "network": _codes(row["network"] for row in rows),
        "status": np.array([STATUSES.index(row["status"]) for row in rows], np.int64),
        "bound": _codes(map(_bound_by, rows)),
        **{f"key.{k}": key.codes for k, key in enumerate(keys)},
        **{measure.name: measured(rows, measure) for measure in measures},
    }


def _codes(names: Iterable[str]) -> NDArray[np.int64]:
    """(point): which of the distinct names, as :func:`distinct` puts them."""
    places: dict[str, int] = {}
    return np.array([places.setdefault(name, len(places)) for name in names], np.int64)


def _bound_by(row: Row) -> str:
    measures = row["measures"]
    return (measures["bound_by"] or "") if measures else ""


def _sentences(rows: Sequence[Row]) -> dict[str, list[str]]:
    return {"command": [row["command"] for row in rows], "reason": [printable_lines(row["reason"]) for row in rows]}


# ---- the points in figures


def _figures(rows: Sequence[Row], measures: Sequence[Measure]) -> dict[str, Any]:
    names = [measure.name for measure in measures]
    return {
        "counts": counts(rows),
        "reasons": [
            asdict(replace(each, sentence=printable_lines(each.sentence)))
            for each in reasons(rows)
        ],
        "bests": [
            {
                "network": printable(best.network), "measure": names.index(best.measure.name), "point": best.point,
                "ties": best.ties,
            }
            for best in bests(rows, judged(rows))
        ],
        "unlike_outputs": [printable(name) for name in unlike_outputs(rows)],
    }  # fmt: skip
