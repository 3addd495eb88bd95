"""The whole chip: host, controller, buses, tiles and classifier, and the order in which they are asked in a cycle."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import pairwise

from tilesim.machines.holds import NO_HOLDS, Holds
from tilesim.tiled.isa.model.fields import OPPOSITE, Side, neighbour
from tilesim.tiled.isa.model.instructions import Instruction
from tilesim.tiled.isa.model.program import DataSegment, Program
from tilesim.tiled.stepped.classifier import ClassifierTile
from tilesim.tiled.stepped.controller import Controller
from tilesim.tiled.stepped.core import IDLE, WORK, Clock, Span, Thread, UnitAccount
from tilesim.tiled.stepped.host import HostInfeed, HostOutfeed
from tilesim.tiled.stepped.host_driver import HostRow, HostSide
from tilesim.tiled.stepped.host_processor import HostProcessor
from tilesim.tiled.stepped.infeed import InfeedEngine
from tilesim.tiled.stepped.instruction_bus import BusStop, Station
from tilesim.tiled.stepped.memory import Memory, Touch
from tilesim.tiled.stepped.mesh import MeshLink
from tilesim.tiled.stepped.monitors import LivelockMonitor, RingMonitor
from tilesim.tiled.stepped.outfeed import OutfeedEngine
from tilesim.tiled.stepped.ring import Link, RingStop
from tilesim.tiled.stepped.tile import Tile
from tilesim.tiled.topology import Topology


class Chip:
    """A chip at rest, with a program's parameters in data memory; ``keeps_spans``: for a trace; ``observes``: transfers
    may meet.

    ``touches`` is what the instructions ``watched``, by tile and label, have touched, with the cycles of that section.
    """

    def __init__(
        self,
        topology: Topology,
        data: tuple[DataSegment, ...],
        keeps_spans: bool,
        observes: bool = False,
        watched: Collection[tuple[int, str]] = (),
        host: tuple[Program, HostSide] | None = None,
    ) -> None:
        self.touches: dict[tuple[int, str], list[Touch]] = {instruction: [] for instruction in watched}
        self._observes = observes
        self._start = 0
        self.clock = Clock()
        self.accounts: list[UnitAccount] = []
        self._keeps_spans = keeps_spans
        self._sends_padding = topology.host.sends_padding
        tiles, clock = topology.tiles, self.clock
        self.monitor = RingMonitor()
        self.links = [Link(self._account(f"chip.ring.link{node}")) for node in range(tiles + 3)]
        self.rings = [self._ring(topology, channel) for channel in range(topology.ring.consumer_queues)]
        self.stops = [stop for ring in self.rings for stop in ring]
        at = [[ring[node] for ring in self.rings] for node in range(tiles + 3)]
        """The stops of each node."""
        memory = Memory("chip.data_memory", topology.data_memory.size_bytes)
        for segment in data:
            memory.write(segment.address, segment.data)
        self.host_infeed = HostInfeed(clock, self._account("chip.host.infeed"), topology, data, memory)
        self.host_outfeed = HostOutfeed(clock, self._account("chip.host.outfeed"), topology)
        self.infeed = InfeedEngine(clock, self._account("chip.infeed"), topology, memory, self.host_infeed.queue, at[0])
        self.outfeed = OutfeedEngine(
            clock, self._account("chip.outfeed"), topology, self.host_outfeed, at[-1][0], self.infeed.forwarded
        )
        self.tiles = [
            Tile(k, clock, topology, at[k + 1], self._account, self._raise_fence, self._listener(k))
            for k in range(tiles)
        ]
        for tile in self.tiles:
            for side in tile.mesh_out:
                self._lay_mesh(tile, side, topology)
        self.classifier = ClassifierTile(clock, self._account("chip.classifier"), topology, self.stops[tiles + 1])
        self.bus = self._instruction_bus(topology)
        self.controller = Controller(clock, self._account("chip.controller"), topology)
        self.controller.connect(self.bus[0], self.infeed, self.outfeed, self.host_infeed)
        self.threads: list[Thread] = [self.host_infeed, self.outfeed, self.infeed, *self.bus]
        self.threads += [self.classifier, self.controller]
        self.host_processor: HostProcessor | None = None
        self._side = host[1] if host else None
        if host and host[0].steps:
            self.host_processor = HostProcessor(
                clock, self._account("chip.host.processor"), host[0], host[1], self.host_outfeed
            )
            # results that come over in a cycle can be read in it, and what is made of them be sent
            self.threads.remove(self.host_infeed)
            self.threads[1:1] = [self.host_processor, self.host_infeed]
        self._livelock = LivelockMonitor(clock, self.rings, self._awaits_tails, topology.ring.hop_cycles)

    def _ring(self, topology: Topology, channel: int) -> list[RingStop]:
        """The stops of a channel, joined to a ring."""
        row_bytes = topology.wide_memory.row_bytes
        ring = [
            RingStop(self.clock, link, node, topology.ring, row_bytes, channel) for node, link in enumerate(self.links)
        ]
        for stop, following in zip(ring, [*ring[1:], ring[0]], strict=True):
            stop.following = following
            stop.note = self.monitor.note
        return ring

    def _awaits_tails(self) -> bool:
        return self.infeed.awaits_turn or any(tile.awaits_tails for tile in self.tiles)

    def _account(self, track: str) -> UnitAccount:
        account = UnitAccount(track, self._keeps_spans)
        self.accounts.append(account)
        return account

    def _lay_mesh(self, tile: Tile, side: Side, topology: Topology) -> None:
        to = neighbour(topology.grid, tile.index, side)
        assert to is not None
        account = self._account(f"chip.mesh.tile{tile.index}.{side}")
        link = MeshLink(self.clock, account, topology.mesh, topology.narrow_memory.word_bytes)
        tile.mesh_out[side].link = self.tiles[to].mesh_in[OPPOSITE[side]].link = link

    def _instruction_bus(self, topology: Topology) -> list[BusStop]:
        stations: list[Station] = [*self.tiles, self.classifier]
        bus = [
            BusStop(self.clock, self._account(f"chip.instruction_bus.stop{k}"), k, topology.instruction_bus, station)
            for k, station in enumerate(stations)
        ]
        for stop, following in pairwise(bus):
            stop.following = following
        return bus

    def _raise_fence(self, increment: int) -> None:
        self.controller.fences += increment

    def step(self) -> None:
        """One cycle of everything."""
        for thread in self.threads:
            thread.request()
        for tile in self.tiles:
            tile.request()
        self._move_rows()
        for tile in self.tiles:
            tile.arbitrate()
        for thread in self.threads:
            thread.commit()
        for tile in self.tiles:
            tile.commit()
        for tile in self.tiles:
            tile.commit_late()
        for stop in self.stops:
            stop.commit()
        self.monitor.commit()
        self.clock.advance()

    def _move_rows(self) -> None:
        """A cycle of the ring: at each node, the stop of channel A goes first."""
        for link in self.links:
            link.begin()
        for ring in self.rings:
            for stop, upstream in zip(ring, [ring[-1], *ring], strict=False):
                stop.arbitrate(upstream)
        for link in self.links:
            link.end(self.clock.cycle)

    @property
    def collided(self) -> bool:
        """Whether transfers met that must not."""
        return self.monitor.collided and not self._observes

    def expect(self, inputs: list[list[int]], outputs: list[list[int]]) -> None:
        """How many bytes of each row of the host's tensors are no pads, for a link that carries none."""
        if not self._sends_padding:
            self.host_infeed.own_bytes = deque(size for tensor in inputs for size in tensor)
            self.host_outfeed.own_bytes = {k: deque(sizes) for k, sizes in enumerate(outputs)}

    def start_host(self) -> None:
        """What the host computes itself, it does from the section on that is run next."""
        if self.host_processor is not None:
            self.host_processor.started = True

    def run(
        self, instructions: Iterable[Instruction], rows: Sequence[HostRow], holds: Holds = NO_HOLDS
    ) -> tuple[int, int]:
        """Issue the instructions of a section and feed the rows until nothing changes any more, or transfers meet that
        must not; the first cycle, and that after the last. ``holds`` says before which cycle of the section an
        instruction must not begin, on a tile or (None) anywhere.
        """
        start = self._start = self.clock.cycle
        self._hold(holds, start)
        for account in self.accounts:
            account.restart(start)
        self.infeed.passed = [0, 0]
        ops = tuple(instructions)
        self.controller.start(ops)
        self.host_infeed.start(rows, ops, self._side)
        self.clock.stir()
        while not (self.clock.rests or self.collided or self._livelock.endless()):
            self.step()
        return start, max(start, self.host_outfeed.last_arrival, *(account.active_until for account in self.accounts))

    def _hold(self, holds: Holds, start: int) -> None:
        everywhere = {label: start + cycle for (label, tile), cycle in holds.items() if tile is None}
        for thread in (self.infeed, self.outfeed, self.classifier):
            thread.holds = everywhere
        for tile in self.tiles:
            own = {label: start + cycle for (label, index), cycle in holds.items() if index == tile.index}
            tile.holds = everywhere | own

    def _listener(self, tile: int) -> Callable[[str, Touch], None] | None:
        """Who keeps what the watched instructions of a tile touch, if there are any."""
        watched = {label: touches for (index, label), touches in self.touches.items() if index == tile}

        def listen(label: str, touch: Touch) -> None:
            if label in watched:
                watched[label].append(touch._replace(cycle=self.clock.cycle - self._start))

        return listen if watched else None

    def close(self, end: int) -> dict[str, dict[str, int]]:
        """The accounts of a section that ended at ``end``: a tensor control that rests at last has no more work."""
        workers = {account for tile in self.tiles for account in (tile.tensor.account, tile.tensor.mac_account)}
        for account in self.accounts:
            account.close(end, WORK if account in workers and account.kind == IDLE else None)
        return {account.track: dict(account.cycles) for account in self.accounts}

    @property
    def spans(self) -> list[Span]:
        """What all units did, in order of time."""
        return sorted(
            (span for account in self.accounts for span in account.spans), key=lambda span: (span[1], span[0])
        )

    @property
    def hangs(self) -> bool:
        """Whether anything at rest is in the middle of something."""
        stuck = any(account.kind != IDLE for account in self.accounts)
        return stuck or bool(self.controller.to_issue) or any(stop.register or stop.outgoing for stop in self.stops)
