"""The whole chip: host, controller, buses, tiles and classifier, wired together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from tilesim.machines.holds import NO_HOLDS, Holds
from tilesim.sim.core.clock import Clock
from tilesim.sim.core.memory import Memory
from tilesim.sim.core.unit import Reason, Unit
from tilesim.sim.pipe.arbiter import Arbiter
from tilesim.sim.trace.recorder import Recorder, Waker, listener
from tilesim.sim.trace.state_log import StateLog
from tilesim.tiled.isa.model.fields import OPPOSITE, ORDINALS, Channel, Side, channels_of, neighbour
from tilesim.tiled.isa.model.instructions import Instruction
from tilesim.tiled.isa.model.program import DataSegment, HostTensor
from tilesim.tiled.rules.ring.readings import Reading
from tilesim.tiled.topology import Topology
from tilesim.tiled.units.classifier import ClassifierTile
from tilesim.tiled.units.control.controller import FENCES, OUTFEEDS, PROGRAMS, Sequencer
from tilesim.tiled.units.control.instruction_bus import BusStop, InstructionBus, Station
from tilesim.tiled.units.dma.mesh_link import MeshLink
from tilesim.tiled.units.host.host import HostInfeed, HostOutfeed
from tilesim.tiled.units.host.infeed import InfeedEngine
from tilesim.tiled.units.host.outfeed import OutfeedEngine
from tilesim.tiled.units.host.processor import HostProcessor
from tilesim.tiled.units.host.sendings import PROGRAM, Content
from tilesim.tiled.units.host.task import HostTask
from tilesim.tiled.units.ring.livelock import LivelockMonitor
from tilesim.tiled.units.ring.node_link import NodeLink
from tilesim.tiled.units.ring.ring import RingStop
from tilesim.tiled.units.ring.ring_monitor import Afloat, RingMonitor, SentTransfer
from tilesim.tiled.units.shares import RunPart
from tilesim.tiled.units.tensor.decoder import Decoder
from tilesim.tiled.units.tile import Tile
from tilesim.tiled.units.ttu import TraversalForm


class Chip:
    """A chip at rest in cycle 0. ``retired(tile, label)`` hears of every tile instruction that has retired; ``strict``:
    the first transfers that meet on the ring end the run, or do what else the ``reading`` of the rule for masters
    forbids; ``log`` hears of all spans, whoever records the trace; ``instants``: transfers, by label, that take no
    time; ``host_tasks``: what the host computes itself in a run, for which it has a processor then.
    """

    def __init__(
        self,
        topology: Topology,
        samples: int,
        recorder: Recorder | None,
        retired: Callable[[int, str], None],
        strict: bool = False,
        reading: Reading = Reading.MEET,
        instants: frozenset[str] = frozenset(),
        log: StateLog | None = None,
        host_tasks: Sequence[HostTask] = (),
    ) -> None:
        self.topology = topology
        self.instants = instants
        self.clock = Clock()
        self.units: list[Unit] = []
        self.parts: list[RunPart] = []
        self.section = ("load", 0)
        """What is run of a program, ``load`` or ``run``, and its first cycle."""
        self.recorder = recorder
        self.log = log
        tiles = topology.tiles
        self.stops = self._ring_stops(topology)
        """Those of channel B behind those of A."""
        self.monitor = RingMonitor(self.clock, topology, strict, self._transfers_on_ring, reading)
        for stop, passage in zip(self.stops, self.monitor.passages, strict=True):
            stop.passage = passage
        self.data_memory = Memory("chip.data_memory", topology.data_memory.size_bytes)
        self.host_infeed = HostInfeed(self.clock, self._unit("chip.host.infeed"), topology, self.data_memory)
        self.host_outfeed = HostOutfeed(self.clock, self._unit("chip.host.outfeed"), topology, samples)
        self.infeed = InfeedEngine(
            self.clock, self._unit("chip.infeed"), topology, self.data_memory, self.host_infeed, self._stops_at(0)
        )
        self.outfeed = OutfeedEngine(
            self.clock,
            self._unit("chip.outfeed"),
            topology,
            self.host_outfeed,
            self.stops[tiles + 2],
            self.infeed.forwarded,
            self._count_outfeed,
        )
        self._arbiter = arbiter = Arbiter(self.clock)
        decoder = Decoder(TraversalForm(topology.tile))
        self.tiles = [
            Tile(
                k, self.clock, arbiter, topology, self._stops_at(k + 1), self._unit, samples, self._raise_fence,
                retired, decoder,
            )
            for k in range(tiles)
        ]  # fmt: skip
        self.mesh = [self._mesh_link(tile, side) for tile in self.tiles for side in tile.mesh_out]
        self.classifier = ClassifierTile(self.clock, self._unit("chip.classifier"), topology, self.stops[tiles + 1])
        stations: list[Station] = [*self.tiles, self.classifier]
        controller = self._unit("chip.controller")
        self.bus = [
            BusStop(self._unit(f"chip.instruction_bus.stop{k}"), k, station) for k, station in enumerate(stations)
        ]
        bus = InstructionBus(self.clock, topology.instruction_bus.hop_cycles, controller, self.bus)
        self.sequencer = Sequencer(self.clock, controller, topology, bus, self.infeed.buffer, self.outfeed.buffer)
        self.host_infeed.on_program = self._count_program
        self.host_processor = (
            HostProcessor(self.clock, self._unit("chip.host.processor"), self.host_outfeed, host_tasks)
            if host_tasks
            else None
        )
        self._livelock = LivelockMonitor(self.clock, self.stops, self.units, self._awaits_tails)
        for stop in self.stops:
            stop.on_miss = self._livelock.start

    def fill(self, segments: tuple[DataSegment, ...]) -> None:
        """Put a program's parameters into data memory."""
        for segment in segments:
            self.data_memory.check(segment.address, segment.address + segment.data.size)
            self.data_memory.bytes[:, segment.address : segment.address + segment.data.size] = segment.data
        self.host_infeed.share(max((segment.address + segment.data.size for segment in segments), default=0))

    def expect(self, inputs: Iterable[HostTensor], outputs: Iterable[HostTensor]) -> None:
        """Say what a program's tensors are, for a host's link that carries no pads."""
        row_bytes = self.topology.wide_memory.row_bytes
        self.host_infeed.own([size for tensor in inputs for size in tensor.own_bytes(row_bytes)])
        self.host_outfeed.own({k: tensor.own_bytes(row_bytes) for k, tensor in enumerate(outputs)})

    def run(
        self,
        instructions: tuple[Instruction, ...],
        host_rows: Sequence[Content],
        section: str = "run",
        holds: Holds = NO_HOLDS,
        begins: Collection[str] = (),
    ) -> tuple[int, int]:
        """Issue the instructions of a section and feed the rows until nothing happens any more, or nothing new; the
        first cycle, and that after the last.

        The last cycle is that in which the last unit was at work or the last row reached the host. ``holds`` says
        before which cycle, counted from the first, an instruction must not begin, on a tile or (None) anywhere. Behind
        each of the scalar fences ``begins`` another of the ``parts`` begins.
        """
        start = self.clock.cycle
        self.section = section, start
        self.monitor.begin(section)
        for unit in self.units:
            unit.restart()
        self._hold(holds, start)
        self.parts = [self._part()]
        self.infeed.restart()
        self.sequencer.start(instructions, begins, lambda: self.parts.append(self._part()))
        if self.host_processor is not None and section == "run":
            self.host_processor.start()
        self.host_infeed.start(host_rows, instructions, begins)
        self.clock.run()
        return start, max(start, self.host_outfeed.last_arrival, *(unit.active_until for unit in self.units))

    @property
    def afloat(self) -> list[Afloat]:
        """The rows that go round for ever."""
        rows = ((stop.node, packet) for stop in self.stops for packet in stop.packets if self._livelock.endless)
        afloat = [Afloat(p.transfer, p.number, p.header, node) for node, p in rows if p.transfer is not None]
        return sorted(afloat, key=lambda row: (row.transfer.sender, row.transfer.ordinal, row.row, row.node))

    def close(self, end: int) -> None:
        """Account for the rest of a run that ends at ``end``."""
        for tile in self.tiles:
            tile.tensor.close(end)
        for unit in self.units:
            unit.close(end)

    def stop(self, sound: bool) -> int:
        """Account for a section that can't go on, with the cycle in which it stands, or up to a later one if a unit's
        work is known ahead: what a unit waits for lasts until then. ``sound``: engines can tell what they did.

        Returns:
            The cycle after the last.
        """
        if sound:
            self._arbiter.stop()
        end = max(self.clock.cycle + 1, *(unit.accounted_until for unit in self.units))
        for tile in self.tiles:
            tile.tensor.stop(end)
        workers = {engine.unit for tile in self.tiles for engine in tile.engines.values()}
        workers |= {self.infeed.unit, self.outfeed.unit, self.classifier.unit}
        for unit in self.units:
            unit.stop(end, unit in workers)
        return end

    def _part(self) -> RunPart:
        for tile in self.tiles:
            tile.tensor.restart()
        return RunPart(self.clock.cycle, [tile.tensor.shares for tile in self.tiles])

    def _hold(self, holds: Holds, start: int) -> None:
        everywhere = {label: start + cycle for (label, tile), cycle in holds.items() if tile is None}
        for unit in (self.infeed.unit, self.outfeed.unit, self.classifier.unit):
            unit.holds = everywhere
        for tile in self.tiles:
            ours = {label: start + cycle for (label, index), cycle in holds.items() if index == tile.index}
            both = everywhere | ours
            for engine in tile.engines.values():
                engine.unit.holds = both

    def _transfers_on_ring(self) -> Iterator[SentTransfer]:
        return (packet.transfer for stop in self.stops for packet in stop.packets if packet.transfer is not None)

    def _awaits_tails(self) -> bool:
        turn = self.infeed.unit.waiting
        here = turn is not None and turn.reason is Reason.FLAG
        return here or any(tile.flags.awaited(flag) for tile in self.tiles for flag in ORDINALS.values())

    def _raise_fence(self, increment: int, waker: Waker | None) -> None:
        self.sequencer.unit.woken_by(waker, Reason.FLAG)
        self.sequencer.counters.raise_by(FENCES, increment)

    def _count_outfeed(self) -> None:
        self.sequencer.unit.woken_by(self.outfeed.unit.waker, Reason.FLAG)
        self.sequencer.counters.raise_by(OUTFEEDS, 1)

    def _count_program(self) -> None:
        self.sequencer.counters.raise_by(PROGRAMS, 1, Waker(self.host_infeed.unit.track, PROGRAM))

    def _unit(self, track: str) -> Unit:
        unit = Unit(self.clock, track, listener(track, self.recorder, None if self.log is None else self.log.spans))
        unit.instants = self.instants
        self.units.append(unit)
        return unit

    def _mesh_link(self, tile: Tile, side: Side) -> MeshLink:
        to = neighbour(self.topology.grid, tile.index, side)
        assert to is not None
        sender, receiver = tile.mesh_out[side], self.tiles[to].mesh_in[OPPOSITE[side]]
        unit = self._unit(f"chip.mesh.tile{tile.index}.{side}")
        sender.link = receiver.link = MeshLink(unit, self.topology.mesh, sender, receiver, receiver.writing)
        return sender.link

    def _ring_stops(self, topology: Topology) -> list[RingStop]:
        """The stops of each channel, joined to a ring; those of a node share its link."""
        links = [NodeLink(self.clock, self._ring_link(node)) for node in range(topology.tiles + 3)]
        found: list[RingStop] = []
        for channel in channels_of(topology):
            ring = [
                RingStop(self.clock, topology, node - 1 if node else None, link, channel)
                for node, link in enumerate(links)
            ]
            for stop, following in zip(ring, [*ring[1:], ring[0]], strict=True):
                stop.connect(following)
            found += ring
        return found

    def _stops_at(self, node: int) -> dict[Channel, RingStop]:
        """A node's stops."""
        nodes = self.topology.tiles + 3
        return {channel: self.stops[node + channel.number * nodes] for channel in channels_of(self.topology)}

    def _ring_link(self, node: int) -> Unit:
        return self._unit(f"chip.ring.link{node}")
