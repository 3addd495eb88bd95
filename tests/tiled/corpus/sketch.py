"""A program in the making: what it has issued, where things stand in the memories, and which flags tell of them.

Every instruction writes bytes that no other one writes, and reads those of earlier ones behind a watcher or a fence, so
that nothing depends on the order of things that nothing orders: except on the ring, if ``unruly``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import TypeVar

from tilesim.tiled.isa.model.fields import Engine, Flag, Loop, Nest, Reference, Traversal, Watcher
from tilesim.tiled.isa.model.instructions import (
    Broadcast,
    Instruction,
    ScalarFence,
    TileFence,
    Work,
    header_of,
    increments,
    raised_flag,
)
from tilesim.tiled.isa.model.program import Block, HostTensor
from tilesim.tiled.topology import Topology

Item = TypeVar("Item")
LATEST = 8
WIDE = 0.5
"""Share of the programs in which operands may have 16 bits."""
"""Buffers that are still read."""
CONSTANT_ROWS, CONSTANT_BYTES = 24, 512
"""What stands at the bottom of each wide and each narrow memory before the run, and is never written in it."""


@dataclass(frozen=True)
class Buffer:
    """Bytes at ``base`` of one memory in each of ``tiles`` that an instruction writes, in order.

    ``flag`` tells of them: it stood at ``before`` and rises ``rises`` times, each time when ``unit_bytes`` more are
    there (0: in no such order). Without a flag they are there already.
    """

    memory: str
    base: int
    bytes: int
    tiles: tuple[int, ...]
    flag: Flag | None = None
    before: int = 0
    rises: int = 0
    unit_bytes: int = 0
    engine: Engine | None = None


@dataclass
class Sketch:
    """See the module. ``ops`` are the instructions of the section in the making."""

    random: Random
    chip: Topology
    unruly: bool = False
    types: Random = field(default_factory=Random)
    """Says what elements are: whether any has 16 bits, and which."""
    ops: list[Instruction] = field(default_factory=list)
    buffers: list[Buffer] = field(default_factory=list)
    counts: dict[tuple[int, Flag], int] = field(default_factory=dict)
    fenced: int = 0
    """Increments of the controller's counter that no scalar fence has taken."""
    host_rows: int = 0
    outputs: list[int] = field(default_factory=list)
    """Rows of each."""
    _ends: dict[str, int] = field(default_factory=dict)
    _labelled: int = 0

    def __post_init__(self) -> None:
        self.word, self.row = self.chip.narrow_memory.word_bytes, self.chip.wide_memory.row_bytes
        self.tiles, self.strict = self.chip.tiles, int(self.chip.tile.strict_compare)
        self.first_row = self.chip.wide_memory.reserve_bytes
        self.wide = self.types.random() < WIDE
        self._ends = {"narrow": CONSTANT_BYTES, "wide": self.first_row + CONSTANT_ROWS * self.row}

    def maybe(self, chance: float) -> bool:
        return self.random.random() < chance

    def some(self, items: Sequence[Item]) -> tuple[Item, ...]:
        """A few of ``items``, at least one, often only one, often all; in their order."""
        count = self.random.choice((1, 1, len(items), self.random.randint(1, len(items))))
        chosen = set(self.random.sample(range(len(items)), count))
        return tuple(item for k, item in enumerate(items) if k in chosen)

    def place(self, memory: str, size_bytes: int) -> int:
        """The address of bytes that nobody uses."""
        unit = self.word if memory == "narrow" else self.row
        base = self._ends[memory]
        self._ends[memory] = base + -(-size_bytes // unit) * unit
        return base

    def source(self, memory: str, size_bytes: int, among: Sequence[int] = ()) -> tuple[Buffer, int]:
        """Bytes that can be read, of the last buffers or of what stands there before the run, and where."""
        tiles = tuple(among) or tuple(range(self.tiles))
        fits = [
            each
            for each in self.buffers[-LATEST:]
            if each.memory == memory and each.bytes >= size_bytes and set(each.tiles) & set(tiles)
        ]
        if fits and self.maybe(0.8):
            chosen = self.random.choice(fits)
            return replace(chosen, tiles=self.some([tile for tile in chosen.tiles if tile in tiles])), chosen.base
        unit, first = (self.word, 0) if memory == "narrow" else (self.row, self.first_row)
        room = CONSTANT_BYTES if memory == "narrow" else CONSTANT_ROWS * self.row
        offset = self.random.randrange((room - size_bytes) // unit + 1) * unit
        return Buffer(memory, first + offset, size_bytes, self.some(tiles)), first + offset

    def watch(self, buffer: Buffer, loop: str = "", chunk_bytes: int = 0) -> tuple[Watcher, ...]:
        """Watchers for all of ``buffer``; or, perhaps, for ``chunk_bytes`` more of it in each round of ``loop``."""
        if buffer.flag is None:
            return ()
        first = buffer.before - self.strict
        if loop and buffer.unit_bytes and chunk_bytes % buffer.unit_bytes == 0 and self.maybe(0.6):
            each = chunk_bytes // buffer.unit_bytes
            return (Watcher(buffer.flag, first + each, loop, each),)
        return (Watcher(buffer.flag, first + buffer.rises),)

    def idle_watch(self, tile: int) -> tuple[Watcher, ...]:
        """Perhaps a watcher that nothing depends on."""
        known = [each for each in self.buffers[-LATEST:] if tile in each.tiles and each.flag is not None]
        return self.watch(self.random.choice(known)) if known and self.maybe(0.4) else ()

    def emit(self, op: Instruction) -> None:
        """Issue an instruction, sometimes by a broadcast of a tile."""
        stops = header_of(op, self.tiles)
        if not isinstance(op, TileFence) and stops and self.maybe(0.1):
            lowest = (stops & -stops).bit_length() - 1
            start = self.random.randint(0, min(lowest, self.tiles - 1))
            if stops > 1 << start:
                self.ops.append(Broadcast(tiles=1 << start, label=self._label("broadcast")))
        self.ops.append(replace(op, label=self._label(op.mnemonic)))

    def post(self, op: Work, written: Buffer | None = None) -> None:
        """Issue work of a tile; what it has ``written`` can be read from now on, if its flag tells of it."""
        self.emit(op)
        flag, rises = raised_flag(op), increments(op)
        groups: dict[int, list[int]] = {}
        for tile in range(self.tiles):
            if op.tiles >> tile & 1:
                before = self.counts.get((tile, flag), 0)
                groups.setdefault(before, []).append(tile)
                self.counts[tile, flag] = before + rises
        if written is None or not rises:
            return
        for before, tiles in groups.items():
            known = replace(written, tiles=tuple(tiles), flag=flag, before=before, rises=rises, engine=op.engine)
            self.buffers.append(known)

    def fence(self, tiles: Sequence[int], idle: tuple[Engine, ...], increment: int, reset: bool = False) -> None:
        """Hold some tiles until engines have drained: what these have written is there then; of all engines, the flags
        may be reset.
        """
        flags = tuple(sorted({flag for tile, flag in self.counts if tile in tiles})) if reset else ()
        bitmap = sum(1 << tile for tile in tiles)
        self.emit(TileFence(tiles=bitmap, idle=idle, reset=flags, increment=increment))
        self.fenced += increment * len(tiles)
        for tile in tiles:
            for flag in flags:
                self.counts[tile, flag] = 0
        self.buffers = [part for each in self.buffers for part in _settled(each, tiles, idle)]

    def scalar_fence(self, count: int, idle: tuple[str, ...] = ()) -> None:
        self.emit(ScalarFence(count=count, idle=idle))
        self.fenced -= count

    def host_tensor(self, name: str, rows: int) -> HostTensor:
        size = rows * self.row
        block = Block((0, 0, 0), (1, 1, size), size, rows)
        return HostTensor(name, 0, "int8", (1, size), (0, 1), "i8", (1, 1, size), (block,))

    def new_section(self) -> list[Instruction]:
        """The instructions so far; those to come belong to the next section, before which everything has drained."""
        ops, self.ops = self.ops, []
        self.buffers = [replace(each, flag=None) for each in self.buffers]
        return ops

    def _label(self, mnemonic: str) -> str:
        self._labelled += 1
        return f"{mnemonic}{self._labelled}"


def _settled(buffer: Buffer, tiles: Sequence[int], idle: tuple[Engine, ...]) -> list[Buffer]:
    """The parts of a buffer: those in ``tiles`` need no watcher any more, if its engine has drained."""
    there = tuple(tile for tile in buffer.tiles if tile in tiles)
    if not there or buffer.flag is None or buffer.engine not in idle:
        return [buffer]
    others = tuple(tile for tile in buffer.tiles if tile not in tiles)
    settled = replace(buffer, tiles=there, flag=None)
    return [settled, replace(buffer, tiles=others)] if others else [settled]


def line(base: int, loop: str, bound: int, stride: int) -> Traversal:
    return Traversal(Nest((Loop(loop, bound),)), Reference(base, ((loop, stride),)))


def folded(base: int, outer: tuple[str, int], inner: tuple[str, int], stride: int) -> Traversal:
    """Two loops that go through as many places, ``stride`` bytes apart, as one of both bounds would."""
    strides = ((outer[0], inner[1] * stride), (inner[0], stride))
    return Traversal(Nest((Loop(*outer), Loop(*inner))), Reference(base, strides))
