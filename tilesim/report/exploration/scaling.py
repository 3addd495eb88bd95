"""How networks scale: chips that differ only in how many tiles they have, and where more tiles stop paying."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import Any

from tilesim.errors import InputError
from tilesim.explore.point import Value
from tilesim.explore.row import Measures, Row
from tilesim.printable import printable
from tilesim.registry import description_of
from tilesim.report.exploration.points import rank

WORTH_IT = 0.5
"""The least elasticity of a step that is worth it: twice the tiles make it at least √2 times as fast."""
KNEE = (
    "The knee is the chip with the greatest speed-up × efficiency: up to it more tiles speed the run up by more than "
    "the square root of how many times as many they are (√2 for a doubling, an elasticity of 0.5), beyond it by less."
)
"""What a knee is, for a reader."""


@dataclass(frozen=True)
class ScaledRow:
    """A row of a series, against the first."""

    row: int
    """Its place in the rows of the sweep."""
    tiles: int
    shape: str
    """How they are laid out: ``2x4``."""
    cycles: int
    time_us: float
    """Of the whole run."""
    bound_by: str | None
    speed_up: float
    """How many times as fast as the first."""
    efficiency: float
    """The speed-up by how many times as many tiles."""
    elasticity: float | None
    """Of the step to it: log(speed-up of the step) / log(how many times as many tiles); None of the first."""


@dataclass(frozen=True)
class Series:
    """Runs of one network on chips that differ only in how many tiles they have, by tiles; of several layouts of as
    many tiles the fastest.
    """

    network: str
    machine: str
    settings: dict[str, Value]
    """What all of its chips have in common, and the options."""
    rows: tuple[ScaledRow, ...]

    @cached_property
    def knee(self) -> int:
        """The place of the knee in ``rows``."""
        return knee_of([(row.tiles, row.cycles) for row in self.rows])


def knee_of(costs: Sequence[tuple[int, float]]) -> int:
    """The place of the knee of (tiles, cycles): of the greatest speed-up × efficiency, the smallest of equal ones.

    From one chip to another that product grows where the elasticity between them is above :data:`WORTH_IT`, so up to
    the knee more tiles are worth it in all, even if one layout on the way is a bad one.

    Source: D. L. Eager, J. Zahorjan, E. D. Lazowska, "Speedup versus efficiency in parallel systems", IEEE Transactions
    on Computers 38(3), 1989: the knee of the profile of execution time and efficiency.
    """
    return max(range(len(costs)), key=lambda k: -(costs[k][1] ** 2) * costs[k][0])


def elasticity(one: tuple[int, float], other: tuple[int, float]) -> float:
    """Of the step from ``one`` (tiles, cycles) to ``other``, which has more tiles: 1 is ideal, below 0 it is slower."""
    return log(one[1] / other[1]) / log(other[0] / one[0])


def series(rows: Sequence[Row]) -> list[Series]:
    """Every series of two tile counts or more among the rows that ran, those with the most first, whatever the order of
    the rows.

    Speed-up and efficiency never compare chips of two machines, or tiles of two kinds: such chips are in two series.
    """
    found: dict[Hashable, list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        if row["measures"] and row["measures"]["cycles"]:
            found[_alike(row, row["measures"])].append(place)
    several = [one for places in found.values() if len((one := _series(rows, places)).rows) > 1]
    return sorted(several, key=_order)


def _order(one: Series) -> tuple[Any, ...]:
    return -len(one.rows), one.network, one.machine, [(rank(value), value) for value in one.settings.values()]


def longest(found: Sequence[Series]) -> list[Series]:
    """Of :func:`series`, the first of each network with the most tile counts, by the networks' names."""
    by_network = {one.network: one for one in reversed(found)}
    return [by_network[name] for name in sorted(by_network)]


def _alike(row: Row, measures: Measures) -> Hashable:
    """What all rows of a series have in common: networks of one name, too, may be two."""
    return row["network"], row["machine"], measures["macs"], *sorted(_settings(row).items())


def _settings(row: Row) -> dict[str, Value]:
    left_out = description_of(row["machine"]).tile_keys
    return {key: value for key, value in row["chip"].items() if key not in left_out} | row["options"]


def _series(rows: Sequence[Row], places: Iterable[int]) -> Series:
    fastest: dict[int, tuple[int, int]] = {}
    for place in places:
        tiles, cycles = _cost(rows[place])
        fastest[tiles] = min((cycles, place), fastest.get(tiles, (cycles, place)))
    ordered = [place for _, (_, place) in sorted(fastest.items())]
    first = rows[ordered[0]]
    return Series(first["network"], first["machine"], _settings(first), tuple(_scaled(rows, ordered)))


def _scaled(rows: Sequence[Row], places: Sequence[int]) -> Iterator[ScaledRow]:
    first = before = _cost(rows[places[0]])
    for place in places:
        row, cost = rows[place], _cost(rows[place])
        tiles, cycles = cost
        speed_up = first[1] / cycles
        step = elasticity(before, cost) if tiles > before[0] else None
        time_us = cycles * 1e6 / _clock_hz(row)
        bound_by = row["measures"] and row["measures"]["bound_by"]
        efficiency = speed_up * first[0] / tiles
        yield ScaledRow(place, tiles, _shape(row), cycles, time_us, bound_by, speed_up, efficiency, step)
        before = cost


def _clock_hz(row: Row) -> float:
    """The clock of a row that ran. Raises InputError: the row is damaged."""
    clock_hz = row["chip"].get("clock_hz")
    if not isinstance(clock_hz, int | float) or clock_hz <= 0:
        key = printable(row["key"][:16])
        raise InputError(f"the row {key} is damaged: chip.clock_hz must be a number above zero")
    return clock_hz


def _cost(row: Row) -> tuple[int, int]:
    """Tiles and cycles of a row that ran."""
    assert row["measures"] is not None
    return row["measures"]["tiles"], row["measures"]["cycles"]


def _shape(row: Row) -> str:
    return "x".join(str(row["chip"][key]) for key in description_of(row["machine"]).tile_keys)
