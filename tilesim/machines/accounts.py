"""What the units of a chip have counted in a run, as numbers a layer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from msgspec import Struct

from tilesim.energy import Counts, Tally
from tilesim.machines.program import Program
from tilesim.sim.core.action import Action
from tilesim.sim.core.unit import Unit
from tilesim.statistics import BusBytes, BytesByBus


class Bus(Struct, frozen=True):
    """The units through which bytes enter a bus, and its links, by their tracks."""

    entries: Sequence[str]
    links: Sequence[str]


class Acted(Struct, frozen=True):
    """How often each of the units ``tracks`` took an ``action``: (units, layers + 1), the last column for no layer."""

    tracks: Sequence[str]
    action: Action
    counts: Counts


class Accounts(Struct, frozen=True):
    """What units have counted since the run began, by their tracks: ``cycles`` by kind, in the order of the chip; what
    they ``moved``, bytes for each layer, (units, layers + 1), in ``rows`` of which the last one is nobody's; and what
    they did.
    """

    cycles: Mapping[str, Mapping[str, int]]
    moved: Counts
    rows: Mapping[str, int]
    acted: Sequence[Acted]

    @classmethod
    def of(
        cls, cycles: Mapping[str, Mapping[str, int]], moved: Mapping[str, Counts], acted: Sequence[Acted], layers: int
    ) -> Accounts:
        """Of a program of so many layers; what was ``moved``: by the track of who did."""
        rows = {**dict.fromkeys(cycles, -1), **{track: k for k, track in enumerate(moved)}}
        return cls(cycles, np.stack([*moved.values(), np.zeros(layers + 1, np.int64)]), rows, acted)

    def bytes_of(self, tracks: Sequence[str]) -> Counts:
        """What each of them moved for each layer."""
        return self.moved[[self.rows[track] for track in tracks]]

    def total(self, buses: Mapping[str, Bus]) -> BytesByBus:
        """The bytes of the whole run."""
        return {
            name: BusBytes(entered=sum(entered), carried=sum(carried))
            for name, (entered, carried) in self._of_buses(buses).items()
        }

    def by_layer(self, buses: Mapping[str, Bus]) -> list[BytesByBus]:
        """The bytes of each layer: those of the instructions that bear its number."""
        columns = self._of_buses(buses)
        return [
            {name: BusBytes(entered=entered[k], carried=carried[k]) for name, (entered, carried) in columns.items()}
            for k in range(self.moved.shape[1] - 1)
        ]

    def _of_buses(self, buses: Mapping[str, Bus]) -> Mapping[str, Sequence[list[int]]]:
        """What entered each bus for each layer, and what its links carried."""
        return {
            name: [self.bytes_of(tracks).sum(axis=0).tolist() for tracks in (bus.entries, bus.links)]
            for name, bus in buses.items()
        }

    def tallies(self, carriers: Mapping[Action, Sequence[str]], widths: Mapping[Action, int]) -> Iterator[Tally]:
        """What costs energy: what units did, and actions by which ``carriers`` moved their bytes; ``widths`` are the
        bytes of an action that moves some. Samples that travel together count once, like their cycles.
        """
        for each in self.acted:
            yield Tally(each.tracks, each.action, each.counts, each.counts * widths.get(each.action, 0))
        for action, tracks in carriers.items():
            moved = self.bytes_of(tracks)
            yield Tally(tracks, action, moved // widths[action], moved)


def accounts_of(program: Program, units: Sequence[Unit]) -> Accounts:
    """What units have counted themselves, by instruction, for the layers of the program."""
    layers = {op.label: op.layer for op in program.run}

    def for_layers(counts: Mapping[str, int]) -> Counts:
        columns = np.zeros(len(program.layers) + 1, np.int64)
        for instruction, count in counts.items():
            columns[layers.get(instruction, -1)] += count
        return columns

    acted: dict[Action, dict[str, Counts]] = defaultdict(dict)
    for unit in units:
        for action, counts in unit.acted.items():
            acted[action][unit.track] = for_layers(counts)
    return Accounts.of(
        {unit.track: unit.cycles for unit in units},
        {unit.track: for_layers(unit.moved) for unit in units if unit.moved},
        [Acted([*found], action, np.stack([*found.values()])) for action, found in acted.items()],
        len(program.layers),
    )
