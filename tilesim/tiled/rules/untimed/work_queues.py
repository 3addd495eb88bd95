"""What each engine of the chip has to do for a program, in its order: tasks in queues, and the fences between them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from tilesim.tiled.isa.model.accesses import words_per_access
from tilesim.tiled.isa.model.fields import Engine, Flag
from tilesim.tiled.isa.model.instructions import (
    Classify,
    Infeed,
    Instruction,
    MeshIn,
    MeshOut,
    Outfeed,
    RingConsume,
    RingProduce,
    ScalarFence,
    TileFence,
    Work,
    raised_flag,
)
from tilesim.tiled.isa.model.neighbours import OPPOSITE, neighbour
from tilesim.tiled.isa.model.program import Program, where
from tilesim.tiled.rules.ring.transfers import Transfer, sent_by
from tilesim.tiled.rules.untimed.firing_conditions import Pace, pace

CONTROLLER = -1
"""In place of a tile, for infeed, outfeed and classifier."""
QueueKey = tuple[int, str]
Count = tuple[int, Flag, int]
"""A flag of a tile between two of its resets: (tile, flag, resets so far)."""
FORWARDED: Count = (CONTROLLER, Flag.RING_READ_A, 0)
"""Rows that the outfeed has taken for the infeed to forward."""


@dataclass(eq=False)
class Task:
    """One instruction on one engine. ``takes_before`` are the rows that its queue takes off the ring before it;
    ``node`` is where it takes rows, ``transfer`` what it sends, ``partner`` the other end of a mesh link.
    """

    op: Instruction
    name: str
    place: int
    queue: int
    tile: int
    number: int
    rounds: int
    holds: tuple[tuple[int, Count, int], ...] = ()
    rises: tuple[int, ...] = ()
    raises: Count | None = None
    node: int | None = None
    takes_before: int = 0
    transfer: Transfer | None = None
    partner: Task | None = None
    needs_partner: bool = False

    def __str__(self) -> str:
        where = f" of tile {self.tile}" if self.tile != CONTROLLER else ""
        return f"{self.name} ({self.op.mnemonic}{where})"


@dataclass(frozen=True)
class Fence:
    """A tile fence on one tile: through when each of some queues has done so many tasks."""

    op: TileFence
    name: str
    place: int
    tile: int
    drained: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Stop:
    """The controller issues nothing from ``place`` on until ``fences`` increments have come in all and each of some
    queues has done so many tasks; at the end of the load program (``fences`` None), until everything has come to its
    end.
    """

    op: ScalarFence | None
    name: str
    place: int
    fences: int | None
    drained: tuple[tuple[int, int], ...] = ()


@dataclass
class WorkQueues:
    """All of it: ``tile_queues`` the queues of each tile, ``fences`` of each tile in order, ``stops`` of the
    controller.
    """

    program: Program
    queues: list[list[Task]] = field(default_factory=list)
    keys: list[QueueKey] = field(default_factory=list)
    tile_queues: list[list[int]] = field(default_factory=list)
    fences: list[list[Fence]] = field(default_factory=list)
    stops: list[Stop] = field(default_factory=list)
    transfers: list[Transfer] = field(default_factory=list)
    senders: list[Task] = field(default_factory=list)
    """The task that sends each transfer."""
    takers: dict[int, int] = field(default_factory=dict)
    """The queue that takes rows at a node."""
    instructions: list[tuple[str, Instruction]] = field(default_factory=list)

    load_end: int = 0
    """How many of them are the load program's."""

    @property
    def tiles(self) -> int:
        return self.program.topology.tiles

    @property
    def nodes(self) -> int:
        return self.tiles + 3

    def tails_at_source(self, place: int) -> Count:
        """What the infeed counts of the transfers that pass it, in the section of the instruction at ``place``."""
        return CONTROLLER, Flag.RING_PRODUCER_A, int(place >= self.load_end)

    def watchers(self, tile: int) -> list[int]:
        """The queues that a tile's flags, or the infeed's counts, can hold."""
        if tile != CONTROLLER:
            return self.tile_queues[tile]
        return [queue for queue, key in enumerate(self.keys) if key == (CONTROLLER, Infeed.mnemonic)]


def duties(program: Program) -> WorkQueues:
    """The duties of a program that is sound, load program first."""
    return _Assignment(program).found


class _Assignment:
    def __init__(self, program: Program) -> None:
        tiles = program.topology.tiles
        self.found = WorkQueues(program, tile_queues=[[] for _ in range(tiles)], fences=[[] for _ in range(tiles)])
        self._queues: dict[QueueKey, int] = {}
        self._shared = program.topology.ring.queue == "shared"
        self._strict = program.topology.tile.strict_compare
        self._resets: Counter[tuple[int, Flag]] = Counter()
        self._taken: Counter[int] = Counter()
        self._last: dict[QueueKey, tuple[int, int]] = {}
        self._fenced = 0
        self._forwarded = 0
        self._ends: dict[tuple[str, int, str], list[Task]] = defaultdict(list)
        for section, ops in (("load", program.load), ("run", program.run)):
            for place, op in enumerate(ops):
                self._add(op, where(section, place, op).rpartition(" ")[0])
            self._end_section(section)
        self._join_links()

    def _add(self, op: Instruction, name: str) -> None:
        place = len(self.found.instructions)
        self.found.instructions.append((name, op))
        if isinstance(op, Work | TileFence):
            for tile in range(self.found.tiles):
                if op.tiles >> tile & 1:
                    self._add_to_tile(op, name, place, tile)
        elif isinstance(op, ScalarFence):
            self._fenced += op.count
            outfeed = self._queues.get((CONTROLLER, Outfeed.mnemonic)) if op.idle else None
            drained = () if outfeed is None else ((outfeed, len(self.found.queues[outfeed])),)
            self.found.stops.append(Stop(op, name, place, self._fenced, drained))
        elif isinstance(op, Infeed | Outfeed | Classify):
            self._add_to_controller(op, name, place)

    def _end_section(self, section: str) -> None:
        end = len(self.found.instructions)
        if section == "load" and end:
            self.found.load_end = end
            self.found.stops.append(Stop(None, "the end of the load program", end, None))

    def _add_to_tile(self, op: Work | TileFence, name: str, place: int, tile: int) -> None:
        if isinstance(op, TileFence):
            self._fence(op, name, place, tile)
            return
        queue = self._queue((tile, self._engine(op.engine)))
        self._last[tile, op.engine] = queue, len(self.found.queues[queue]) + 1
        topology = self.found.program.topology
        words = words_per_access(op, topology) if isinstance(op, MeshIn | MeshOut) else 1
        beat = pace(op, topology.wide_memory.row_bytes, words)
        task = self._task(op, name, place, queue, tile, beat)
        if isinstance(op, RingConsume):
            self._take(task, tile + 1)
        elif isinstance(op, RingProduce):
            self._send(task, 0, tile + 1, op.to)
        elif isinstance(op, MeshOut):
            to = neighbour(self.found.program.topology.grid, tile, op.side)
            assert to is not None
            self._end("out", to, OPPOSITE[op.side], task)
        elif isinstance(op, MeshIn) and op.fill is None:
            self._end("in", tile, op.side, task)

    def _engine(self, engine: Engine) -> Engine:
        return Engine.RING_CONSUMER if self._shared and engine is Engine.RING_PRODUCER else engine

    def _task(self, op: Work, name: str, place: int, queue: int, tile: int, beat: Pace) -> Task:
        flag = raised_flag(op)
        return self._append(
            Task(
                op,
                name,
                place,
                queue,
                tile,
                len(self.found.queues[queue]),
                beat.rounds,
                tuple((hold.round, self._count(tile, hold.flag), hold.expected + self._strict) for hold in beat.holds),
                beat.rises,
                self._count(tile, flag),
            )
        )

    def _append(self, task: Task) -> Task:
        self.found.queues[task.queue].append(task)
        return task

    def _count(self, tile: int, flag: Flag) -> Count:
        return tile, flag, self._resets[tile, flag]

    def _fence(self, op: TileFence, name: str, place: int, tile: int) -> None:
        drained = tuple(self._last[tile, engine] for engine in op.idle if (tile, engine) in self._last)
        self.found.fences[tile].append(Fence(op, name, place, tile, drained))
        for flag in op.reset:
            self._resets[tile, flag] += 1

    def _add_to_controller(self, op: Infeed | Outfeed | Classify, name: str, place: int) -> None:
        queue = self._queue((CONTROLLER, op.mnemonic))
        if isinstance(op, Outfeed | Classify):
            task = self._append(Task(op, name, place, queue, CONTROLLER, len(self.found.queues[queue]), op.rows))
            self._take(task, self.found.tiles + (1 if isinstance(op, Classify) else 2))
        if isinstance(op, Infeed) and op.source == "ring":
            self._take_to_forward(op, name, place)
        if isinstance(op, Infeed | Classify):
            for ordinal, (master, to, rows) in enumerate(sent_by(op, self.found.program.topology)):
                number = len(self.found.queues[queue])
                turn = self._turn(op, place) if isinstance(op, Infeed) and not ordinal else ()
                holds = (*turn, *self._holds_of_rows(op, rows))
                task = self._append(Task(op, name, place, queue, CONTROLLER, number, rows, holds))
                self._send(task, ordinal, master, to)

    def _turn(self, op: Infeed, place: int) -> tuple[tuple[int, Count, int], ...]:
        return ((0, self.found.tails_at_source(place), op.turn),) if op.turn else ()

    def _take_to_forward(self, op: Infeed, name: str, place: int) -> None:
        """The outfeed takes the rows that an infeed forwards."""
        queue, rows = self._queue((CONTROLLER, Outfeed.mnemonic)), op.total_rows
        number, rises = len(self.found.queues[queue]), tuple(range(1, rows + 1))
        task = Task(op, name, place, queue, CONTROLLER, number, rows, rises=rises, raises=FORWARDED)
        self._take(self._append(task), self.found.tiles + 2)

    def _holds_of_rows(self, op: Infeed | Classify, rows: int) -> Iterator[tuple[int, Count, int]]:
        """A row that is forwarded must have been taken."""
        if isinstance(op, Infeed) and op.source == "ring":
            yield from ((row, FORWARDED, self._forwarded + row + 1) for row in range(rows))
            self._forwarded += rows

    def _take(self, task: Task, node: int) -> None:
        task.node, task.takes_before = node, self._taken[node]
        self._taken[node] += task.rounds
        self.found.takers[node] = task.queue

    def _send(self, task: Task, ordinal: int, master: int, to: int) -> None:
        number, nodes = len(self.found.transfers), self.found.nodes
        task.transfer = Transfer(number, task.op, task.name, task.place, ordinal, master, to, task.rounds, nodes)
        self.found.transfers.append(task.transfer)
        self.found.senders.append(task)

    def _queue(self, key: QueueKey) -> int:
        if key not in self._queues:
            self._queues[key] = len(self.found.queues)
            self.found.queues.append([])
            self.found.keys.append(key)
            if key[0] != CONTROLLER:
                self.found.tile_queues[key[0]].append(self._queues[key])
        return self._queues[key]

    def _end(self, way: str, tile: int, side: str, task: Task) -> None:
        task.needs_partner = True
        self._ends[way, tile, side].append(task)

    def _join_links(self) -> None:
        """The k-th that is sent over a link meets the k-th that is received."""
        for (way, tile, side), tasks in self._ends.items():
            if way == "out":
                for sent, received in zip(tasks, self._ends.get(("in", tile, side), ()), strict=False):
                    sent.partner, received.partner = received, sent
