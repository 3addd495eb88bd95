"""What the points of a sweep gave: each measure a column, with its unit and which way is better."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tilesim.explore.row import Measures, Row
from tilesim.report.tracks import words
from tilesim.report.words import cause_words

Better = Literal["lower", "higher", ""]
Column = NDArray[np.float64]

ENERGY_DELAY = "energy_delay"
DEFINITIONS = {
    "latency_us": "from the first word in to the last word out of the first inference",
    "throughput_per_second": "inferences a second",
    "energy_uj": "dynamic energy of the counted actions, of an inference; no leakage",
    ENERGY_DELAY: "energy of an inference times the latency of the first",
    "mac_utilisation": "useful multiply-accumulates of all that the chip could have done in the cycles of the run",
    "area_mm2": "a proxy from MACs, memories and links; no layout",
}
"""What the measures of :data:`MAIN` are."""


@dataclass(frozen=True, eq=False)
class Measure:
    """A measure of all points."""

    name: str
    """What JSON calls it, with its unit: ``latency_us``."""
    words: str
    unit: str
    """As it stands behind a number; ``%`` where 100 is all."""
    better: Better
    """Which way is better; empty where neither is."""
    values: Column
    """(point): not a number where the point has none."""

    @property
    def title(self) -> str:
        """For an axis or the head of a column."""
        return f"{self.words}, {self.unit}" if self.unit else self.words


MAIN: tuple[tuple[str, str, str, Better], ...] = (
    ("latency_us", "latency", "µs", "lower"),
    ("throughput_per_second", "throughput", "1/s", "higher"),
    ("energy_uj", "energy", "µJ", "lower"),
    (ENERGY_DELAY, "energy-delay product", "µJ·ms", "lower"),
    ("mac_utilisation", "MACs in use", "%", "higher"),
    ("area_mm2", "area", "mm²", "lower"),
    ("cycles", "cycles", "", "lower"),
    ("load_cycles", "cycles of loading", "", "lower"),
    ("tiles", "tiles", "", "lower"),
)
"""Those that every sweep has: name, words, unit, and which way is better."""


def measures(rows: Sequence[Row]) -> list[Measure]:
    """All that any of the rows has a number for, the main ones first, then bytes by bus, peaks by memory, and shares of
    the cycles by cause.
    """
    main = [Measure(*about, _column(rows, FROM_ROW[about[0]])) for about in MAIN]
    return [measure for measure in (*main, *_by_part(rows)) if not np.isnan(measure.values).all()]


def _column(rows: Sequence[Row], number: Callable[[Row], float | None]) -> Column:
    numbers = (number(row) for row in rows)
    return np.array([np.nan if value is None else value for value in numbers], np.float64)


def _measured(number: Callable[[Measures, Row], float]) -> Callable[[Row], float | None]:
    """A number of the points that ran."""

    def measured(row: Row) -> float | None:
        gave = row["measures"]
        return None if gave is None else number(gave, row)

    return measured


def _energy_uj(gave: Measures, row: Row) -> float:
    return gave["energy_pj"] / 1e6 / max(1, int(row["options"].get("inferences", 1)))


def _area(row: Row) -> float | None:
    return sum(row["area"].values()) if row["area"] else None


FROM_ROW: Mapping[str, Callable[[Row], float | None]] = {
    "latency_us": _measured(lambda gave, row: gave["latency_us"]),
    "throughput_per_second": _measured(lambda gave, row: gave["throughput_per_second"]),
    "energy_uj": _measured(_energy_uj),
    ENERGY_DELAY: _measured(lambda gave, row: _energy_uj(gave, row) * gave["latency_us"] / 1e3),
    "mac_utilisation": _measured(lambda gave, row: 100 * gave["mac_utilisation"]),
    "area_mm2": _area,
    "cycles": _measured(lambda gave, row: gave["cycles"]),
    "load_cycles": _measured(lambda gave, row: gave["load_cycles"]),
    "tiles": _measured(lambda gave, row: gave["tiles"]),
}


def _by_part(rows: Sequence[Row]) -> Iterator[Measure]:
    gave = [row["measures"] for row in rows]
    carried = [each["bytes"] if each else {} for each in gave]
    peaks = [each["peak_bytes"] if each else {} for each in gave]
    shares = [_shares(each) if each else {} for each in gave]
    for bus, column in _columns(carried):
        yield Measure(f"bytes.{bus}", f"bytes on {words(bus)}", "B", "lower", column)
    for memory, column in _columns(peaks):
        yield Measure(f"peak_bytes.{memory}", f"peak of {words(memory)}", "B", "lower", column)
    for cause, column in _columns(shares):
        yield Measure(f"share.{cause}", f"of cycles: {cause_words(cause)}", "%", "", column)


def _shares(gave: Measures) -> dict[str, float]:
    whole = max(1, gave["cycles"])
    return {cause: 100 * cycles / whole for cause, cycles in gave["breakdown"].items()}


def _columns(parts: Sequence[Mapping[str, float]]) -> Iterator[tuple[str, Column]]:
    """A column for each name that any point has."""
    columns: dict[str, Column] = {}
    for place, numbers in enumerate(parts):
        for name, number in numbers.items():
            columns.setdefault(name, np.full(len(parts), np.nan))[place] = number
    yield from columns.items()
