"""The points of a sweep as columns: in which keys they differ, and what was measured of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from tilesim.explore.point import Value
from tilesim.explore.row import Measures, Row
from tilesim.machines.topology import Key, spelt

MISSING = -1
"""The code of a row that does not have a key."""


@dataclass(frozen=True)
class VariedKey:
    """A key of the chip, or an option, in which rows differ."""

    key: str
    values: tuple[Value, ...]
    """In ascending order: numbers before words."""
    codes: NDArray[np.int64]
    """Of each row the place of its value in ``values``, or :data:`MISSING`."""

    @property
    def words(self) -> list[str]:
        """The values as YAML spells them."""
        return [value_words(self.key, value) for value in self.values]


@dataclass(frozen=True)
class Measure:
    """What a run gives that points are judged by."""

    name: str
    words: str
    unit: str
    of: Callable[[Row, Measures], float]
    """In ``unit``."""
    more_is_better: bool = False


def _inference_energy_pj(row: Row, measures: Measures) -> float:
    return measures["energy_pj"] / max(1, int(row["options"].get("inferences", 1)))


def _energy_delay(row: Row, measures: Measures) -> float:
    """In picojoule seconds."""
    return _inference_energy_pj(row, measures) * measures["latency_us"] / 1e6


MEASURES = (
    Measure("latency_us", "latency", "µs", lambda _, measures: measures["latency_us"]),
    Measure("energy_pj", "energy", "pJ", lambda _, measures: measures["energy_pj"]),
    Measure("inference_energy_pj", "energy an inference", "pJ", _inference_energy_pj),
    Measure("energy_delay", "energy-delay product", "pJ·s", _energy_delay),
    Measure("area_mm2", "area (proxy)", "mm²", lambda row, _: sum(row["area"].values())),
    Measure("cycles", "cycles", "cycles", lambda _, measures: measures["cycles"]),
    Measure("load_cycles", "cycles of loading", "cycles", lambda _, measures: measures["load_cycles"]),
    Measure("throughput_per_second", "throughput", "inferences/s", lambda _, m: m["throughput_per_second"], True),
    Measure("mac_utilisation", "MACs in use", "", lambda _, measures: measures["mac_utilisation"], True),
    Measure("tiles", "tiles", "", lambda _, measures: measures["tiles"]),
)


def varied_keys(rows: Sequence[Row]) -> list[VariedKey]:
    """The keys in which rows differ: those of the chips first, then the options."""
    return varied([dict(_settings(row)) for row in rows])


def varied(settings: Sequence[Mapping[str, Value]]) -> list[VariedKey]:
    """The keys in which settings differ."""
    return list(_varied(settings, dict.fromkeys(chain.from_iterable(settings))))


def _varied(settings: Sequence[Mapping[str, Value]], keys: Iterable[str]) -> Iterator[VariedKey]:
    for key in keys:
        values = sorted({(rank(value), value) for each in settings if (value := each.get(key)) is not None})
        if len(values) > 1:
            place = {value: code for code, value in enumerate(values)}
            codes = [
                place.get((rank(value), value), MISSING) if (value := each.get(key)) is not None else MISSING
                for each in settings
            ]
            yield VariedKey(key, tuple(value for _, value in values), np.array(codes, np.int64))


def rank(value: Value) -> int:
    """Values of one rank can be put in order."""
    return 0 if isinstance(value, bool) else 1 if isinstance(value, int | float) else 2


def _settings(row: Row) -> Iterator[tuple[str, Value]]:
    yield from row["chip"].items()
    yield from row["options"].items()


def value_words(key: str, value: Value) -> str:
    """A value as ``--vary`` spells it: sizes and clocks in larger units where those are exact."""
    if key == "cache":
        return "on" if value else "off"
    return spelt(Key(key, value, ""))


def measured(rows: Sequence[Row], measure: Measure) -> NDArray[np.float64]:
    """A measure of each row; NaN of one that did not run."""
    values = [np.nan if (found := row["measures"]) is None else measure.of(row, found) for row in rows]
    return np.array(values, np.float64)


def distinct(names: Iterable[str]) -> list[str]:
    """Each once, in the order in which they come."""
    return list(dict.fromkeys(names))
