"""The buses of a tiled chip, and what its units did that costs energy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tilesim.energy import Tally
from tilesim.machines import traffic
from tilesim.machines.traffic import Bus
from tilesim.sim.core.action import Action
from tilesim.tiled.isa.model.fields import Engine
from tilesim.tiled.isa.model.instructions import WORD_BYTES
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.topology import Topology
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


def tallies(program: Program, chip: Chip, buses: Mapping[str, Bus]) -> Iterator[Tally]:
    """Everything that the chip has counted since the run began: what carries bytes (links, host, the controller as it
    fetches instructions) these, each other unit what it did.
    """
    carriers = {
        Action.RING_HOP: buses["ring"].links,
        Action.MESH_HOP: buses["mesh"].links,
        Action.INSTRUCTION_HOP: buses["instruction_bus"].links,
        Action.INSTRUCTION_MEMORY_READ: buses["instruction_bus"].entries,
        Action.HOST_TRANSFER: buses["host"].links,
    }
    return traffic.tallies(program, chip.units, carriers, _widths(program.topology))


def _widths(topology: Topology) -> dict[Action, int]:
    """The bytes of an action that moves some."""
    word, row = topology.narrow_memory.word_bytes, topology.wide_memory.row_bytes
    words = (Action.NARROW_READ, Action.NARROW_WRITE, Action.MESH_HOP)
    rows = (Action.WIDE_READ, Action.WIDE_WRITE, Action.DATA_MEMORY_READ, Action.RING_HOP, Action.HOST_TRANSFER)
    instructions = (Action.INSTRUCTION_HOP, Action.INSTRUCTION_MEMORY_READ)
    return {**dict.fromkeys(words, word), **dict.fromkeys(rows, row), **dict.fromkeys(instructions, WORD_BYTES)}
