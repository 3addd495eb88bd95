"""What statistics are made of: the accounts of a chip's units, and what its tiles did for each layer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field

from tilesim.findings import Finding
from tilesim.machines.accounts import Accounts, Bus, accounts_of
from tilesim.sim.core.unit import Unit
from tilesim.tiled.isa.model.fields import Engine
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.run.shares import Shares, shares_of

if TYPE_CHECKING:
    from tilesim.tiled.units.chip import Chip


class Measured(Struct, frozen=True):
    """What was measured of a run: the ``accounts`` of all units, of which ``buses`` are made; the ``parts`` of the run;
    when the controller ``began`` with each request that the host announced; when the last row of some outputs was at
    the host; what was noticed; and when the host's own steps began, by label.
    """

    accounts: Accounts
    buses: Mapping[str, Bus]
    parts: Sequence[Shares]
    began: Sequence[int]
    arrival: Callable[[Iterable[int]], int]
    findings: Sequence[Finding]
    steps_began: Mapping[str, int] = field(default_factory=dict)


def measured(program: Program, chip: Chip) -> Measured:
    """What units have counted themselves since the run began."""
    return Measured(
        accounts_of(program, chip.units),
        buses_of(chip),
        [shares_of(part, len(program.layers)) for part in chip.parts],
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
    stops = [*dict.fromkeys(stop.link for stop in chip.stops)]
    return {
        "ring": _bus([chip.infeed.unit, *producers, chip.classifier.unit], stops),
        "mesh": _bus(mesh, mesh),
        "instruction_bus": _bus([chip.sequencer.unit], [stop.unit for stop in chip.bus]),
        "host": _bus(host, host),
    }


def _bus(entries: Iterable[Unit], links: Iterable[Unit]) -> Bus:
    return Bus([unit.track for unit in entries], [unit.track for unit in links])
