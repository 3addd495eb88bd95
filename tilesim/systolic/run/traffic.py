"""The bytes that layers put on the chip's buses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from tilesim.sim.core.unit import Unit
from tilesim.statistics import BusBytes, BytesByBus
from tilesim.systolic.isa.model.program import Program
from tilesim.systolic.units.chip import Chip


def buses(chip: Chip) -> Mapping[str, Sequence[Unit]]:
    """The links of each bus: the host's for data, that of weight memory, the host's for instructions."""
    return {
        "host": [chip.infeed, chip.outfeed],
        "weight_memory": [chip.weight_memory],
        "instructions": [chip.instructions],
    }


def total(chip: Chip) -> BytesByBus:
    """The bytes of the whole run."""
    return {name: _both(sum(unit.bytes for unit in links)) for name, links in buses(chip).items()}


def by_layer(program: Program, chip: Chip) -> list[BytesByBus]:
    """The bytes of each layer of the program: those of the instructions that bear its number."""
    layers = {op.label: op.layer for op in program.run}
    counts = {name: _counted(links, layers) for name, links in buses(chip).items()}
    return [{name: _both(count[k]) for name, count in counts.items()} for k in range(len(program.layers))]


def _both(moved: int) -> BusBytes:
    return {"entered": moved, "carried": moved}


def _counted(links: Sequence[Unit], layers: Mapping[str, int]) -> Counter[int]:
    counted: Counter[int] = Counter()
    for unit in links:
        for label, moved in unit.moved.items():
            counted[layers.get(label, -1)] += moved
    return counted
