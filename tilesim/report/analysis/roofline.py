"""The roofline of a chip: MACs a second that its units and buses allow, and what its layers make of them.

Source: S. Williams, A. Waterman, D. Patterson, "Roofline", CACM 52(4), 2009, for the model; a roof for each bus, with
that bus's own intensity, is an assumption.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import Any

from tilesim.report.analysis.layers import Layer
from tilesim.report.analysis.roles import role
from tilesim.report.costs import Statistics

DEFINITION = (
    "Intensity: a layer's MACs divided by the bytes that its instructions put on the bus, each counted once, where it "
    "enters. Achieved: its MACs divided by its cycles, times the clock. Roofs: what all MAC arrays of the chip can do "
    "(flat), and what the bus can bring (slanted); dashed ones would hold if all its bytes came from there. A layer may "
    "be above a slanted roof where its bytes came before its own cycles began."
)


@dataclass(frozen=True)
class Rate:
    """So many a cycle: the product of a chip's ``keys``, and of the number of links of a ``bus`` if one is named."""

    words: str
    keys: tuple[str, ...]
    bus: str = ""


@dataclass(frozen=True)
class Intensity:
    """MACs per byte that entered ``bus`` (a name in run.json's ``bytes``), and the roofs for that: bytes a cycle.

    ``sources``: where bytes may come from, slower than the bus.
    """

    bus: str
    words: str
    roofs: tuple[Rate, ...]
    sources: tuple[Rate, ...] = ()


@dataclass(frozen=True)
class Machine:
    """The roofs of a kind of chip: MACs a cycle whatever the intensity, and those of each intensity."""

    peaks: tuple[Rate, ...]
    intensities: tuple[Intensity, ...]


TILES = ("grid.rows", "grid.columns")
MACHINES: Mapping[str, Machine] = {
    "tiled": Machine(
        peaks=(
            Rate("MAC arrays", (*TILES, "tile.lanes", "tile.inputs_per_cycle")),
            Rate("MAC arrays, byte by byte (depthwise)", (*TILES, "tile.vector_bytes")),
        ),
        intensities=(
            Intensity(
                "ring",
                "byte that enters the ring",
                (Rate("ring, a row a cycle", ("wide_memory.row_bytes",)),),
                (
                    Rate("host", ("host.bytes_per_cycle",)),
                    Rate("data memory", ("data_memory.bytes_per_cycle",)),
                ),
            ),
            Intensity(
                "mesh",
                "byte that crosses the mesh",
                (Rate("all mesh links, a word a cycle each", ("narrow_memory.word_bytes",), bus="mesh"),),
            ),
            Intensity(
                "instruction_bus",
                "byte of instructions",
                (Rate("instruction bus", ("instruction_bus.width_bytes",)),),
            ),
        ),
    ),
}
"""What a machine needs here is a row: the keys of its chips."""


@dataclass(frozen=True)
class Roof:
    """What a unit or bus allows: MACs a second (of a ``peak``), or bytes a second."""

    words: str
    per_second: float


@dataclass(frozen=True)
class Dot:
    """A layer: ``intensity`` in MACs a byte, None where it moved no byte; ``achieved`` in MACs a second."""

    layer: Layer
    intensity: float | None
    achieved: float


@dataclass(frozen=True)
class Roofline:
    """The layers that do MACs, under the roofs of one intensity."""

    bus: str
    words: str
    peaks: tuple[Roof, ...]
    roofs: tuple[Roof, ...]
    sources: tuple[Roof, ...]
    dots: tuple[Dot, ...]

    def attainable(self, intensity: float) -> float:
        """MACs a second under all roofs, the highest peak counted."""
        highest = max(peak.per_second for peak in self.peaks)
        return min([highest, *(roof.per_second * intensity for roof in self.roofs)])


def rooflines(statistics: Statistics, layers: list[Layer]) -> list[Roofline]:
    """A roofline for each intensity that the machine has and any layer has: the most telling first; none of a machine
    that nobody has described.
    """
    machine = MACHINES.get(statistics["machine"])
    working = [layer for layer in layers if layer.macs and layer.cycles]
    if machine is None or not working:
        return []
    found = [_roofline(statistics, machine, intensity, working) for intensity in machine.intensities]
    return [each for each in found if any(dot.intensity is not None for dot in each.dots)]


def _roofline(statistics: Statistics, machine: Machine, intensity: Intensity, layers: list[Layer]) -> Roofline:
    clock_hz = statistics["clock_hz"]
    peaks, roofs, sources = (
        tuple(Roof(rate.words, _per_cycle(statistics, rate) * clock_hz) for rate in rates)
        for rates in (machine.peaks, intensity.roofs, intensity.sources)
    )
    dots = [
        Dot(layer, layer.macs / moved if moved else None, layer.macs * clock_hz / layer.cycles)
        for layer in layers
        for moved in [layer.entered.get(intensity.bus, 0)]
    ]
    return Roofline(intensity.bus, intensity.words, peaks, roofs, sources, tuple(dots))


def _per_cycle(statistics: Statistics, rate: Rate) -> int:
    links = sum(role(link["track"]).bus == rate.bus for link in statistics["links"]) if rate.bus else 1
    return links * prod(_value(statistics["chip"], key) for key in rate.keys)


def _value(chip: Mapping[str, Any], key: str) -> int:
    value: Any = reduce(lambda section, name: section[name], key.split("."), chip)
    return int(value)
