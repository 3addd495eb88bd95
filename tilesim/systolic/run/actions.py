"""What the units of the systolic machine did that costs energy, for each layer, as they counted it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tilesim.energy import UNITS, Tally
from tilesim.machines.traffic import counted, layer_of
from tilesim.sim.core.action import Action
from tilesim.sim.core.unit import Unit
from tilesim.systolic.isa.model.program import Program
from tilesim.systolic.units.chip import Chip


def tallies(program: Program, chip: Chip) -> Iterator[Tally]:
    """Everything that the chip has counted since the run began: arithmetic by the operation, all else by the byte.

    The host's links count what they carry, instructions as well, each other unit what it did; several samples that
    travel together count once, like their cycles.
    """
    layers = layer_of(program)
    for unit in chip.units:
        for action, counts in unit.acted.items():
            yield from _by_layer(unit, action, counts, layers)
    for unit in (chip.infeed, chip.outfeed, chip.instructions):
        yield from _by_layer(unit, Action.HOST_TRANSFER, unit.moved, layers)


def _by_layer(unit: Unit, action: Action, counts: Mapping[str, int], layers: Mapping[str, int]) -> Iterator[Tally]:
    for layer, count in counted(counts, layers).items():
        yield Tally(unit.track, layer, action, count, 0 if action in UNITS else count)
