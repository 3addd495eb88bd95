"""What the units of the tiled chip did that costs energy, for each layer, as they counted it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tilesim.energy import Tally
from tilesim.machines.traffic import Bus, counted, layer_of
from tilesim.sim.core.action import Action
from tilesim.sim.core.unit import Unit
from tilesim.tiled.isa.model.instructions import WORD_BYTES
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.topology import Topology
from tilesim.tiled.units.chip import Chip


def tallies(program: Program, chip: Chip, buses: Mapping[str, Bus]) -> Iterator[Tally]:
    """Everything that the chip has counted since the run began.

    What carries bytes (links, host, the controller as it fetches instructions) counts these, each other unit what it
    did; several samples that travel together count once, like their cycles.
    """
    layers = layer_of(program)
    width_bytes = _width_bytes(program.topology)
    for unit in chip.units:
        for action, counts in unit.acted.items():
            for layer, count in counted(counts, layers).items():
                yield Tally(unit.track, layer, action, count, count * width_bytes.get(action, 0))
    for action, units in _carriers(buses).items():
        for unit in units:
            for layer, moved in counted(unit.moved, layers).items():
                yield Tally(unit.track, layer, action, moved // width_bytes[action], moved)


def _carriers(buses: Mapping[str, Bus]) -> dict[Action, list[Unit]]:
    return {
        Action.RING_HOP: buses["ring"].links,
        Action.MESH_HOP: buses["mesh"].links,
        Action.INSTRUCTION_HOP: buses["instruction_bus"].links,
        Action.INSTRUCTION_MEMORY_READ: buses["instruction_bus"].entries,
        Action.HOST_TRANSFER: buses["host"].links,
    }


def _width_bytes(topology: Topology) -> dict[Action, int]:
    """The bytes of an action that moves some."""
    word, row = topology.narrow_memory.word_bytes, topology.wide_memory.row_bytes
    words = (Action.NARROW_READ, Action.NARROW_WRITE, Action.MESH_HOP)
    rows = (Action.WIDE_READ, Action.WIDE_WRITE, Action.DATA_MEMORY_READ, Action.RING_HOP, Action.HOST_TRANSFER)
    instructions = (Action.INSTRUCTION_HOP, Action.INSTRUCTION_MEMORY_READ)
    return {**dict.fromkeys(words, word), **dict.fromkeys(rows, row), **dict.fromkeys(instructions, WORD_BYTES)}
