"""What statistics are made of: the accounts of a chip's units, and what its tiles did for each layer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field

from tilesim.findings import Finding
from tilesim.machines.statistics import Bus
from tilesim.sim.core.unit import Unit
from tilesim.tiled.isa.model.fields import Engine
from tilesim.tiled.units.shares import RunPart

if TYPE_CHECKING:
    from tilesim.tiled.units.chip import Chip


class Measured(Struct, frozen=True):
    """What was measured of a run: all units, in the order of their chip, and ``buses`` and ``mac_arrays`` among them;
    the ``parts`` of the run; when the controller ``began`` with each request that the host announced; when the last row
    of some outputs was at the host; what was noticed; and when the host's own steps began, by label.
    """

    units: Sequence[Unit]
    buses: Mapping[str, Bus]
    mac_arrays: Sequence[Unit]
    parts: Sequence[RunPart]
    began: Sequence[int]
    arrival: Callable[[Iterable[int]], int]
    findings: Sequence[Finding]
    steps_began: Mapping[str, int] = field(default_factory=dict)


def measured(chip: Chip) -> Measured:
    """What units have counted themselves since the run began."""
    return Measured(
        chip.units,
        buses_of(chip),
        [tile.tensor.mac_unit for tile in chip.tiles],
        chip.parts,
        chip.sequencer.began,
        chip.host_outfeed.arrival,
        chip.monitor.findings(),
        chip.host_processor.began if chip.host_processor else {},
    )


def buses_of(chip: Chip) -> dict[str, Bus]:
    """The chip's buses by name.

    On the mesh, where a link joins two neighbours and goes no further, and on the host's links, as many bytes are
    carried as enter. An instruction enters its bus once, however many tiles copy it, and is carried past each stop up
    to the last that does.
    """
    producers = [tile.engines[Engine.RING_PRODUCER].unit for tile in chip.tiles]
    mesh = [link.unit for link in chip.mesh]
    host = [chip.host_infeed.unit, chip.host_outfeed.unit]
    return {
        "ring": Bus(
            [chip.infeed.unit, *producers, chip.classifier.unit], [*dict.fromkeys(stop.link for stop in chip.stops)]
        ),
        "mesh": Bus(mesh, mesh),
        "instruction_bus": Bus([chip.sequencer.unit], [stop.unit for stop in chip.bus]),
        "host": Bus(host, host),
    }
