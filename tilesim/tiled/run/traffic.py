"""The bytes that layers put on the chip's buses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tilesim.sim.core.unit import Unit
from tilesim.statistics import BusBytes, BytesByBus
from tilesim.tiled.isa.model.fields import Engine
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.units.chip import Chip


@dataclass(frozen=True)
class Bus:
    """The units through which bytes enter a bus, and its links: whoever moves bytes there counts them."""

    entries: list[Unit]
    links: list[Unit]


def buses(chip: Chip) -> dict[str, Bus]:
    """The chip's buses by name.

    On the mesh, where a link joins two neighbours and goes no further, and on the host's links, as many bytes are
    carried as enter. An instruction enters its bus once, however many tiles copy it, and is carried past each stop up
    to the last that does.
    """
    producers = [tile.engines[Engine.RING_PRODUCER].unit for tile in chip.tiles]
    mesh = [link.unit for link in chip.mesh]
    host = [chip.host_infeed.unit, chip.host_outfeed.unit]
    return {
        "ring": Bus([chip.infeed.unit, *producers, chip.classifier.unit], [stop.link for stop in chip.stops]),
        "mesh": Bus(mesh, mesh),
        "instruction_bus": Bus([chip.sequencer.unit], [stop.unit for stop in chip.bus]),
        "host": Bus(host, host),
    }


def total(buses: Mapping[str, Bus]) -> BytesByBus:
    """The bytes of the whole run."""
    return {
        name: {"entered": sum(unit.bytes for unit in bus.entries), "carried": sum(unit.bytes for unit in bus.links)}
        for name, bus in buses.items()
    }


def by_layer(program: Program, buses: Mapping[str, Bus]) -> list[BytesByBus]:
    """The bytes of each layer of the program: those of the instructions that bear its number."""
    layers = {op.label: op.layer for op in program.run}
    counts = {name: (_counted(bus.entries, layers), _counted(bus.links, layers)) for name, bus in buses.items()}
    return [
        {name: BusBytes(entered=entered[k], carried=carried[k]) for name, (entered, carried) in counts.items()}
        for k in range(len(program.layers))
    ]


def _counted(units: Iterable[Unit], layers: Mapping[str, int]) -> Counter[int]:
    """The bytes that went through ``units`` by layer."""
    counted: Counter[int] = Counter()
    for unit in units:
        for label, moved in unit.moved.items():
            counted[layers.get(label, -1)] += moved
    return counted
