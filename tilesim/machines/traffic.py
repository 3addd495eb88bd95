"""What the units of a chip counted, by the layers of the program: bytes on its buses, actions that cost energy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tilesim.energy import Tally
from tilesim.machines.program import Program
from tilesim.sim.core.action import Action
from tilesim.sim.core.unit import Unit
from tilesim.statistics import BusBytes, BytesByBus


@dataclass(frozen=True)
class Bus:
    """The units through which bytes enter a bus, and its links: whoever moves bytes there counts them."""

    entries: list[Unit]
    links: list[Unit]


def total(buses: Mapping[str, Bus]) -> BytesByBus:
    """The bytes of the whole run."""
    return {
        name: {"entered": sum(unit.bytes for unit in bus.entries), "carried": sum(unit.bytes for unit in bus.links)}
        for name, bus in buses.items()
    }


def by_layer(program: Program, buses: Mapping[str, Bus]) -> list[BytesByBus]:
    """The bytes of each layer of the program: those of the instructions that bear its number."""
    layers = _layer_of(program)
    counts = {name: (_moved(bus.entries, layers), _moved(bus.links, layers)) for name, bus in buses.items()}
    return [
        {name: BusBytes(entered=entered[k], carried=carried[k]) for name, (entered, carried) in counts.items()}
        for k in range(len(program.layers))
    ]


def tallies(
    program: Program, units: Iterable[Unit], carriers: Mapping[Action, Iterable[Unit]], widths: Mapping[Action, int]
) -> Iterator[Tally]:
    """What costs energy, since the run began: actions that ``units`` took, and those by which ``carriers`` moved their
    bytes; ``widths`` are the bytes of an action that moves some. Samples that travel together count once, like their
    cycles.
    """
    layers = _layer_of(program)
    for unit in units:
        for action, counts in unit.acted.items():
            for layer, count in _counted(counts, layers).items():
                yield Tally(unit.track, layer, action, count, count * widths.get(action, 0))
    for action, links in carriers.items():
        for unit in links:
            for layer, moved in _counted(unit.moved, layers).items():
                yield Tally(unit.track, layer, action, moved // widths[action], moved)


def _layer_of(program: Program) -> dict[str, int]:
    """The number of each instruction's layer, by label."""
    return {op.label: op.layer for op in program.run}


def _counted(counts: Mapping[str, int], layers: Mapping[str, int]) -> Counter[int]:
    """What was counted for instructions, for the layers that these belong to."""
    sums: Counter[int] = Counter()
    for label, count in counts.items():
        sums[layers.get(label, -1)] += count
    return sums


def _moved(units: Iterable[Unit], layers: Mapping[str, int]) -> Counter[int]:
    moved: Counter[int] = Counter()
    for unit in units:
        moved.update(_counted(unit.moved, layers))
    return moved
