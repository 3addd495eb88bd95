"""The rule of hazards as it would be told: sets of rounds, sets of bytes, every pair looked at, all the time."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations, pairwise, product

from tilesim.tiled.isa.model.accesses import accesses, size_bytes
from tilesim.tiled.isa.model.fields import Engine, Nest, Watcher
from tilesim.tiled.isa.model.instructions import TensorOp, TileFence, Work, counted_nest, raised_flag
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.rules.tile.happens_before import EXTERNAL
from tilesim.tiled.topology import Topology

WRITTEN = ("write", "output", "sums_out")
Pair = tuple[int, frozenset[str], str, int, int]
"""A tile, the labels of a pair, the memory, the first and the last byte of both."""


def counters(nest: Nest) -> list[tuple[int, ...]]:
    """The counters of the loops in each iteration, in order."""
    turns = list(product(*(range(loop.bound) for loop in nest.loops)))
    if nest.alternate is None:
        return turns
    at = [loop.name for loop in nest.loops].index(nest.alternate.loop)
    last = nest.loops[at].bound - 1
    return [turn for turn in turns if turn[at] < last or turn[-1] < nest.alternate.limit]


@dataclass(eq=False)
class Plain:
    """An instruction of a tile; which rounds of all of them are ``over`` before each of its own begins."""

    op: Work
    generation: dict[str, int]
    raised_before: int
    drained: set[Plain]
    queue: list[Plain] = field(default_factory=list)
    strict: bool = False

    def __post_init__(self) -> None:
        nest = counted_nest(self.op)
        self.depth = len(nest.loops) - 1 - len(self.op.reduce) if isinstance(self.op, TensorOp) else len(nest.loops)
        self.rounds = list(dict.fromkeys(turn[: self.depth] for turn in counters(nest)))
        self.over: list[set[tuple[Plain, int]]] = [set() for _ in self.rounds]
        self.raises = self._raises([loop.name for loop in nest.loops])

    def _raises(self, names: list[str]) -> list[int]:
        """The rounds after which its flag rises."""
        if self.op.produce is None:
            return []
        depth = names.index(self.op.produce)
        ends = [k for k, (one, then) in enumerate(pairwise(self.rounds)) if one[:depth] != then[:depth]]
        return [*ends, len(self.rounds) - 1]

    def waits(self, watcher: Watcher) -> list[int]:
        """What a watcher waits for before each round."""
        first = watcher.expected + self.strict
        if watcher.loop is None:
            return [first] * len(self.rounds)
        depth = [loop.name for loop in counted_nest(self.op).loops].index(watcher.loop) + 1
        outer = list(dict.fromkeys(turn[:depth] for turn in self.rounds))
        return [first + outer.index(turn[:depth]) * watcher.stride for turn in self.rounds]

    def reached_by(self, steps: list[Plain], flag: str, count: int) -> tuple[Plain, int] | None:
        """The instruction, and its round, with which a flag has counted to ``count`` while this one may watch it."""
        raisers = [step for step in steps if raised_flag(step.op) == flag]
        mine = [raiser for raiser in raisers if raiser.generation.get(flag, 0) == self.generation.get(flag, 0)]
        raises = [(raiser, end) for raiser in mine for end in raiser.raises]
        return raises[count - 1] if 0 < count <= len(raises) else None


def steps_of(program: Program, tile: int) -> list[Plain]:
    steps: list[Plain] = []
    counts: dict[str, int] = {}
    generation: dict[str, int] = {}
    drained: set[Plain] = set()
    strict = program.topology.tile.strict_compare
    for section in (program.load, program.run):
        for op in section:
            if not getattr(op, "tiles", 0) >> tile & 1:
                continue
            if isinstance(op, TileFence):
                drained = drained | {step for step in steps if step.op.engine in op.idle}
                counts.update(dict.fromkeys(op.reset, 0))
                generation = {**generation, **{flag: generation.get(flag, 0) + 1 for flag in op.reset}}
            elif isinstance(op, Work):
                flag = raised_flag(op)
                queue = [step for step in steps if step.op.engine == op.engine]
                steps.append(Plain(op, generation, counts.get(flag, 0), drained, queue, strict))
                counts[flag] = counts.get(flag, 0) + len(steps[-1].raises)
        drained = drained | {step for step in steps if step.op.engine in tuple(Engine)}
    return steps


def settle(steps: list[Plain]) -> None:
    sizes = None
    while sizes != (sizes := [len(over) for step in steps for over in step.over]):
        for step in steps:
            advance(step, steps)


def advance(step: Plain, steps: list[Plain]) -> None:
    """Find out what is over before each round, from what is known of the others."""
    over = set[tuple[Plain, int]]().union(*(finished(other) for other in (*step.drained, *step.queue)))
    for k, known in enumerate(step.over):
        over |= known.union(*(awaited(step, steps, watcher, k) for watcher in step.op.wait))
        step.over[k] = known | over


def awaited(step: Plain, steps: list[Plain], watcher: Watcher, round_: int) -> set[tuple[Plain, int]]:
    """What is over when a watcher lets a round begin: everything, if it never does."""
    count = step.waits(watcher)[round_]
    if count <= 0 or watcher.flag in EXTERNAL:
        return set()
    raiser = step.reached_by(steps, watcher.flag, count)
    return through(*raiser) if raiser else set().union(*(finished(other) for other in steps))


def through(step: Plain, last: int) -> set[tuple[Plain, int]]:
    """What is over when a round is."""
    return step.over[last] | {(step, k) for k in range(last + 1)}


def finished(step: Plain) -> set[tuple[Plain, int]]:
    return through(step, len(step.rounds) - 1)


def start(steps: list[Plain]) -> list[Plain]:
    """Those that ever start."""
    started: set[Plain] = set()
    ended: set[Plain] = set()
    before = None
    while before != (before := (len(started), len(ended))):
        for step in steps:
            content = [_content(step, steps, watcher, started) for watcher in step.op.wait]
            first = all(ok for ok, watcher in zip(content, step.op.wait, strict=True) if watcher.loop is None)
            if first and ended.issuperset(step.drained | set(step.queue)):
                started.add(step)
                ended |= {step} if all(content) else set()
    return [step for step in steps if step in started]


def _content(step: Plain, steps: list[Plain], watcher: Watcher, started: set[Plain]) -> bool:
    most = max(step.waits(watcher))
    raiser = step.reached_by(steps, watcher.flag, most)
    return most <= 0 or (raiser is not None and raiser[0] in started)


def touched(step: Plain, operand: str, topology: Topology) -> tuple[str, list[set[int]]]:
    """The memory, and the bytes of each round."""
    [access] = [access for access in accesses(step.op, topology) if access.field == operand]
    runs = counters(access.nest)
    bytes_: list[set[int]] = [set() for _ in step.rounds]
    strides = dict(access.reference.strides)
    for k, run in enumerate(runs):
        moves = zip(access.nest.loops, run, strict=True)
        at = access.reference.base + sum(
            count * strides.get(loop.name, 0) for loop, count in moves if loop.name in access.moving
        )
        lanes = sum(other[:-1] == run[:-1] for other in runs)
        one = isinstance(step.op, TensorOp)
        round_ = step.rounds.index(run[: step.depth]) if one else k * len(step.rounds) // len(runs)
        bytes_[round_] |= set(range(at, at + size_bytes(access, topology, lanes)))
    return access.memory, bytes_


def plain_hazards(program: Program) -> set[Pair]:
    """The pairs that ``hazards`` must find."""
    pairs: set[Pair] = set()
    for tile in range(program.topology.tiles):
        steps = steps_of(program, tile)
        settle(steps)
        for a, b in combinations(start(steps), 2):
            if a.op.engine != b.op.engine:
                pairs |= {
                    (tile, frozenset((a.op.label, b.op.label)), *rest) for rest in meeting(a, b, program.topology)
                }
    return pairs


def meeting(a: Plain, b: Plain, topology: Topology) -> set[tuple[str, int, int]]:
    """The memories in which two operands meet in no order, and the first and the last byte of both."""
    meetings = set()
    for one, other in product(operands(a, topology), operands(b, topology)):
        (memory, here), (elsewhere, there) = touched(a, one, topology), touched(b, other, topology)
        both = set[int]().union(*here) & set[int]().union(*there)
        if (one in WRITTEN or other in WRITTEN) and memory == elsewhere and _unordered(a, b, here, there):
            meetings.add((memory, min(both), max(both)))
    return meetings


def operands(step: Plain, topology: Topology) -> list[str]:
    return [access.field for access in accesses(step.op, topology)]


def _unordered(a: Plain, b: Plain, here: list[set[int]], there: list[set[int]]) -> bool:
    """Whether two rounds touch the same byte of which neither is over before the other begins."""
    return any(
        here[k] & there[j] and (a, k) not in b.over[j] and (b, j) not in a.over[k]
        for k, j in product(range(len(here)), range(len(there)))
    )
