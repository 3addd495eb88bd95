"""The engines of several tiles under one arbiter, against toys that get ports cycle by cycle in order of rank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pytest
import simpy
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sim.toy import Group, Toy
from tilesim.sim.core.clock import Clock, Phase
from tilesim.sim.core.port import Port, Slot
from tilesim.sim.pipe.arbiter import Arbiter
from tilesim.sim.pipe.costs import Costs
from tilesim.sim.pipe.course import PipeForm
from tilesim.sim.pipe.pipe import Pipe

TILES = range(3)
READ, WRITE, WIDE = "narrow read", "narrow write", "wide"
COMMIT, PRODUCER = 0, 1
"""Ranks of single accesses at the wide port of tile 0, above all engines."""
EXTRA_RANK = 5


@dataclass(frozen=True)
class Shape:
    """An engine's ports, each with its rank there."""

    issue: tuple[tuple[str, int], ...]
    write: tuple[str, int]
    extra: str = ""
    delay: int = 0


def _local(tile: int) -> dict[str, Shape]:
    read, write, wide = (f"{tile} {port}" for port in (READ, WRITE, WIDE))
    return {
        f"fill {tile}": Shape((), (write, 4)),
        f"narrow_to_wide {tile}": Shape(((read, 4),), (wide, 2)),
        f"wide_to_narrow {tile}": Shape(((wide, 3),), (write, 5)),
        f"tensor {tile}": Shape(((read, 5), (wide, 6)), (write, 6), wide),
        f"sums {tile}": Shape(((read, 5), (wide, 6)), (wide, 4), wide),
    }


def _link(tile: int, to: int, read: int, write: int, delay: int) -> Shape:
    return Shape(((f"{tile} {READ}", read),), (f"{to} {WRITE}", write), delay=delay)


# Two links each to the next tile and to the one after it: at the end where they read, the one goes before the other, at
# the end where they write, the other before the one.
LINKS = {
    **{f"a{tile}": _link(tile, (tile + 1) % 3, 1, 3, 0) for tile in TILES},
    **{f"b{tile}": _link(tile, (tile + 2) % 3, 0, 1, 2) for tile in TILES},
    **{f"c{tile}": _link(tile, (tile + 1) % 3, 2, 2, 1) for tile in TILES},
    **{f"d{tile}": _link(tile, (tile + 2) % 3, 3, 0, 0) for tile in TILES},
}
ENGINES = LINKS | {name: shape for tile in TILES for name, shape in _local(tile).items()}


@dataclass(frozen=True)
class Op:
    """An instruction: cycles before it starts, its groups, and flags: the first holds what is read from a group on, the
    second what is written, each for a while: (group, cycles).
    """

    pause: int
    groups: list[Group]
    depth: int
    held: tuple[tuple[int, int], tuple[int, int]]


@dataclass(frozen=True)
class Scene:
    """What every engine does, and when single accesses come."""

    work: dict[str, list[Op]]
    wide_ports: int = 1
    commits: frozenset[int] = frozenset()
    producer: frozenset[int] = frozenset()


Finish = tuple[str, int, int]
"""Engine, groups written over all its instructions, cycle."""


class ToyEngine:
    """An engine's instructions as toys, one after the other."""

    def __init__(self, name: str, ops: list[Op]) -> None:
        self.name, self.shape, self.ops = name, ENGINES[name], list(ops)
        self.finished: list[Finish] = []
        self._begin(0)

    def _begin(self, cycle: int) -> None:
        self.op, shape = self.ops.pop(0), self.shape
        issue = [port for port, _ in shape.issue]
        self.toy = Toy(self.op.groups, self.op.depth, issue, shape.extra, shape.write[0], 0, shape.delay)
        self.start = cycle + self.op.pause

    def stages(self, cycle: int) -> list[tuple[int, Callable[[int, Counter[str]], object]]]:
        """What the engine does in a cycle, each with the lowest of its ranks."""
        if self.toy.done and self.ops:
            self._begin(cycle)
        if self.toy.done or cycle < self.start:
            return []
        toy, groups = self.toy, len(self.op.groups)
        toy.limit, toy.write_limit = (
            group if cycle < self.start + cycles else groups for group, cycles in self.op.held
        )
        toy.look()
        return [
            (max((rank for _, rank in self.shape.issue), default=0), toy.step_reads),
            (self.shape.write[1], self._write),
        ]

    def _write(self, cycle: int, free: Counter[str]) -> None:
        before = self.toy.written
        self.toy.step_writes(cycle, free)
        if self.toy.written > before:
            self.finished.append((self.name, len(self.finished) + 1, cycle + 1))


def toy_run(scene: Scene) -> set[Finish]:
    engines = [ToyEngine(name, ops) for name, ops in scene.work.items() if ops]
    cycle = 0
    while any(engine.ops or not engine.toy.done for engine in engines):
        free = _free(scene, cycle)
        stages = [stage for engine in engines for stage in engine.stages(cycle)]
        for _, step in sorted(stages, key=lambda stage: stage[0]):
            step(cycle, free)
        cycle += 1
    return {finish for engine in engines for finish in engine.finished}


def _free(scene: Scene, cycle: int) -> Counter[str]:
    free = Counter({f"{tile} {port}": 1 for tile in TILES for port in (READ, WRITE)})
    free.update({f"{tile} {WIDE}": scene.wide_ports for tile in TILES})
    free["0 wide"] -= cycle in scene.commits
    free["0 wide"] -= cycle in scene.producer and free["0 wide"] > 0
    return free


class Machine:
    """The same engines with pipes and an arbiter."""

    def __init__(self, scene: Scene) -> None:
        self.clock = Clock()
        self.arbiter = Arbiter(self.clock)
        self.ports = {name: Port(name, count, 7) for name, count in _free(Scene({}, scene.wide_ports), 0).items()}
        self.finished: set[Finish] = set()
        for name, ops in scene.work.items():
            self.clock.process(self._engine(name, ops))
        for cycles, phase, rank in ((scene.commits, Phase.ARBITRATE, COMMIT), (scene.producer, Phase.CLAIM, PRODUCER)):
            for cycle in sorted(cycles):
                self.clock.phase(phase, cycle).callbacks.append(lambda _, rank=rank: self._access(rank))

    def _access(self, rank: int) -> None:
        port = self.ports["0 wide"]
        if port.free(rank, self.clock.cycle)[0]:
            self.arbiter.access(Slot(port, rank))

    def _engine(self, name: str, ops: list[Op]) -> Iterator[simpy.Event]:
        total = 0
        for op in ops:
            yield self.clock.timeout(op.pause)
            pipe = self._pipe(ENGINES[name], op)
            self.arbiter.add(pipe, pipe.slots)
            for hold, (group, cycles) in zip((pipe.hold, pipe.hold_writes), op.held, strict=True):
                self.clock.process(self._hold(pipe, hold, group, cycles))
            for written in range(1, pipe.groups + 1):
                yield self.arbiter.reach(pipe, written)
                self.finished.add((name, total + written, self.clock.cycle))
            total += pipe.groups

    def _pipe(self, shape: Shape, op: Op) -> Pipe:
        return Pipe(
            self.clock.cycle,
            Costs(*(np.array(column, np.int64) for column in zip(*op.groups, strict=True))),
            PipeForm(
                op.depth,
                issue=[Slot(self.ports[port], rank) for port, rank in shape.issue],
                write=Slot(self.ports[shape.write[0]], shape.write[1]),
                extra=Slot(self.ports[shape.extra], EXTRA_RANK) if shape.extra else None,
                delay=shape.delay,
            ),
            move=lambda first, end: None,  # noqa: ARG005
            charges=lambda activity: [],  # noqa: ARG005
        )

    def _hold(self, pipe: Pipe, hold: Callable[[int, int], None], group: int, cycles: int) -> Iterator[simpy.Event]:
        if cycles:
            hold(self.clock.cycle, group)
            yield self.clock.timeout(cycles)
            if pipe.written < pipe.groups:
                hold(self.clock.cycle, pipe.groups)
                self.arbiter.change(pipe)


def real_run(scene: Scene) -> set[Finish]:
    machine = Machine(scene)
    machine.clock.run()
    return machine.finished


def ops(name: str) -> st.SearchStrategy[list[Op]]:
    shape = ENGINES[name]
    issues, writes, extras = 6 if shape.issue else 1, 6, 3 if shape.extra else 0
    if name in LINKS or name.startswith("fill"):
        issues = writes = 1
    group = st.tuples(st.integers(0, extras), st.integers(1, issues), st.integers(1, writes))
    runs = st.lists(st.tuples(group, st.integers(1, 12 if name in LINKS else 4)), min_size=1, max_size=3)
    groups = runs.map(lambda found: [group for group, times in found for _ in range(times)])
    small = st.integers(0, 12)
    held = st.tuples(st.integers(0, 8), small)
    return st.lists(st.builds(Op, small, groups, st.integers(1, 4), st.tuples(held, held)), max_size=2)


def work(names: set[str]) -> st.SearchStrategy[dict[str, list[Op]]]:
    return st.fixed_dictionaries({name: ops(name) for name in ENGINES if name in names})


ONE_TILE = st.sampled_from(["tensor 0", "sums 0"]).flatmap(
    lambda tensor: st.builds(
        Scene,
        work({"fill 0", "narrow_to_wide 0", "wide_to_narrow 0", "a0", "b1", tensor}),
        st.integers(1, 2),
        st.frozensets(st.integers(0, 60), max_size=40),
        st.frozensets(st.integers(0, 60), max_size=20),
    )
)
LOCAL = {"fill 1", "narrow_to_wide 0", "wide_to_narrow 2", "tensor 1", "sums 2"}
THREE_TILES = st.builds(Scene, work({*LINKS, *LOCAL}))


@settings(max_examples=100, deadline=None)
@given(ONE_TILE)
def test_engines_meet_at_the_ports_as_the_toys_do(scene: Scene) -> None:
    assert real_run(scene) == toy_run(scene)


@settings(max_examples=60, deadline=None)
@given(THREE_TILES)
def test_links_give_way_to_each_other_in_a_circle_as_the_toys_do(scene: Scene) -> None:
    assert real_run(scene) == toy_run(scene)


def test_a_flag_that_holds_nothing_leaves_a_full_queue_as_it_is() -> None:
    """Its loop begins after the last group."""
    op = Op(0, [(0, 1, 3), (0, 1, 3), (0, 1, 3), (0, 1, 1)], 2, ((5, 4), (0, 0)))
    scene = Scene({"tensor 0": [op]}, producer=frozenset({0}))
    assert real_run(scene) == toy_run(scene)


def test_a_change_plans_only_what_depends_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A link into tile 1 makes way for nobody there, but the fill has to make way for it; that in tile 2 has not."""
    planned: list[Pipe] = []
    plan = Pipe.plan
    monkeypatch.setattr(Pipe, "plan", lambda pipe: planned.append(pipe) or plan(pipe))
    fill, late = (Op(pause, [(0, 1, 50)], 2, ((0, 0), (0, 0))) for pause in (0, 10))
    real_run(Scene({"fill 1": [fill], "fill 2": [fill], "a0": [late]}))
    assert Counter(Counter(planned).values()) == {1: 2, 2: 1}


def test_an_access_that_nobody_leaves_is_an_error() -> None:
    machine = Machine(Scene({}))
    machine.arbiter.access(Slot(machine.ports["0 wide"], COMMIT))
    with pytest.raises(AssertionError, match="no access left in cycle 0 for rank 1"):
        machine.arbiter.access(Slot(machine.ports["0 wide"], PRODUCER))
