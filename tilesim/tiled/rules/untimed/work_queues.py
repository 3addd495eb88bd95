"""What each engine of the chip has to do for a program, in its order: items in queues, and the fences between them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cached_property

from msgspec import Struct, field

from tilesim.machines.program import where
from tilesim.tiled.isa.model import instructions as isa
from tilesim.tiled.isa.model.accesses import words_per_access
from tilesim.tiled.isa.model.fields import OPPOSITE, ORDINALS, Channel, Engine, Flag, neighbour
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.rules.tile.firing_conditions import firing_conditions
from tilesim.tiled.rules.untimed.host_results import waiting_rows
from tilesim.tiled.rules.untimed.transfers import Transfer, first_stop, sent_by

CONTROLLER = -1
"""In place of a tile, for infeed, outfeed and classifier."""
QueueKey = tuple[int, str]
Count = tuple[int, Flag, int]
"""A flag of a tile between two of its resets: (tile, flag, resets so far)."""
Condition = tuple[int, Count, int]
"""Rounds from this one on wait until a flag has counted so far: (round, flag, expected)."""
FORWARDED: Count = (CONTROLLER, Flag.RING_READ_A, 0)
"""Rows that the outfeed has taken for the infeed to forward."""
RESULTS: Count = (CONTROLLER, Flag.AVDATA, 0)
"""Rows that it has taken for the host, where that makes something of them for the tiles."""


class WorkItem(Struct, eq=False):
    """One instruction on one engine. ``takes_before`` are the rows that its queue takes off the ring before it;
    ``node`` is where it takes rows, ``transfer`` what it sends, ``partner`` the other end of a mesh link. ``starter``:
    the tile that starts the broadcast of the instruction, if one does; its fences hold it, too.
    """

    op: isa.Instruction
    name: str
    place: int
    queue: int
    tile: int
    number: int
    rounds: int
    conditions: tuple[Condition, ...] = ()
    rises: tuple[int, ...] = ()
    raises: Count | None = None
    node: int | None = None
    takes_before: int = 0
    transfer: Transfer | None = None
    partner: WorkItem | None = None
    needs_partner: bool = False
    starter: int | None = None

    def __str__(self) -> str:
        where = f" of tile {self.tile}" if self.tile != CONTROLLER else ""
        return f"{self.name} ({self.op.mnemonic}{where})"


class Fence(Struct, frozen=True, eq=False):
    """A tile fence on one tile: through when each of some queues has done so many items. ``starter`` as of items."""

    op: isa.TileFence
    name: str
    place: int
    tile: int
    drained: tuple[tuple[int, int], ...]
    starter: int | None = None


class Stop(Struct, frozen=True):
    """The controller issues nothing from ``place`` on until ``fences`` increments have come in all and each of some
    queues has done so many items; at the end of the load program (``fences`` None), until everything has come to its
    end.
    """

    op: isa.ScalarFence | None
    name: str
    place: int
    fences: int | None
    drained: tuple[tuple[int, int], ...] = ()


class WorkQueues(Struct, dict=True):
    """All of it: ``tile_queues`` the queues of each tile, ``fences`` of each tile in order, ``stops`` of the
    controller.
    """

    program: Program
    queues: list[list[WorkItem]] = field(default_factory=list)
    keys: list[QueueKey] = field(default_factory=list)
    tile_queues: list[list[int]] = field(default_factory=list)
    fences: list[list[Fence]] = field(default_factory=list)
    stops: list[Stop] = field(default_factory=list)
    transfers: list[Transfer] = field(default_factory=list)
    senders: list[WorkItem] = field(default_factory=list)
    """The item that sends each transfer."""
    takers: dict[int, int] = field(default_factory=dict)
    """The queue that takes rows at a node."""
    starters: dict[int, int] = field(default_factory=dict)
    """The tile that starts the broadcast of the instruction at a place, where one does."""
    host_rows: dict[int, int] = field(default_factory=dict)
    """For each transfer from the host, by number, how many of its rows the host has."""
    instructions: list[tuple[str, isa.Instruction]] = field(default_factory=list)
    load_end: int = 0
    """How many of them are the load program's."""

    @property
    def tiles(self) -> int:
        return self.program.topology.tiles

    @property
    def nodes(self) -> int:
        return self.tiles + 3

    @property
    def stops_on_ring(self) -> int:
        """Those of all channels."""
        return self.nodes * self.program.topology.ring.consumer_queues

    def tails_at_source(self, place: int, channel: Channel) -> Count:
        """What the infeed counts of the transfers of a channel that pass it, in the section of the instruction at
        ``place``.
        """
        return CONTROLLER, ORDINALS[channel], int(place >= self.load_end)

    def taking(self, node: int) -> list[WorkItem]:
        """The items that take rows at a node, in their order."""
        queue = self.queues[self.takers[node]] if node in self.takers else []
        return [item for item in queue if item.node == node]

    def taker(self, node: int, row: int) -> WorkItem | None:
        """The item that takes a row at a node, counted from the first that comes there."""
        return next((item for item in self.taking(node) if item.takes_before + item.rounds > row), None)

    @cached_property
    def watchers(self) -> dict[Count, list[int]]:
        """The queues whose items wait for each flag; of a work whose queues are full."""
        found: dict[Count, dict[int, None]] = defaultdict(dict)
        for number, queue in enumerate(self.queues):
            for item in queue:
                for _, count, _ in item.conditions:
                    found[count][number] = None
        return {count: list(queues) for count, queues in found.items()}


def work_queues(program: Program) -> WorkQueues:
    """The work queues of a program that is sound, load program first."""
    return _Assignment(program).work


class _Assignment:
    def __init__(self, program: Program) -> None:
        tiles = program.topology.tiles
        self.work = WorkQueues(program, tile_queues=[[] for _ in range(tiles)], fences=[[] for _ in range(tiles)])
        self._queues: dict[QueueKey, int] = {}
        self._shared = program.topology.ring.queue == "shared"
        self._strict = program.topology.tile.strict_compare
        self._resets: Counter[tuple[int, Flag]] = Counter()
        self._taken: Counter[int] = Counter()
        self._last: dict[QueueKey, tuple[int, int]] = {}
        self._fenced = 0
        self._forwarded = 0
        self._host_rows = sum(tensor.rows for tensor in program.sent)
        self._sent = 0
        self._waiting = dict(waiting_rows(program))
        self._ends: dict[tuple[str, int, str], list[WorkItem]] = defaultdict(list)
        for section, ops in (("load", program.load), ("run", program.run)):
            for place, op in enumerate(ops):
                self._add(op, where(section, place, op).rpartition(" ")[0])
            if section == "load" and ops:
                self.work.load_end = len(ops)
                self.work.stops.append(Stop(None, "the end of the load program", len(ops), None))
        self._join_links()

    def _add(self, op: isa.Instruction, name: str) -> None:
        self.work.instructions.append((name, op))
        if isinstance(op, isa.Broadcast):
            self.work.starters[len(self.work.instructions)] = op.tiles.bit_length() - 1
        if isinstance(op, isa.Work | isa.TileFence):
            for tile in range(self.work.tiles):
                if op.tiles >> tile & 1:
                    self._add_to_tile(op, tile)
        elif isinstance(op, isa.ScalarFence):
            self._fenced += op.count
            outfeed = self._queues.get((CONTROLLER, isa.Outfeed.mnemonic)) if op.idle else None
            drained = () if outfeed is None else ((outfeed, len(self.work.queues[outfeed])),)
            self.work.stops.append(Stop(op, name, self._place, self._fenced, drained))
        elif isinstance(op, isa.Infeed | isa.Outfeed | isa.Classify):
            self._add_to_controller(op)

    @property
    def _place(self) -> int:
        """That of the instruction that is being added."""
        return len(self.work.instructions) - 1

    def _item(
        self,
        op: isa.Instruction,
        queue: int,
        rounds: int,
        conditions: tuple[Condition, ...] = (),
        rises: tuple[int, ...] = (),
        raises: Count | None = None,
    ) -> WorkItem:
        """The next item of a queue, for the instruction that is being added."""
        name, items, (tile, _) = self.work.instructions[-1][0], self.work.queues[queue], self.work.keys[queue]
        item = WorkItem(op, name, self._place, queue, tile, len(items), rounds, conditions, rises, raises)
        item.starter = self.work.starters.get(self._place)
        items.append(item)
        return item

    def _add_to_tile(self, op: isa.Work | isa.TileFence, tile: int) -> None:
        if isinstance(op, isa.TileFence):
            self._add_fence(op, tile)
            return
        with_consumer = self._shared and op.engine is Engine.RING_PRODUCER
        queue = self._queue((tile, Engine.RING_CONSUMER if with_consumer else op.engine))
        topology = self.work.program.topology
        words = words_per_access(op, topology) if isinstance(op, isa.MeshIn | isa.MeshOut) else 1
        firing = firing_conditions(op, topology.wide_memory.row_bytes, words)
        gates = ((gate.group, self._count(tile, gate.flag), gate.expected + self._strict) for gate in firing.gates)
        item = self._item(op, queue, firing.rounds, tuple(gates), firing.rises, self._count(tile, isa.raised_flag(op)))
        self._last[tile, op.engine] = queue, len(self.work.queues[queue])
        if isinstance(op, isa.RingConsume):
            self._take(item, first_stop(op.channel, self.work.tiles) + tile + 1)
        elif isinstance(op, isa.RingProduce):
            self._send(item, 0, first_stop(op.channel, self.work.tiles) + tile + 1, op.to)
        elif isinstance(op, isa.MeshOut):
            to = neighbour(topology.grid, tile, op.side)
            assert to is not None
            self._end("out", to, OPPOSITE[op.side], item)
        elif isinstance(op, isa.MeshIn) and op.fill is None:
            self._end("in", tile, op.side, item)

    def _count(self, tile: int, flag: Flag) -> Count:
        return tile, flag, self._resets[tile, flag]

    def _add_fence(self, op: isa.TileFence, tile: int) -> None:
        drained = tuple(self._last[tile, engine] for engine in op.idle if (tile, engine) in self._last)
        name, starter = self.work.instructions[-1][0], self.work.starters.get(self._place)
        self.work.fences[tile].append(Fence(op, name, self._place, tile, drained, starter))
        for flag in op.reset:
            self._resets[tile, flag] += 1

    def _add_to_controller(self, op: isa.Infeed | isa.Outfeed | isa.Classify) -> None:
        queue = self._queue((CONTROLLER, op.mnemonic))
        if isinstance(op, isa.Outfeed | isa.Classify):
            told = isinstance(op, isa.Outfeed) and self._waiting
            raises, rises = (RESULTS, tuple(range(1, op.rows + 1))) if told else (None, ())
            item = self._item(op, queue, op.rows, rises=rises, raises=raises)
            self._take(item, self.work.tiles + (1 if isinstance(op, isa.Classify) else 2))
        if isinstance(op, isa.Infeed) and op.source == "ring":  # the outfeed takes the rows that an infeed forwards
            rows, outfeed = op.total_rows, self._queue((CONTROLLER, isa.Outfeed.mnemonic))
            item = self._item(op, outfeed, rows, rises=tuple(range(1, rows + 1)), raises=FORWARDED)
            self._take(item, self.work.tiles + 2)
        if isinstance(op, isa.Infeed | isa.Classify):
            for ordinal, (master, to, rows) in enumerate(sent_by(op, self.work.program.topology)):
                turn = self._turn(op) if isinstance(op, isa.Infeed) and not ordinal else ()
                conditions = (*turn, *self._forwarding(op, rows), *self._made(op, rows))
                self._send(self._item(op, queue, rows, conditions), ordinal, master, to)

    def _turn(self, op: isa.Infeed) -> tuple[Condition, ...]:
        return ((0, self.work.tails_at_source(self._place, op.channel), op.turn),) if op.turn else ()

    def _forwarding(self, op: isa.Infeed | isa.Classify, rows: int) -> Iterator[Condition]:
        """A row that is forwarded must have been taken."""
        if isinstance(op, isa.Infeed) and op.source == "ring":
            yield from ((row, FORWARDED, self._forwarded + row + 1) for row in range(rows))
            self._forwarded += rows

    def _made(self, op: isa.Infeed | isa.Classify, rows: int) -> Iterator[Condition]:
        """A row that the host makes of results comes behind these."""
        if isinstance(op, isa.Infeed) and op.source == "host":
            own = (row for row in range(rows) if self._sent + row in self._waiting)
            yield from ((row, RESULTS, self._waiting[self._sent + row]) for row in own)
            self._sent += rows

    def _take(self, item: WorkItem, node: int) -> None:
        item.node, item.takes_before = node, self._taken[node]
        self._taken[node] += item.rounds
        self.work.takers[node] = item.queue

    def _send(self, item: WorkItem, ordinal: int, master: int, to: int) -> None:
        number, nodes = len(self.work.transfers), self.work.nodes
        item.transfer = Transfer(number, item.op, item.name, item.place, ordinal, master, to, item.rounds, nodes)
        self.work.transfers.append(item.transfer)
        if isinstance(item.op, isa.Infeed) and item.op.source == "host":
            self.work.host_rows[number] = min(self._host_rows, item.rounds)
            self._host_rows -= self.work.host_rows[number]
        self.work.senders.append(item)

    def _queue(self, key: QueueKey) -> int:
        if key not in self._queues:
            self._queues[key] = len(self.work.queues)
            self.work.queues.append([])
            self.work.keys.append(key)
            if key[0] != CONTROLLER:
                self.work.tile_queues[key[0]].append(self._queues[key])
        return self._queues[key]

    def _end(self, way: str, tile: int, side: str, item: WorkItem) -> None:
        item.needs_partner = True
        self._ends[way, tile, side].append(item)

    def _join_links(self) -> None:
        """The k-th that is sent over a link meets the k-th that is received."""
        for (way, tile, side), items in self._ends.items():
            if way == "out":
                for sent, received in zip(items, self._ends.get(("in", tile, side), ()), strict=False):
                    sent.partner, received.partner = received, sent
