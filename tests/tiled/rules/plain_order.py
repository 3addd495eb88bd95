"""The rule of hazards as it would be told: sets of instructions, sets of bytes, every pair looked at, all the time."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations, product

from tilesim.tiled.isa.accesses import accesses, size_bytes
from tilesim.tiled.isa.fields import Engine, Watcher
from tilesim.tiled.isa.instructions import TileFence, Work, counted_nest
from tilesim.tiled.isa.program import Program
from tilesim.tiled.rules.act import increments, raised_flag
from tilesim.tiled.units import ttu

WRITTEN = ("write", "output")
Found = tuple[int, frozenset[str], str, int, int]
"""A tile, the labels of a pair, the memory, the first and the last byte of both."""


@dataclass(eq=False)
class Plain:
    """An instruction of a tile; what is over before it starts and before it ends."""

    op: Work
    generation: dict[str, int]
    raised_to: int
    drained: set[Plain]
    queue: list[Plain] = field(default_factory=list)
    before: set[Plain] = field(default_factory=set)
    through: set[Plain] = field(default_factory=set)

    def reached_by(self, steps: list[Plain], flag: str, count: int) -> Plain | None:
        raisers = [each for each in steps if raised_flag(each.op) == flag]
        mine = [each for each in raisers if each.generation.get(flag, 0) == self.generation.get(flag, 0)]
        return next((each for each in mine if each.raised_to >= count), None) if count > 0 else None


def last(op: Work, watcher: Watcher) -> int:
    """The highest count of a watcher, which names the outermost loop or none."""
    rounds = counted_nest(op).loops[0].bound if watcher.loop else 1
    return watcher.expected + max(0, (rounds - 1) * watcher.stride)


def steps_of(program: Program, tile: int) -> list[Plain]:
    steps: list[Plain] = []
    counts: dict[str, int] = {}
    generation: dict[str, int] = {}
    drained: set[Plain] = set()
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
                counts[flag] = counts.get(flag, 0) + increments(op)
                queue = [step for step in steps if step.op.engine == op.engine]
                steps.append(Plain(op, generation, counts[flag], drained, queue))
        drained = drained | {step for step in steps if step.op.engine in tuple(Engine)}
    return steps


def settle(steps: list[Plain]) -> None:
    sizes = None
    while sizes != (sizes := [(len(step.before), len(step.through)) for step in steps]):
        for step in steps:
            step.before |= step.drained.union(*(queued.through | {queued} for queued in step.queue))
            for watcher in step.op.wait:
                step.before |= awaited(step, steps, watcher, watcher.expected)
            step.through |= step.before
            for watcher in step.op.wait:
                step.through |= awaited(step, steps, watcher, last(step.op, watcher))


def awaited(step: Plain, steps: list[Plain], watcher: Watcher, count: int) -> set[Plain]:
    raiser = step.reached_by(steps, watcher.flag, count)
    if raiser is None:
        return set()
    over = [raiser, *raiser.queue] if raiser.raised_to == count else raiser.queue
    return set(over).union(*(each.through for each in over))


def start(steps: list[Plain]) -> list[Plain]:
    """Those that ever start."""
    started: set[Plain] = set()
    finished: set[Plain] = set()
    before = None
    while before != (before := (len(started), len(finished))):
        for step in steps:
            content = [_content(step, steps, watcher, started) for watcher in step.op.wait]
            first = all(ok for ok, watcher in zip(content, step.op.wait, strict=True) if watcher.loop is None)
            if first and finished.issuperset(step.drained | set(step.queue)):
                started.add(step)
                finished |= {step} if all(content) else set()
    return [step for step in steps if step in started]


def _content(step: Plain, steps: list[Plain], watcher: Watcher, started: set[Plain]) -> bool:
    return last(step.op, watcher) <= 0 or step.reached_by(steps, watcher.flag, last(step.op, watcher)) in started


def rounds(op: Work, operand: str, program: Program) -> tuple[str, list[set[int]]]:
    """The memory, and the bytes of each round of the outermost loop of the operand's own nest."""
    [access] = [access for access in accesses(op, program.topology) if access.field == operand]
    lanes = access.nest.loops[-1].bound
    stream = ttu.addresses(access.nest, access.reference).reshape(access.nest.loops[0].bound, -1)
    size = size_bytes(access, program.topology, lanes)
    return access.memory, [{int(at) + k for at in each for k in range(size)} for each in stream]


def gated(first: Plain, then: Plain, ahead: list[set[int]], behind: list[set[int]]) -> bool:
    """Whether round by round ``then`` touches only what ``first`` is through with."""
    flag = raised_flag(first.op)
    watchers = [watcher for watcher in then.op.wait if watcher.flag == flag]
    same = first.generation.get(flag, 0) == then.generation.get(flag, 0)
    if not watchers or not same or first.op.produce is None:
        return False
    raises = increments(first.op)
    for k, touched in enumerate(behind):
        count = max(watcher.expected + k * watcher.stride for watcher in watchers)
        done = max(0, (count - first.raised_to + raises) * len(ahead) // raises)
        if touched & set().union(*ahead[done:]):
            return False
    return True


def plain_hazards(program: Program) -> set[Found]:
    """The pairs that ``hazards`` must find; nests have one loop, or one beside the lanes."""
    found: set[Found] = set()
    for tile in range(program.topology.tiles):
        steps = steps_of(program, tile)
        settle(steps)
        for a, b in combinations(start(steps), 2):
            if a.op.engine != b.op.engine and a not in b.before and b not in a.before:
                found |= {(tile, frozenset((a.op.label, b.op.label)), *rest) for rest in _meeting(a, b, program)}
    return found


def _meeting(a: Plain, b: Plain, program: Program) -> set[tuple[str, int, int]]:
    found = set()
    sides = [[access.field for access in accesses(step.op, program.topology)] for step in (a, b)]
    for one, other in product(*sides):
        if one not in WRITTEN and other not in WRITTEN:
            continue
        (memory, here), (elsewhere, there) = rounds(a.op, one, program), rounds(b.op, other, program)
        both = set().union(*here) & set().union(*there)
        if memory != elsewhere or not both:
            continue
        counted = [
            access.nest == counted_nest(step.op)
            for step, name in ((a, one), (b, other))
            for access in accesses(step.op, program.topology)
            if access.field == name
        ]
        if not all(counted) or not (gated(a, b, here, there) or gated(b, a, there, here)):
            found.add((memory, min(both), max(both)))
    return found
