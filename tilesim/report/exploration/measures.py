"""All that the points of a sweep can be judged by: what every run gives, and its bytes, memories and causes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tilesim.explore.row import Measures, Row
from tilesim.report.exploration.points import MEASURES, Measure, measured
from tilesim.report.tracks import words
from tilesim.report.words import USEFUL, cause_words

SHARE = "share."
"""What the names of shares of the cycles begin with: nobody wants more or less of one alone."""
DEFINITIONS = {
    "latency_us": "from the first word in to the last word out of the first inference",
    "throughput_per_second": "inferences a second",
    "energy_pj": "dynamic energy of the counted actions of the run; no leakage",
    "inference_energy_pj": "dynamic energy of the counted actions, by the inferences; no leakage",
    "energy_delay": "energy of an inference times the latency of the first",
    "mac_utilisation": "useful multiply-accumulates of all that the chip could have done in the cycles of the run",
    "area_mm2": "a proxy from MACs, memories and links; no layout",
}
"""What those are by which a best point is named."""
LADDERS: Mapping[str, Sequence[str]] = {
    "pJ": ("pJ", "nJ", "µJ", "mJ", "J"),
    "µs": ("µs", "ms", "s"),
    "pJ·s": ("pJ·s", "nJ·s", "µJ·s", "mJ·s"),
}
"""Units, and those above them: a thousand of one are one of the next."""


def space_measures(rows: Sequence[Row]) -> list[Measure]:
    """:data:`MEASURES`, then bytes by bus, peaks by memory and shares of the cycles by cause, as far as any row has
    them. The energy of an inference is left out where every run is of one.
    """
    common = [each for each in MEASURES if not (_is_single(rows) and each.name == "inference_energy_pj")]
    gave = [measures for row in rows if (measures := row["measures"])]
    return [*common, *_by_part(gave)]


def shown_in(measure: Measure, values: NDArray[np.float64]) -> tuple[str, float]:
    """The unit in which people read such values, and what each is to be multiplied by: half of them are at least 1."""
    if measure.name == "mac_utilisation" or measure.name.startswith(SHARE):
        return "%", 100.0
    ladder = LADDERS.get(measure.unit)
    if ladder is None or np.isnan(values).all():
        return ("" if measure.unit == measure.words else measure.unit), 1.0
    step = int(np.clip(np.log10(max(np.nanmedian(values), 1.0)) // 3, 0, len(ladder) - 1))
    return ladder[step], 1000.0**-step


def judged(rows: Sequence[Row]) -> list[Measure]:
    """Those by which a best point is named; where every run is of one inference, the fastest has most of them a second,
    too.
    """
    found = [each for each in space_measures(rows) if each.name in DEFINITIONS]
    return [each for each in found if not (_is_single(rows) and each.name == "throughput_per_second")]


def costs(rows: Sequence[Row], measures: Sequence[Measure]) -> NDArray[np.float64]:
    """(point, measure): the less, the better."""
    columns = [measured(rows, each) * (-1 if each.more_is_better else 1) for each in measures]
    return np.stack(columns, axis=1)


def _is_single(rows: Sequence[Row]) -> bool:
    return all(row["options"].get("inferences", 1) == 1 for row in rows)


def _by_part(gave: Sequence[Measures]) -> Iterator[Measure]:
    for bus in _names(measures["bytes"] for measures in gave):
        yield Measure(f"bytes.{bus}", f"bytes on {words(bus)}", "B", _part(bus, lambda gave: gave["bytes"]))
    for memory in _names(measures["peak_bytes"] for measures in gave):
        yield Measure(
            f"peak_bytes.{memory}", f"peak of {words(memory)}", "B", _part(memory, lambda gave: gave["peak_bytes"])
        )
    for cause in _names(measures["breakdown"] for measures in gave):
        yield Measure(f"{SHARE}{cause}", f"of cycles: {cause_words(cause)}", "", _share(cause), cause in USEFUL)


def _names(parts: Iterator[Mapping[str, float]]) -> dict[str, None]:
    return dict.fromkeys(name for numbers in parts for name in numbers)


def _part(name: str, of: Callable[[Measures], Mapping[str, float]]) -> Callable[[Row, Measures], float]:
    def number(_: Row, measures: Measures) -> float:
        return of(measures).get(name, np.nan)

    return number


def _share(cause: str) -> Callable[[Row, Measures], float]:
    return lambda _, measures: measures["breakdown"].get(cause, 0.0) / max(1, measures["cycles"])
