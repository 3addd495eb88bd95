"""The engines of a tile under one arbiter, against toys that get ports cycle by cycle in the order of the ranks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import simpy
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sim.toy import Group, Toy
from tilesim.sim.arbiter import Arbiter
from tilesim.sim.clock import Clock, Phase
from tilesim.sim.pipe import Costs, Pipe, Slot
from tilesim.sim.port import Port

NARROW_READ, NARROW_WRITE, WIDE = "narrow_read", "narrow_write", "wide"
COMMIT, PRODUCER = 0, 1
"""Ranks of single accesses at the wide port, above all engines."""


@dataclass(frozen=True)
class Shape:
    """An engine's ports, each with its rank there; highest priority first in ENGINES."""

    issue: tuple[tuple[str, int], ...]
    write: tuple[str, int]
    extra: bool = False


ENGINES = {
    "mesh_in_north": Shape((), (NARROW_WRITE, 0)),
    "mesh_in_east": Shape((), (NARROW_WRITE, 1)),
    "narrow_to_wide": Shape(((NARROW_READ, 4),), (WIDE, 2)),
    "wide_to_narrow": Shape(((WIDE, 3),), (NARROW_WRITE, 4)),
    "tensor": Shape(((NARROW_READ, 5), (WIDE, 6)), (NARROW_WRITE, 5), extra=True),
    "sums": Shape(((NARROW_READ, 5), (WIDE, 6)), (WIDE, 4), extra=True),
}
EXTRA_RANK = 5


@dataclass(frozen=True)
class Op:
    """An instruction: cycles before it starts, its groups, and a flag that holds those from ``held`` on for a while."""

    pause: int
    groups: list[Group]
    depth: int
    held: int
    held_cycles: int


@dataclass(frozen=True)
class Scene:
    """What every engine does, and when single accesses come."""

    wide_ports: int
    work: dict[str, list[Op]]
    commits: frozenset[int]
    producer: frozenset[int]


Finish = tuple[str, int, int]
"""Engine, groups written over all its instructions, cycle."""


def toy_run(scene: Scene) -> set[Finish]:
    engines = {name: _toy_engine(ENGINES[name], ops) for name, ops in scene.work.items()}
    found: set[Finish] = set()
    totals: Counter[str] = Counter()
    for engine in engines.values():
        next(engine)
    cycle, groups = 0, sum(len(op.groups) for ops in scene.work.values() for op in ops)
    while len(found) < groups:
        free = Counter({NARROW_READ: 1, NARROW_WRITE: 1, WIDE: scene.wide_ports})
        free[WIDE] -= cycle in scene.commits
        free[WIDE] -= cycle in scene.producer and free[WIDE] > 0
        for name in ENGINES:
            if name in engines and engines[name].send((cycle, free)):
                totals[name] += 1
                found.add((name, totals[name], cycle + 1))
        cycle += 1
    return found


def _toy_engine(shape: Shape, ops: list[Op]) -> Iterator[bool]:
    """Sent a cycle and the free accesses, tells whether a group was finished in it."""
    cycle, free = yield False
    for op in ops:
        for _ in range(op.pause):
            cycle, free = yield False
        toy = Toy(op.groups, op.depth, [port for port, _ in shape.issue], WIDE, shape.write[0], 0)
        started = cycle
        while not toy.done:
            toy.limit = op.held if cycle < started + op.held_cycles else len(op.groups)
            before = toy.written
            toy.step(cycle, free)
            cycle, free = yield toy.written > before
    while True:
        yield False


def real_run(scene: Scene) -> set[Finish]:
    clock = Clock()
    arbiter = Arbiter(clock)
    ports = {NARROW_READ: Port("r", 1, 6), NARROW_WRITE: Port("w", 1, 6), WIDE: Port("wide", scene.wide_ports, 7)}
    found: set[Finish] = set()
    for order, (name, shape) in enumerate(ENGINES.items()):
        if name in scene.work:
            clock.process(_engine(clock, arbiter, ports, order, name, shape, scene.work[name], found))
    for cycles, phase, rank in ((scene.commits, Phase.ARBITRATE, COMMIT), (scene.producer, Phase.CLAIM, PRODUCER)):
        for cycle in sorted(cycles):
            access = clock.phase(phase, cycle)
            access.callbacks.append(lambda _, rank=rank: _access(clock, arbiter, ports[WIDE], rank))
    clock.run()
    return found


def _access(clock: Clock, arbiter: Arbiter, port: Port, rank: int) -> None:
    if port.free(rank, clock.cycle)[0]:
        port.taken[rank].append(clock.cycle, clock.cycle + 1)
        arbiter.change()


def _engine(
    clock: Clock,
    arbiter: Arbiter,
    ports: dict[str, Port],
    order: int,
    name: str,
    shape: Shape,
    ops: list[Op],
    found: set[Finish],
) -> Iterator[simpy.Event]:
    total = 0
    for op in ops:
        yield clock.timeout(op.pause)
        pipe = Pipe(
            clock.cycle,
            Costs(*(np.array(column, np.int64) for column in zip(*op.groups, strict=True))),
            op.depth,
            issue=[Slot(ports[port], rank) for port, rank in shape.issue],
            extra=Slot(ports[WIDE], EXTRA_RANK) if shape.extra else None,
            write=Slot(ports[shape.write[0]], shape.write[1]),
            move=lambda first, end: None,  # noqa: ARG005
            book=lambda activity, cycles: None,  # noqa: ARG005
        )
        clock.process(_hold(clock, arbiter, pipe, op))
        arbiter.add(order, pipe)
        for written in range(1, pipe.groups + 1):
            yield arbiter.reach(order, written)
            pipe.advance(clock.cycle)
            found.add((name, total + written, clock.cycle))
        total += pipe.groups
        arbiter.remove(order)


def _hold(clock: Clock, arbiter: Arbiter, pipe: Pipe, op: Op) -> Iterator[simpy.Event]:
    if op.held_cycles:
        pipe.hold(clock.cycle, op.held)
        yield clock.timeout(op.held_cycles)
        pipe.hold(clock.cycle, pipe.groups)
        arbiter.change()


def ops(name: str) -> st.SearchStrategy[list[Op]]:
    reads = 1 if name.startswith("mesh") or name == "wide_to_narrow" else 6
    writes = 1 if name == "narrow_to_wide" or name.startswith("mesh") else 6
    extras = 3 if ENGINES[name].extra else 0
    group = st.tuples(st.integers(0, extras), st.integers(1, reads), st.integers(1, writes))
    runs = st.lists(st.tuples(group, st.integers(1, 4)), min_size=1, max_size=3)
    groups = runs.map(lambda found: [group for group, times in found for _ in range(times)])
    small = st.integers(0, 12)
    return st.lists(st.builds(Op, small, groups, st.integers(1, 3), st.integers(0, 8), small), max_size=3)


TENSORS = st.sampled_from(["tensor", "sums"])
SCENES = TENSORS.flatmap(
    lambda tensor: st.builds(
        Scene,
        st.integers(1, 2),
        st.fixed_dictionaries({name: ops(name) for name in ENGINES if name in {*list(ENGINES)[:4], tensor}}),
        st.frozensets(st.integers(0, 60), max_size=20),
        st.frozensets(st.integers(0, 60), max_size=20),
    )
)


@settings(max_examples=200, deadline=None)
@given(SCENES)
def test_engines_meet_at_the_ports_as_the_toys_do(scene: Scene) -> None:
    assert real_run(scene) == toy_run(scene)
