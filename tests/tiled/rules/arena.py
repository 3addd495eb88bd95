"""Random programs of several masters, and a chip that runs one after the other."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from tilesim.sim.core.unit import Reason
from tilesim.tiled.isa.model.fields import Engine, Flag, Loop, Nest, Reference, Traversal, Watcher
from tilesim.tiled.isa.model.instructions import (
    Infeed,
    Instruction,
    RingConsume,
    RingProduce,
    ScalarFence,
    TileFence,
)
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.rules.ring.readings import Reading
from tilesim.tiled.topology import Topology
from tilesim.tiled.units.chip import Chip

ROW = 16
TILES = 6
CHIP = Topology.model_validate(
    {
        "machine": "tiled",
        "name": "arena",
        "grid": {"rows": 1, "columns": TILES},
        "data_memory": {"size_bytes": 1024, "bytes_per_cycle": ROW},
        "narrow_memory": {"size_bytes": 64, "word_bytes": 4},
        "wide_memory": {"size_bytes": 64 * ROW, "row_bytes": ROW},
        "tile": {"lanes": 4, "inputs_per_cycle": 4, "vector_bytes": 4},
    }
)
MOST_ROWS = 3
MASTERS = (2, 2, 3, 3, 4, 5, 6)
KINDS = (*(0, 1, 2, 3, 4) * 4, 5, 6, 6)
"""Of waits in mixed programs: 0 is none; 5, a fence on a producer, needs delays on the ring itself to fail."""


class Arena:
    """A chip that is used again for the next run, or made anew after one that hung; its monitor reads the rule for
    masters as ``reading`` says.
    """

    def __init__(self, topology: Topology = CHIP, reading: Reading = Reading.MEET) -> None:
        self._topology, self._reading = topology, reading
        self._chip: Chip | None = None

    def run(self, program: Program, holds: dict[str, int]) -> tuple[list[dict[str, Any]], bool]:
        """What the monitor finds, and whether the run came to its end."""
        chip = self._chip or Chip(self._topology, 1, None, lambda _tile, _label: None, reading=self._reading)
        for tile in chip.tiles:
            tile.flags.counts.clear()
        chip.sequencer.counters.counts.clear()
        chip.monitor._meetings.clear()
        chip.monitor._under_way.clear()
        for passage in chip.monitor.passages:
            for noted in (passage.under_way, passage.sent, passage.taken, passage.met):
                noted.clear()
        chip.run(program.run, [], "run", dict(map(_hold, holds.items())))
        ended = not chip.afloat and all(
            unit.waiting is None or unit.waiting.reason is Reason.INSTRUCTION for unit in chip.units
        )
        ended = ended and chip.sequencer.current is None and not any(stop.stuck for stop in chip.stops)
        self._chip = chip if ended else None
        return chip.monitor.findings(), ended


def _hold(hold: tuple[str, int]) -> tuple[tuple[str, int | None], int]:
    label, _, tile = hold[0].partition("@")
    return (label, int(tile) if tile else None), hold[1]


@dataclass
class Sketch:
    """A program in the making: ``sent`` holds the masters (None is the infeed) and destinations so far, in the order in
    which they are meant to go.
    """

    random: Random
    ops: list[Instruction] = field(default_factory=list)
    sent: list[tuple[int | None, tuple[int, ...]]] = field(default_factory=list)
    used: list[int] = field(default_factory=lambda: [0] * TILES)

    def program(self) -> Program:
        return Program("random", CHIP, (), tuple(self.ops))

    def add(
        self, master: int | None, to: tuple[int, ...], rows: int, wait: tuple[Watcher, ...] = (), turn: int = 0
    ) -> None:
        """A transfer, and before it what takes its rows."""
        number, bitmap, label = len(self.sent), sum(1 << tile for tile in to), f"m{len(self.sent)}"
        for tile in to:
            self._consume(number, tile, rows)
        if master is None:
            self.ops.append(Infeed(source="data", rows=rows, to=bitmap, turn=turn, label=label))
        else:
            read = line(0, rows)
            self.ops.append(RingProduce(tiles=1 << master, read=read, to=bitmap, wait=wait, produce="r", label=label))
        self.sent.append((master, to))

    def _consume(self, number: int, tile: int, rows: int) -> None:
        base = (MOST_ROWS + self.used[tile]) * ROW
        self.used[tile] += rows
        loops = (Loop("r", rows), Loop("b", 1))
        if self.random.random() < 0.5:  # then the flag rises once, not with each row
            loops = loops[::-1]
        write = Traversal(Nest(loops), Reference(base, (("r", ROW),)))
        self.ops.append(RingConsume(tiles=1 << tile, write=write, produce=loops[1].name, label=f"c{number}.{tile}"))

    def passes(self, number: int, node: int) -> bool:
        """Whether a transfer so far passes a node of the ring."""
        master, to = self.sent[number]
        start, nodes = (0 if master is None else master + 1), TILES + 3
        reach = max((tile + 1 - start) % nodes for tile in to)
        return (node - start) % nodes <= reach

    def tails(self, master: int | None) -> int:
        """The transfers so far that pass a master's stop."""
        return sum(self.passes(number, 0 if master is None else master + 1) for number in range(len(self.sent)))

    def fence(self, tiles: tuple[int, ...], engine: Engine) -> None:
        """Hold the controller until engines of some tiles have drained."""
        if not tiles:
            return
        number = len(self.ops)
        bitmap = sum(1 << tile for tile in tiles)
        self.ops.append(TileFence(tiles=bitmap, idle=(engine,), increment=1, label=f"f{number}"))
        self.ops.append(ScalarFence(count=len(tiles), label=f"s{number}"))


def line(base: int, rows: int) -> Traversal:
    return Traversal(Nest((Loop("r", rows),)), Reference(base, (("r", ROW),)))


def turn(count: int) -> tuple[Watcher, ...]:
    return (Watcher(Flag.RING_PRODUCER_A, count),) if count else ()


def random_transfer(random: Random) -> tuple[int | None, tuple[int, ...], int]:
    """A master, its destinations, and rows."""
    master = random.choice((None, *range(TILES)))
    others = [tile for tile in range(TILES) if tile != master]
    near = random.random() < 0.6  # short ways leave room for others
    if near and master is not None:
        others = [(master + hop) % TILES for hop in (1, 2)]
    elif near:
        others = others[:2]
    to = tuple(sorted(random.sample(others, random.choice((1, 1, 2, min(3, len(others)))))))
    return master, to, random.randint(1, MOST_ROWS)


def disjoint(random: Random) -> Sketch:
    """Masters whose nodes don't touch: legal by construction."""
    sketch, free = Sketch(random), set(range(TILES + 3))
    for _ in range(12):
        master, to, rows = random_transfer(random)
        trial = Sketch(random, sent=[(master, to)])
        nodes = {node for node in range(TILES + 3) if trial.passes(0, node)}
        if nodes <= free:
            free -= nodes
            sketch.add(master, to, rows)
    return sketch


def chained(random: Random) -> Sketch:
    """Each master waits for all before it: by its ordinal if it sees the tails, else by a fence on those who take the
    rows.
    """
    sketch, loose = Sketch(random), list[int]()
    for number in range(random.choice(MASTERS)):
        master, to, rows = random_transfer(random)
        node = 0 if master is None else master + 1
        count = sketch.tails(master)
        if not all(sketch.passes(number, node) for number in loose) or random.random() < 0.3:
            sketch.fence(
                tuple(sorted({tile for number in loose for tile in sketch.sent[number][1]})), Engine.RING_CONSUMER
            )
            loose, count = [], 0
        sketch.add(master, to, rows, turn(count), turn=count if master is None else 0)
        loose.append(number)
    return sketch


def mixed(random: Random) -> Sketch:
    """Anything: waits and fences of which some suffice and some don't."""
    sketch = Sketch(random)
    for _ in range(random.choice(MASTERS)):
        master, to, rows = random_transfer(random)
        wait: tuple[Watcher, ...] = ()
        kind = random.choice(KINDS) if sketch.sent else 0
        number = random.randrange(len(sketch.sent)) if sketch.sent else 0
        ordinal = max(0, sketch.tails(master) - random.choice((0, 0, 1)))
        if kind in {1, 2, 3}:
            wait = turn(ordinal)
        elif kind == 4:
            tiles = sketch.sent[number][1]
            count = len(tiles) if random.random() < 0.7 else random.randint(1, len(tiles))
            sketch.fence(tuple(sorted(random.sample(tiles, count))), Engine.RING_CONSUMER)
        elif kind == 5 and sketch.sent[number][0] is not None:
            sketch.fence((sketch.sent[number][0],), Engine.RING_PRODUCER)
        elif kind == 6 and master is not None and sketch.used[master]:
            wait = (Watcher(Flag.RING_READ_A, random.randint(1, 2)),)
        sketch.add(master, to, rows, wait, turn=ordinal if master is None and kind in {1, 2} else 0)
    return sketch
