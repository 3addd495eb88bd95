"""The whole chip: host, controller, buses, tiles and classifier, wired together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import simpy

from tilesim.sim.arbiter import Arbiter
from tilesim.sim.clock import Clock
from tilesim.sim.fifo import Fifo
from tilesim.sim.memory import Bytes, Memory
from tilesim.sim.recorder import Recorder
from tilesim.sim.unit import Unit
from tilesim.tiled.isa.fields import Side
from tilesim.tiled.isa.instructions import Classify, Instruction, TileFence
from tilesim.tiled.isa.neighbours import OPPOSITE, neighbour
from tilesim.tiled.isa.program import DataSegment
from tilesim.tiled.topology import Topology
from tilesim.tiled.units.classifier import ClassifierTile
from tilesim.tiled.units.controller import FENCES, Sequencer
from tilesim.tiled.units.host import HostInfeed, HostOutfeed
from tilesim.tiled.units.infeed import InfeedEngine
from tilesim.tiled.units.instruction_bus import BusStop, Station
from tilesim.tiled.units.mesh_link import MeshLink
from tilesim.tiled.units.outfeed import OutfeedEngine
from tilesim.tiled.units.ring import RingStop
from tilesim.tiled.units.tile import Tile


class ClassifierStation:
    """The classifier's place on the instruction bus."""

    def __init__(self, classifier: ClassifierTile) -> None:
        self._buffer = classifier.buffer

    def buffer(self, _op: Instruction) -> Fifo[Any]:
        return self._buffer

    def deliver(self, op: Instruction) -> None:
        assert isinstance(op, Classify)
        self._buffer.put(op)

    def fence(self, op: TileFence) -> simpy.Event:
        raise AssertionError(f"{op.label} is for tiles, not for the classifier")


class Chip:
    """A chip at rest in cycle 0. ``retired(tile, label)`` hears of every tile instruction that has retired."""

    def __init__(
        self, topology: Topology, samples: int, recorder: Recorder | None, retired: Callable[[int, str], None]
    ) -> None:
        self.topology = topology
        self.clock = Clock()
        self.units: list[Unit] = []
        self._recorder = recorder
        tiles = topology.tiles
        self.stops = [self._ring_stop(node) for node in range(tiles + 3)]
        for stop, following in zip(self.stops, [*self.stops[1:], self.stops[0]], strict=True):
            stop.connect(following)
        self.data_memory = Memory("chip.data_memory", topology.data_memory.size_bytes)
        self.host_infeed = HostInfeed(self.clock, self._unit("chip.host.infeed"), topology)
        self.host_outfeed = HostOutfeed(self.clock, self._unit("chip.host.outfeed"), topology)
        self.infeed = InfeedEngine(
            self.clock, self._unit("chip.infeed"), topology, self.data_memory, self.host_infeed, self.stops[0]
        )
        self.outfeed = OutfeedEngine(
            self.clock, self._unit("chip.outfeed"), topology, self.host_outfeed, self.stops[-1]
        )
        arbiter = Arbiter(self.clock)
        self.tiles = [
            Tile(k, self.clock, arbiter, topology, self.stops[k + 1], self._unit, samples, self._raise_fence, retired)
            for k in range(tiles)
        ]
        self.mesh = [self._mesh_link(tile, side) for tile in self.tiles for side in tile.mesh_out]
        self.classifier = ClassifierTile(self.clock, self._unit("chip.classifier"), topology, self.stops[tiles + 1])
        stations: list[Station] = [*self.tiles, ClassifierStation(self.classifier)]
        self.bus = [
            BusStop(
                self.clock, self._unit(f"chip.instruction_bus.stop{k}"), k, topology.instruction_bus.hop_cycles, station
            )
            for k, station in enumerate(stations)
        ]
        for bus_stop, following_stop in zip(self.bus, self.bus[1:], strict=False):
            bus_stop.following = following_stop
        self.sequencer = Sequencer(
            self.clock, self._unit("chip.controller"), topology, self.bus[0], self.infeed.buffer, self.outfeed.buffer
        )

    def fill(self, segments: tuple[DataSegment, ...]) -> None:
        """Put a program's parameters into data memory."""
        for segment in segments:
            self.data_memory.check(segment.address, segment.address + segment.data.size)
            self.data_memory.bytes[:, segment.address : segment.address + segment.data.size] = segment.data

    def run(self, instructions: tuple[Instruction, ...], host_rows: list[Bytes]) -> tuple[int, int]:
        """Issue the instructions and feed the rows until nothing happens any more; the first cycle, and that after
        the last.

        The last cycle is that in which the last unit was at work or the last row reached the host.
        """
        start = self.clock.cycle
        for unit in self.units:
            unit.restart()
        for tile in self.tiles:
            tile.tensor.restart()
        self.sequencer.start(instructions)
        self.host_infeed.start(host_rows, instructions)
        self.clock.run()
        return start, max(start, self.host_outfeed.last_arrival, *(unit.active_until for unit in self.units))

    def close(self, end: int) -> None:
        """Book the rest of a run that ends at ``end``."""
        for tile in self.tiles:
            tile.tensor.close(end)
        for unit in self.units:
            unit.close(end)

    def _raise_fence(self, increment: int) -> None:
        self.sequencer.counters.raise_by(FENCES, increment)

    def _unit(self, track: str) -> Unit:
        unit = Unit(self.clock, track, self._recorder)
        self.units.append(unit)
        return unit

    def _mesh_link(self, tile: Tile, side: Side) -> MeshLink:
        to = neighbour(self.topology.grid, tile.index, side)
        assert to is not None
        sender, receiver = tile.mesh_out[side], self.tiles[to].mesh_in[OPPOSITE[side]]
        unit = self._unit(f"chip.mesh.tile{tile.index}.{side}")
        sender.link = receiver.link = MeshLink(unit, self.topology.mesh, side, sender, receiver)
        return sender.link

    def _ring_stop(self, node: int) -> RingStop:
        return RingStop(self.clock, self.topology, node - 1 if node else None, self._unit(f"chip.ring.link{node}"))
