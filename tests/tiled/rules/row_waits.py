"""Random programs whose instructions wait for rows of one another, ordered by construction, and a chip to run them.

Each instruction gets the watchers that the plain rule asks for beside those that it has already, at a loop of its own
chosen at random; so some of the order is only in chains of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from random import Random
from typing import TypeVar

import numpy as np

from tests.tiled.rules.plain_order import WRITTEN, Plain, advance, operands, settle, touched
from tilesim.tiled.isa.model.fields import Flag, Loop, MemoryName, Nest, Reference, Side, Traversal, Watcher
from tilesim.tiled.isa.model.instructions import (
    Infeed,
    Instruction,
    MeshIn,
    MeshOut,
    NarrowToWide,
    Operation,
    RingConsume,
    RingProduce,
    TensorOp,
    WideToNarrow,
    Work,
    counted_nest,
    raised_flag,
)
from tilesim.tiled.isa.model.program import DataSegment, Program
from tilesim.tiled.stepped.chip import Chip as SteppedChip
from tilesim.tiled.topology import Topology
from tilesim.tiled.units.chip import Chip

ROW, WORD, ROWS = 16, 4, 24
NARROW_BYTES = 256


def chip(mesh: str = "narrow", strict: bool = False, ports: int = 1) -> Topology:
    return Topology.model_validate(
        {
            "machine": "tiled",
            "name": "rows",
            "grid": {"rows": 2, "columns": 1},
            "data_memory": {"size_bytes": 1024, "bytes_per_cycle": ROW},
            "instruction_bus": {"buffer_depth": 64},
            "narrow_memory": {"size_bytes": NARROW_BYTES, "word_bytes": WORD},
            "wide_memory": {"size_bytes": ROWS * ROW, "row_bytes": ROW, "ports": ports},
            "mesh": {"destination": mesh},
            "tile": {"lanes": 4, "inputs_per_cycle": 4, "vector_bytes": 4, "strict_compare": strict},
        }
    )


CHIPS = (chip(), chip(), chip(ports=2), chip(strict=True), chip(mesh="wide"))
DATA = DataSegment("rows", np.random.default_rng(3).integers(0, 256, ROWS * ROW, np.uint8), 0)
BOTH = 3
"""Both tiles, as a bitmap."""
TILES = (0, 1)

T = TypeVar("T", bound=Work)


@dataclass
class Sketch:
    """A program in the making: ``steps`` of each tile, how far each flag has counted there, ``sent`` transfers."""

    random: Random
    chip: Topology
    ops: list[Instruction] = field(default_factory=list)
    steps: dict[int, list[Plain]] = field(default_factory=lambda: {tile: [] for tile in TILES})
    counts: Counter[tuple[int, Flag]] = field(default_factory=Counter)
    sent: int = 0

    @property
    def strict(self) -> bool:
        return self.chip.tile.strict_compare

    def program(self) -> Program:
        return Program("rows", self.chip, (), tuple(self.ops), data=(DATA,))

    def add(self, op: Work) -> None:
        """An instruction of one tile, with the watchers that it needs."""
        tile = op.tiles.bit_length() - 1
        steps = self.steps[tile]
        flags = [*dict.fromkeys(raised_flag(step.op) for step in steps)]
        self.random.shuffle(flags)
        for flag in flags:
            needs = self._needs(self._step(op), flag)
            if any(needs):
                op = replace(op, wait=(*op.wait, self._watcher(op, needs, flag, self.counts[tile, flag])))
        self.put(self._step(op))

    def put(self, step: Plain) -> None:
        """An instruction as it is."""
        tile = step.op.tiles.bit_length() - 1
        self.ops.append(replace(step.op, label=f"i{len(self.ops)}"))
        self.steps[tile].append(step)
        self.counts[tile, raised_flag(step.op)] += len(step.raises)

    def _step(self, op: Work) -> Plain:
        tile = op.tiles.bit_length() - 1
        queue = [step for step in self.steps[tile] if step.op.engine == op.engine]
        step = Plain(op, {}, self.counts[tile, raised_flag(op)], set(), queue, self.strict)
        advance(step, self.steps[tile])
        return step

    def _needs(self, step: Plain, flag: Flag) -> list[int]:
        """What a flag must have counted to before each round."""
        needs = [0] * len(step.rounds)
        others = [other for other in self.steps[step.op.tiles.bit_length() - 1] if raised_flag(other.op) == flag]
        for other in others if others and others[0].op.engine != step.op.engine else ():
            for here, there in _meetings(step, other, self.chip):
                for k, j in product(range(len(here)), range(len(there))):
                    if here[k] & there[j] and (other, j) not in step.over[k]:
                        rise = next(place for place, end in enumerate(other.raises) if end >= j)
                        needs[k] = max(needs[k], other.raised_before + 1 + rise)
        return needs

    def _watcher(self, op: Work, needs: list[int], flag: Flag, most: int) -> Watcher:
        """A watcher for that, at some loop, which never waits for more than ``most``."""
        step = Plain(op, {}, 0, set())
        names = [loop.name for loop in counted_nest(op).loops][: step.depth]
        depth = self.random.choice((0, *range(1, len(names) + 1), *range(1, len(names) + 1)))
        if depth == 0:
            return Watcher(flag, max(needs) - self.strict)
        turns = [run[:depth] for run in step.rounds]
        outer = [*dict.fromkeys(turns)]
        by_turn = [max(need for need, at in zip(needs, turns, strict=True) if at == turn) for turn in outer]
        fitting = []
        for stride in range(4):
            expected = max(need - k * stride for k, need in enumerate(by_turn))
            if expected + (len(outer) - 1) * stride <= most:
                fitting.append(Watcher(flag, expected - self.strict, names[depth - 1], stride))
        return fitting[-1] if self.random.random() < 0.8 else self.random.choice(fitting)


def _meetings(step: Plain, other: Plain, chip: Topology) -> Iterator[tuple[list[set[int]], list[set[int]]]]:
    for one, another in product(operands(step, chip), operands(other, chip)):
        (memory, here), (elsewhere, there) = touched(step, one, chip), touched(other, another, chip)
        if memory == elsewhere and (one in WRITTEN or another in WRITTEN):
            yield here, there


def ordered(random: Random) -> Program:
    """A program of up to twenty instructions, some of which wait row by row."""
    sketch = Sketch(random, random.choice(CHIPS))
    while not any(watcher.loop for steps in sketch.steps.values() for step in steps for watcher in step.op.wait):
        sketch = Sketch(random, random.choice(CHIPS))
        for tile in TILES:
            sketch.add(_produced(random, RingConsume(tiles=1 << tile, write=rows(random, ROWS, 0))))
        sketch.ops.append(Infeed(source="data", rows=ROWS, to=BOTH, label="data"))
        sketch.sent += 1
        if random.random() < 0.4:
            slots(sketch, random.choice(TILES))
        for _ in range(random.randint(4, 12)):
            random.choice(KINDS)(sketch)
    return sketch.program()


def scatter(sketch: Sketch) -> None:
    """Wide to narrow."""
    random, count = sketch.random, sketch.random.randint(1, 4)
    read, write = rows(random, count), words(random, count)
    sketch.add(_produced(random, WideToNarrow(tiles=_tile(random), read=read, write=write)))


def gather(sketch: Sketch) -> None:
    """Narrow to wide."""
    random, count = sketch.random, sketch.random.randint(1, 4)
    read, write = words(random, count), rows(random, count)
    sketch.add(_produced(random, NarrowToWide(tiles=_tile(random), read=read, write=write)))


def work(sketch: Sketch) -> None:
    """A tensorop over a window of rows."""
    random = sketch.random
    window, count, columns = random.choice((1, 1, 2, 3)), random.randint(1, 4), random.randint(1, 4)
    loops = (Loop("y", count), Loop("x", columns), Loop("k", window), Loop("lane", 4))
    strides = (("y", ROW * random.choice((1, 1, 1, 2))), ("x", WORD), ("k", ROW))
    source, to = (_place(random, 9 * ROW), _place(random, 4 * ROW))
    nest, produce = Nest(loops), random.choice("yyxk")
    sketch.add(
        TensorOp(
            tiles=_tile(random), operation=Operation.MAXIMUM, nest=nest, reduce=("k",), produce=produce,
            input=Reference(source, strides), output=Reference(to, (("y", ROW), ("x", WORD))),
        )
    )  # fmt: skip


def sums(sketch: Sketch) -> None:
    """A tensorop that reads rows of weights, and writes rows of sums."""
    random = sketch.random
    window, count, columns = random.randint(1, 2), random.randint(1, 3), random.randint(1, 2)
    loops = (Loop("y", count), Loop("x", columns), Loop("k", window), Loop("lane", 4))
    last = ROWS - count * columns
    sketch.add(
        TensorOp(
            tiles=_tile(random),
            operation=Operation.CONVOLUTION,
            nest=Nest(loops),
            reduce=("k",),
            produce=random.choice("yxk"),
            input=Reference(_place(random, 4 * ROW), (("y", ROW), ("x", WORD), ("k", ROW))),
            weights=Reference(random.randint(0, ROWS - count - window) * ROW, (("y", ROW), ("k", ROW))),
            sums_out=Reference(random.randint(0, last) * ROW, (("y", columns * ROW), ("x", ROW))),
        )
    )


def exchange(sketch: Sketch) -> None:
    """Words over the mesh, which leave and arrive in different loops, or as rows where the mesh joins wide memories."""
    random, count = sketch.random, sketch.random.randint(1, 3)
    source = random.choice(TILES)
    side, opposite = (Side.SOUTH, Side.NORTH) if source == 0 else (Side.NORTH, Side.SOUTH)
    sketch.add(_produced(random, MeshIn(tiles=2 - source, side=opposite, write=_arriving(sketch, count))))
    wide = sketch.chip.mesh.destination == "wide" and random.random() < 0.5
    memory, read = (MemoryName.WIDE, rows(random, count)) if wide else (MemoryName.NARROW, words(random, count))
    sketch.add(_produced(random, MeshOut(tiles=1 + source, side=side, read=read, memory=memory)))


def fill(sketch: Sketch) -> None:
    """Rows of padding."""
    random = sketch.random
    side = random.choice((Side.EAST, Side.WEST))
    write = _arriving(sketch, random.randint(1, 2))
    sketch.add(_produced(random, MeshIn(tiles=_tile(random), side=side, write=write, fill=7)))


def _arriving(sketch: Sketch, count: int) -> Traversal:
    """So many rows, where the mesh delivers."""
    return (rows if sketch.chip.mesh.destination == "wide" else words)(sketch.random, count)


def transfer(sketch: Sketch) -> None:
    """One or two transfers over the ring, one after the other, into as many rows of one or two consumers."""
    random = sketch.random
    source = random.choice(TILES)
    sizes = [random.randint(1, 4) for _ in range(random.randint(1, 2))]
    cut = random.randint(0, sum(sizes))
    for count in filter(None, (cut, sum(sizes) - cut)):
        sketch.add(_produced(random, RingConsume(tiles=2 - source, write=rows(random, count))))
    for count in sizes:
        turn = (Watcher(Flag.RING_PRODUCER_A, sketch.sent - sketch.strict),)
        read = rows(random, count)
        sketch.add(_produced(random, RingProduce(tiles=1 + source, read=read, to=2 - source, wait=turn)))
        sketch.sent += 1


def slots(sketch: Sketch, tile: int) -> None:
    """A tensorop that takes rows out of a few slots, which wide-to-narrow fills again as they get free; that is when
    the row has been made, or when narrow-to-wide, too, is through with what is made of it.
    """
    random, strict = sketch.random, sketch.strict
    depth, drained = random.randint(1, 3), random.random() < 0.5
    loops = (Loop("o", random.randint(2, 3)), Loop("i", depth))
    slot, to, wide = random.randrange(0, 3) * ROW, 7 * ROW, Nest((*loops, Loop("b", 1)))
    turn = (("o", depth * ROW), ("i", ROW))
    frees = Flag.NARROW_TO_WIDE if drained else Flag.AVDATA

    def after(flag: Flag, rows_ahead: int) -> Watcher:
        return Watcher(flag, sketch.counts[tile, flag] + 1 - rows_ahead - strict, "i", 1)

    data = Watcher(Flag.RING_READ_A, sketch.counts[tile, Flag.RING_READ_A] - strict)
    words_of = Nest((*loops, Loop("w", 4)))
    ops: list[Work] = [
        WideToNarrow(
            tiles=1 << tile,
            read=Traversal(wide, Reference(0, turn)),
            write=Traversal(words_of, Reference(slot, (("i", ROW), ("w", WORD)))),
            wait=(data, after(frees, depth)),
            produce="b",
        ),
        TensorOp(
            tiles=1 << tile,
            operation=Operation.MAXIMUM,
            nest=Nest((*loops, Loop("x", 4), Loop("lane", 4))),
            input=Reference(slot, (("i", ROW), ("x", WORD))),
            output=Reference(to, (*turn[drained:], ("x", WORD))),
            wait=(after(Flag.WIDE_TO_NARROW, 0),),
            produce="x",
        ),
        NarrowToWide(
            tiles=1 << tile,
            read=Traversal(words_of, Reference(to, (*turn[drained:], ("w", WORD)))),
            write=Traversal(wide, Reference(10 * ROW, turn)),
            wait=(data, after(Flag.AVDATA, 0)),
            produce="b",
        ),
    ]
    steps = [Plain(op, {}, sketch.counts[tile, raised_flag(op)], set(), [], strict) for op in ops[: 2 + drained]]
    for step in steps:
        sketch.put(step)
    settle(sketch.steps[tile])


KINDS = (scatter, scatter, gather, gather, work, work, work, sums, exchange, fill, transfer)


def rows(random: Random, count: int, base: int | None = None) -> Traversal:
    """So many rows, in one loop or two."""
    at = random.randint(0, ROWS - count) * ROW if base is None else base
    if count % 2 or random.random() < 0.5:
        return Traversal(Nest((Loop("r", count), Loop("b", 1))), Reference(at, (("r", ROW),)))
    loops = (Loop("p", count // 2), Loop("r", 2), Loop("b", 1))
    return Traversal(Nest(loops), Reference(at, (("p", 2 * ROW), ("r", ROW))))


def words(random: Random, count: int) -> Traversal:
    """The words of so many rows: in one loop, by rows, by columns, or backwards."""
    at, inside = _place(random, count * ROW), 4 * count
    kind = random.choice(("flat", "rows", "rows", "columns", "backwards"))
    if kind == "flat":
        return Traversal(Nest((Loop("w", inside),)), Reference(at, (("w", WORD),)))
    if kind == "rows":
        return Traversal(Nest((Loop("y", count), Loop("w", 4))), Reference(at, (("y", ROW), ("w", WORD))))
    if kind == "columns":
        return Traversal(Nest((Loop("x", 4), Loop("w", count))), Reference(at, (("x", WORD), ("w", ROW))))
    return Traversal(Nest((Loop("w", inside),)), Reference(at + count * ROW - WORD, (("w", -WORD),)))


def _place(random: Random, size_bytes: int) -> int:
    free_rows = (NARROW_BYTES - size_bytes) // ROW
    return max(0, random.randint(0, free_rows) * ROW - random.choice((0, 0, 0, WORD)))


def _tile(random: Random) -> int:
    return 1 << random.choice(TILES)


def _produced(random: Random, op: T) -> T:
    """An instruction that raises its flag at one of its loops."""
    return replace(op, produce=random.choice([loop.name for loop in counted_nest(op).loops]))


def weakened(program: Program, random: Random) -> Program:
    """A copy with one watcher that asks for less."""
    waiting = [place for place, op in enumerate(program.run) if getattr(op, "wait", ())]
    place = random.choice(waiting)
    op = program.run[place]
    watchers: list[Watcher] = list(getattr(op, "wait", ()))
    weak = random.randrange(len(watchers))
    watcher = watchers.pop(weak)
    kind = random.choice(("drop", "count", "count", "stride"))
    if kind == "stride" and watcher.stride > 0:
        watchers.insert(weak, watcher._replace(stride=watcher.stride - 1))
    elif kind != "drop":
        watchers.insert(weak, watcher._replace(expected=watcher.expected - random.randint(1, 2)))
    ops = list(program.run)
    ops[place] = replace(op, wait=tuple(watchers))  # type: ignore[call-arg]
    return replace(program, run=tuple(ops))


def outcome(program: Program, holds: dict[str, int]) -> tuple[list[bytes], list[object]]:
    """What the memories hold in the end, and what was noticed on the ring or never came to its end."""
    chip = Chip(program.topology, 1, None, lambda _tile, _label: None)
    chip.fill(program.data)
    chip.run(program.run, [], "run", {(label, None): cycle for label, cycle in holds.items()})
    stuck = [op.label for tile in chip.tiles for engine in tile.engines.values() for op in engine.unfinished]
    memories = [memory for tile in chip.tiles for memory in (tile.memories.narrow, tile.memories.wide)]
    return [memory.bytes.tobytes() for memory in memories], [*chip.monitor.findings(), *stuck]


def stepped_outcome(program: Program) -> list[bytes]:
    """What the memories hold in the end after the other model."""
    chip = SteppedChip(program.topology, program.data, keeps_spans=False)
    chip.run(program.run, [])
    assert not chip.hangs
    memories = [memory for tile in chip.tiles for memory in (tile.memories.narrow, tile.memories.wide)]
    sizes = 2 * (NARROW_BYTES, ROWS * ROW)
    return [memory.read(0, size).tobytes() for memory, size in zip(memories, sizes, strict=True)]
