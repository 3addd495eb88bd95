"""The roofline of a chip: MACs a second that its units and buses allow, and what its layers make of them.

Source: S. Williams, A. Waterman, D. Patterson, "Roofline", CACM 52(4), 2009, for the model; a roof for each bus, with
that bus's own intensity, is an assumption.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from tilesim.errors import InputError
from tilesim.machines.description import Description, PeakRate
from tilesim.registry import description_of
from tilesim.report.analysis.floorplan import count_of
from tilesim.report.analysis.layers import LayerRow
from tilesim.report.tracks import role
from tilesim.statistics import RunStatistics

DEFINITION = (
    "Intensity: a layer's MACs divided by the bytes that it read, wrote or moved there; on a bus each byte counts "
    "once, where it enters. Achieved: its MACs divided by its cycles, times the clock. Roofs: what all MAC arrays of "
    "the chip can do (flat), and what the port or bus, or all of them, can bring (slanted). A layer may be above a "
    "slanted roof where its bytes came before its own cycles began; layers that run at the same time share a roof."
)


@dataclass(frozen=True)
class Roof:
    """What a unit or bus allows: MACs a second (of a ``peak``), or bytes a second."""

    words: str
    per_second: float


@dataclass(frozen=True)
class Dot:
    """A layer that moved ``bytes``: ``intensity`` in MACs a byte, None where it moved none; ``achieved`` in MACs a
    second.
    """

    layer: LayerRow
    bytes: int
    intensity: float | None
    achieved: float


@dataclass(frozen=True)
class Roofline:
    """The layers that do MACs, under the roofs of one intensity: MACs per ... ``words``."""

    words: str
    peaks: tuple[Roof, ...]
    roof: Roof
    dots: tuple[Dot, ...]

    @property
    def highest(self) -> float:
        """The highest flat roof."""
        return max(peak.per_second for peak in self.peaks)

    def attainable(self, intensity: float) -> float:
        """MACs a second under the highest flat roof and the slanted one."""
        return min(self.highest, self.roof.per_second * intensity)


def rooflines(statistics: RunStatistics, layers: list[LayerRow]) -> list[Roofline]:
    """A roofline for each intensity that the machine has and any layer has; none of a machine that nobody described.

    Raises:
        InputError: the chip lacks a key that its kind has.
    """
    machine = description_of(statistics["machine"])
    working = [layer for layer in layers if layer.macs and layer.cycles]
    if not working:
        return []
    peaks = tuple(roof for roof in (_roof(statistics, peak, machine) for peak in machine.peaks) if roof.per_second)
    lines = [
        Roofline(
            rate.byte,
            peaks,
            _roof(statistics, rate, machine),
            tuple(_dot(layer, rate, statistics["clock_hz"]) for layer in working),
        )
        for rate in machine.bandwidths
    ]
    return [line for line in lines if peaks and line.roof.per_second and any(dot.bytes for dot in line.dots)]


def macs_a_cycle(statistics: RunStatistics) -> tuple[int, ...]:
    """What all MAC arrays of a run's chip can do, a number a flat roof.

    Raises:
        InputError: the chip lacks a key that its kind has.
    """
    machine = description_of(statistics["machine"])
    return tuple(prod(_value(statistics["chip"], key, machine) for key in peak.keys) for peak in machine.peaks)


def _dot(layer: LayerRow, rate: PeakRate, clock_hz: int) -> Dot:
    moved = layer.entered.get(rate.bus, 0) + sum(layer.action_bytes.get(name, 0) for name in rate.actions)
    return Dot(layer, moved, layer.macs / moved if moved else None, layer.macs * clock_hz / layer.cycles)


def _roof(statistics: RunStatistics, rate: PeakRate, machine: Description) -> Roof:
    chip = statistics["chip"]
    links = [link["track"] for link in statistics["links"]]
    times = sum(role(link, machine).bus == rate.links for link in links) if rate.links else 1
    by_clock = times * prod(_value(chip, key, machine) for key in (*rate.keys, rate.clock)) / rate.per
    ways = [count_of(chip, key) or by_clock for key in rate.rates]
    return Roof(rate.words, max(ways, default=by_clock))


def _value(chip: Mapping[str, Any], key: str, machine: Description) -> int:
    """What a key is set to."""
    value: Any = chip
    for name in key.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    if value is None and key in machine.as_much_as:
        return _value(chip, machine.as_much_as[key], machine)
    if not isinstance(value, int):
        raise InputError(f"chip.{key} must be a whole number, as the topologies of this machine have it")
    return value
