"""What happens before what, on one tile, whatever the timing.

An instruction completes before another starts if it is ahead of it in the same buffer, if it raises a flag
to the count that the other waits for, if a fence stands between them that waits for its engine, or by a chain of
these. The load program completes before the run program starts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod

from tilesim.tiled.isa.fields import Engine, Flag, Nest, Watcher
from tilesim.tiled.isa.instructions import (
    Instruction,
    MeshIn,
    MeshOut,
    NarrowToWide,
    RingConsume,
    RingProduce,
    TensorOp,
    TileFence,
    WideToNarrow,
    Work,
    counted_nest,
)
from tilesim.tiled.isa.program import Program

RAISES: dict[type, Flag] = {
    TensorOp: Flag.AVDATA,
    RingConsume: Flag.RING_READ_A,
    RingProduce: Flag.RING_WRITE,
    NarrowToWide: Flag.NARROW_TO_WIDE,
    WideToNarrow: Flag.WIDE_TO_NARROW,
}
RING_ROLES = (Engine.RING_CONSUMER, Engine.RING_PRODUCER)
"""Engines that have one buffer on a chip whose ``ring.queue`` is shared."""
EXTERNAL = frozenset({Flag.RING_PRODUCER_A})
"""Flags that no instruction of the tile raises, but whatever passes on the ring: they order nothing here."""


def raised_flag(op: Work) -> Flag:
    """The flag of the write port that the instruction's engine has."""
    if isinstance(op, TensorOp) and op.sums_out is not None:
        return Flag.PARTIAL_SUMS
    if isinstance(op, MeshIn | MeshOut):
        return Flag(f"mesh_{op.side}_{'in' if isinstance(op, MeshIn) else 'out'}")
    return RAISES[type(op)]


def increments(op: Work) -> int:
    """How often the instruction raises its flag."""
    if op.produce is None:
        return 0
    nest = counted_nest(op)
    return rounds_of(nest, op.produce) // next(loop.bound for loop in nest.loops if loop.name == op.produce)


def rounds_of(nest: Nest, name: str) -> int:
    """How many rounds a loop of a nest makes in all."""
    depth = [loop.name for loop in nest.loops].index(name)
    return prod(loop.bound for loop in nest.loops[: depth + 1])


@dataclass(eq=False)
class Step:
    """An instruction of one tile, and all that completes before it starts, and before it completes itself: for each
    engine how many of its instructions.
    """

    op: Work
    number: int
    place: int
    epoch: int
    behind: Step | None = None
    """The instruction of another engine that is ahead of it in a buffer of both."""
    before: dict[Engine, int] = field(default_factory=dict)
    through: dict[Engine, int] = field(default_factory=dict)
    raised_to: int = 0
    """What its flag has counted to when it has completed."""

    def __str__(self) -> str:
        return f"{self.op.label or 'an unnamed instruction'} ({self.op.mnemonic})"


class TileOrder:
    """The order of the instructions for tile ``tile``."""

    def __init__(self, program: Program, tile: int) -> None:
        self.steps: list[Step] = []
        self.topology = program.topology
        self.strict = program.topology.tile.strict_compare
        self.fence_faults: list[str] = []
        self._fences: list[dict[Engine, int]] = [{}]
        self._queues: dict[Engine, list[Step]] = {engine: [] for engine in Engine}
        self._counts: dict[Flag, int] = {}
        self._generation: dict[Flag, int] = {}
        self._raisers: dict[tuple[Flag, int], list[Step]] = {}
        self._waits_in: dict[int, dict[Flag, int]] = {}
        for section in (program.load, program.run):
            for op in section:
                if getattr(op, "tiles", 0) >> tile & 1:
                    self._add(op)
            self._fence(tuple(Engine))
        self._settle()
        self._started: set[int] = set()
        self._finished: set[int] = set()
        self._play()

    def starts(self, step: Step) -> bool:
        """Whether the instruction ever starts: one that waits for what never comes touches nothing."""
        return id(step) in self._started

    def ordered(self, first: Step, second: Step) -> bool:
        """Whether one of the two completes before the other starts."""
        return self._precedes(first, second) or self._precedes(second, first)

    def raisers(self, step: Step, flag: Flag) -> list[Step]:
        """The instructions that raise ``flag`` in the time in which ``step`` may watch it, in order."""
        return self._raisers.get((flag, self._waits_in[id(step)].get(flag, 0)), [])

    def reaches(self, step: Step, watcher: Watcher) -> Step | None:
        """The instruction that raises a watcher's flag to the highest count that it waits for."""
        count = self.last(step, watcher)
        if count <= 0:
            return None
        return next((raiser for raiser in self.raisers(step, watcher.flag) if raiser.raised_to >= count), None)

    def _precedes(self, first: Step, second: Step) -> bool:
        return second.before.get(first.op.engine, 0) > first.place

    def _add(self, op: Instruction) -> None:
        if isinstance(op, TileFence):
            self._fence(op.idle)
            for flag in op.reset:
                self._check_reset(op, flag)
                self._counts[flag] = 0
                self._generation[flag] = self._generation.get(flag, 0) + 1
        elif isinstance(op, Work):
            queue = self._queues[op.engine]
            step = Step(op, len(self.steps), len(queue), len(self._fences) - 1, self._ahead(op))
            queue.append(step)
            self.steps.append(step)
            self._waits_in[id(step)] = dict(self._generation)
            flag = raised_flag(op)
            self._counts[flag] = step.raised_to = self._counts.get(flag, 0) + increments(op)
            self._raisers.setdefault((flag, self._generation.get(flag, 0)), []).append(step)

    def _ahead(self, op: Work) -> Step | None:
        if self.topology.ring.queue != "shared" or op.engine not in RING_ROLES:
            return None
        other = RING_ROLES[1 - RING_ROLES.index(op.engine)]
        return self._queues[other][-1] if self._queues[other] else None

    def _check_reset(self, op: TileFence, flag: Flag) -> None:
        """An engine that is not waited for may raise the flag after the reset, or still wait for it."""
        raising = [step for step in self._raisers_now(flag) if increments(step.op)]
        watching = [step for step in self.steps if any(watcher.flag == flag for watcher in step.op.wait)]
        for steps, what in ((raising, "which {} may still raise"), (watching, "for which {} may still wait")):
            late = [step for step in steps if self._fences[-1].get(step.op.engine, 0) <= step.place]
            self.fence_faults += [
                f"{op.label or op.mnemonic} resets {flag}, {what.format(step.op.label or step.op.mnemonic)}: its idle "
                f"must name {step.op.engine}"
                for step in late[-1:]
            ]

    def _raisers_now(self, flag: Flag) -> list[Step]:
        """The instructions so far that raise ``flag`` since its last reset."""
        return self._raisers.get((flag, self._generation.get(flag, 0)), [])

    def _fence(self, idle: tuple[Engine, ...]) -> None:
        drained = dict(self._fences[-1])
        drained.update({engine: len(self._queues[engine]) for engine in idle})
        self._fences.append(drained)

    def _settle(self) -> None:
        """Follow the chains until nothing more is found out; instructions may wait for later ones, so one pass is not
        enough.
        """
        changed = True
        while changed:
            changed = False
            for step in self.steps:
                before = _joined(dict(self._fences[step.epoch]), self._directly_before(step))
                through = _joined(dict(before), self._before_the_end(step))
                if (before, through) != (step.before, step.through):
                    step.before, step.through, changed = before, through, True

    def _play(self) -> None:
        """Let start and finish whatever can, again and again, until nothing more can."""
        before = -1
        while before != len(self._started) + len(self._finished):
            before = len(self._started) + len(self._finished)
            for step in self.steps:
                if self._can_start(step):
                    self._started.add(id(step))
                    if all(self._met(step, watcher, self._started) for watcher in step.op.wait):
                        self._finished.add(id(step))

    def _can_start(self, step: Step) -> bool:
        ahead = [self._queues[engine][count - 1] for engine, count in self._fences[step.epoch].items() if count]
        if step.place:
            ahead.append(self._queues[step.op.engine][step.place - 1])
        if step.behind is not None:
            ahead.append(step.behind)
        return all(id(earlier) in self._finished for earlier in ahead) and all(
            self._met(step, watcher, self._started) for watcher in step.op.wait if watcher.loop is None
        )

    def _met(self, step: Step, watcher: Watcher, by: set[int]) -> bool:
        """Whether ``by`` raise the flag as far as ``watcher`` waits; what comes from outside may always come."""
        reached = (raiser.raised_to for raiser in self.raisers(step, watcher.flag) if id(raiser) in by)
        return watcher.flag in EXTERNAL or max(reached, default=0) >= self.last(step, watcher)

    def last(self, step: Step, watcher: Watcher) -> int:
        """The highest count that a watcher waits for."""
        rounds = rounds_of(counted_nest(step.op), watcher.loop) if watcher.loop else 1
        return watcher.expected + max(0, (rounds - 1) * watcher.stride) + self.strict

    def _directly_before(self, step: Step) -> Iterator[Step]:
        if step.place:
            yield self._queues[step.op.engine][step.place - 1]
        if step.behind is not None:
            yield step.behind
        for watcher in step.op.wait:  # in a loop, too, it holds the first round
            yield from self._awaited(step, watcher.flag, watcher.expected + self.strict)

    def _before_the_end(self, step: Step) -> Iterator[Step]:
        """What the loops of an instruction wait for while it works."""
        for watcher in step.op.wait:
            if watcher.loop is not None:
                yield from self._awaited(step, watcher.flag, self.last(step, watcher))

    def _awaited(self, step: Step, flag: Flag, count: int) -> Iterator[Step]:
        """What has completed when ``flag`` has counted to ``count``; a count that is never reached orders nothing."""
        if count <= 0:
            return
        for raiser in self.raisers(step, flag):
            if raiser.raised_to >= count:
                if raiser.raised_to == count:
                    yield raiser
                elif raiser.place:
                    yield self._queues[raiser.op.engine][raiser.place - 1]
                return


def _joined(found: dict[Engine, int], steps: Iterator[Step]) -> dict[Engine, int]:
    """``found`` grown by some instructions and all that completes before them."""
    for step in steps:
        for engine, count in {**step.through, step.op.engine: step.place + 1}.items():
            found[engine] = max(found.get(engine, 0), count)
    return found
