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
from tilesim.report.analysis.layers import Layer
from tilesim.report.analysis.roles import role
from tilesim.statistics import RunStatistics

DEFINITION = (
    "Intensity: a layer's MACs divided by the bytes that it read, wrote or moved there; on a bus each byte counts "
    "once, where it enters. Achieved: its MACs divided by its cycles, times the clock. Roofs: what all MAC arrays of "
    "the chip can do (flat), and what the port or bus, or all of them, can bring (slanted). A layer may be above a "
    "slanted roof where its bytes came before its own cycles began; layers that run at the same time share a roof."
)


@dataclass(frozen=True)
class Rate:
    """So many a cycle of the ``clock``: the product of a chip's ``keys``, and of the number of links of a ``bus`` if
    one is named.
    """

    words: str
    keys: tuple[str, ...]
    bus: str = ""
    clock: str = "clock_hz"


@dataclass(frozen=True)
class Intensity:
    """MACs per byte, and the roof of these bytes.

    The bytes are those that entered ``bus`` (a name in run.json's ``bytes``) and those of ``actions`` (names in its
    ``energy``).
    """

    words: str
    roof: Rate
    bus: str = ""
    actions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Machine:
    """The roofs of a kind of chip: MACs a cycle whatever the intensity, and those of each intensity."""

    peaks: tuple[Rate, ...]
    intensities: tuple[Intensity, ...]


TILES = ("grid.rows", "grid.columns")
WIDE = ("wide_memory.row_bytes", "wide_memory.ports")
MACHINES: Mapping[str, Machine] = {
    "tiled": Machine(
        peaks=(
            Rate("MAC arrays", (*TILES, "tile.lanes", "tile.inputs_per_cycle")),
            Rate("MAC arrays, byte by byte (depthwise)", (*TILES, "tile.vector_bytes")),
        ),
        intensities=(
            Intensity(
                "byte read from narrow memory",
                Rate("read ports of all narrow memories", (*TILES, "narrow_memory.word_bytes")),
                actions=("narrow_read",),
            ),
            Intensity("byte that enters the ring", Rate("ring, a row a cycle", ("wide_memory.row_bytes",)), bus="ring"),
            Intensity(
                "byte read from or written to wide memory",
                Rate("ports of all wide memories", (*TILES, *WIDE)),
                actions=("wide_read", "wide_write"),
            ),
            Intensity(
                "byte that crosses the mesh",
                Rate("all mesh links, a word a cycle each", ("narrow_memory.word_bytes",), bus="mesh"),
                bus="mesh",
            ),
            Intensity(
                "byte read from data memory",
                Rate("data memory", ("data_memory.bytes_per_cycle",)),
                actions=("data_memory_read",),
            ),
            Intensity(
                "byte to or from the host", Rate("the host's link, one way", ("host.bytes_per_cycle",)), bus="host"
            ),
            Intensity(
                "byte of instructions",
                Rate("instruction bus", ("instruction_bus.width_bytes",)),
                bus="instruction_bus",
            ),
        ),
    ),
    "systolic": Machine(
        peaks=(Rate("all cells of the array", ("array.rows", "array.columns")),),
        intensities=(
            Intensity(
                "byte of weights fetched",
                Rate(
                    "weight memory",
                    ("weight_memory.channels", "weight_memory.channel_bytes"),
                    clock="weight_memory.clock_hz",
                ),
                actions=("weight_memory_read",),
            ),
            Intensity(
                "byte read from the unified buffer",
                Rate("value loaders, a vector a cycle", ("array.rows",)),
                actions=("buffer_read",),
            ),
            Intensity(
                "byte to or from the host", Rate("the host's link, one way", ("host.bytes_per_cycle",)), bus="host"
            ),
            Intensity(
                "byte of instructions",
                Rate("the host's instructions", ("host.instruction_bytes_per_cycle",)),
                bus="instructions",
            ),
        ),
    ),
}
"""What a machine needs here is a row: the keys of its chips. The most telling intensities first."""


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

    layer: Layer
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


def rooflines(statistics: RunStatistics, layers: list[Layer]) -> list[Roofline]:
    """A roofline for each intensity that the machine has and any layer has; none of a machine that nobody described.

    Raises:
        InputError: the chip lacks a key that its kind has.
    """
    machine = MACHINES.get(statistics["machine"])
    working = [layer for layer in layers if layer.macs and layer.cycles]
    if machine is None or not working:
        return []
    peaks = tuple(roof for roof in (_roof(statistics, peak) for peak in machine.peaks) if roof.per_second)
    lines = [
        Roofline(
            intensity.words,
            peaks,
            _roof(statistics, intensity.roof),
            tuple(_dot(layer, intensity, statistics["clock_hz"]) for layer in working),
        )
        for intensity in machine.intensities
    ]
    return [line for line in lines if peaks and line.roof.per_second and any(dot.bytes for dot in line.dots)]


def _dot(layer: Layer, intensity: Intensity, clock_hz: int) -> Dot:
    moved = layer.entered.get(intensity.bus, 0) + sum(layer.action_bytes.get(name, 0) for name in intensity.actions)
    return Dot(layer, moved, layer.macs / moved if moved else None, layer.macs * clock_hz / layer.cycles)


def _roof(statistics: RunStatistics, rate: Rate) -> Roof:
    return Roof(rate.words, _per_cycle(statistics, rate) * _value(statistics["chip"], rate.clock))


def _per_cycle(statistics: RunStatistics, rate: Rate) -> int:
    links = sum(role(link["track"]).bus == rate.bus for link in statistics["links"]) if rate.bus else 1
    return links * prod(_value(statistics["chip"], key) for key in rate.keys)


def _value(chip: Mapping[str, Any], key: str) -> int:
    """What a key is set to."""
    value: Any = chip
    for name in key.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    if not isinstance(value, int):
        raise InputError(f"chip.{key} must be a whole number, as the topologies of this machine have it")
    return value
