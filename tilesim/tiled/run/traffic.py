"""The buses of a tiled chip."""

from __future__ import annotations

from tilesim.machines.traffic import Bus
from tilesim.tiled.isa.model.fields import Engine
from tilesim.tiled.units.chip import Chip


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
