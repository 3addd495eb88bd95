"""What happens before what, on one tile, whatever the timing.

An instruction completes before another starts if it is ahead of it in the same buffer, if it raises a flag
to the count that the other waits for, if a fence stands between them that waits for its engine, or by a chain of
these. The load program completes before the run program starts.

Sets of instructions are bitmaps: bit k of an int stands for the k-th instruction of the tile.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from operator import attrgetter

from tilesim.tiled.isa.model.fields import ORDINALS, Engine, Flag
from tilesim.tiled.isa.model.instructions import TileFence, Work
from tilesim.tiled.rules.tile.effects import Effects, Section, WatchedCounts
from tilesim.tiled.topology import Topology

RING_ROLES = (Engine.RING_CONSUMER, Engine.RING_PRODUCER)
"""Engines that have one buffer on a chip whose ``ring.queue`` is shared."""
EXTERNAL = frozenset(ORDINALS.values())
"""Flags that no instruction of the tile raises, but whatever passes on the ring: they order nothing here."""

_RAISED_TO = attrgetter("raised_to")


@dataclass(eq=False, slots=True)
class TileStep:
    """An instruction of one tile, the ``number``-th: what completes before it starts, and before it completes itself.

    ``generations`` says how often each flag had been reset when it was issued.
    """

    effects: Effects
    number: int
    fenced: int
    """What the fences in front of it have drained."""
    drained: tuple[TileStep, ...]
    """The last of that of each engine."""
    ahead: tuple[TileStep, ...]
    """The last instructions in front of it in its engine's buffer: of its engine, and of another one in that buffer."""
    generations: Mapping[Flag, int]
    raised_to: int
    """What its flag has counted to when it has completed."""
    before: int = 0
    through: int = 0
    direct: list[TileStep] = field(default_factory=list)
    """What comes directly before it starts."""
    meanwhile: list[TileStep] = field(default_factory=list)
    """What its loops wait for while it works."""
    reached: list[TileStep | None] = field(default_factory=list)
    """For each of its watchers the instruction that raises the flag to the highest count that it waits for."""
    bit: int = field(init=False)

    def __post_init__(self) -> None:
        self.bit = 1 << self.number

    @property
    def op(self) -> Work:
        return self.effects.op

    @property
    def over(self) -> Iterator[TileStep]:
        """What is over when it starts, as far as the rest follows from that."""
        return chain(self.drained, self.direct)

    def __str__(self) -> str:
        return f"{self.op.label or 'an unnamed instruction'} ({self.op.mnemonic})"


class HappensBefore:
    """The order of the instructions for tile ``tile`` in the ``sections`` of a program."""

    def __init__(self, topology: Topology, sections: Sequence[Section], tile: int) -> None:
        self.steps: list[TileStep] = []
        self.fence_faults: list[str] = []
        self.queues: dict[Engine, int] = dict.fromkeys(Engine, 0)
        """The instructions of each engine."""
        self.strict = topology.tile.strict_compare
        self._shared = topology.ring.queue == "shared"
        self._fenced = 0
        self._drained: tuple[TileStep, ...] = ()
        self._last: dict[Engine, TileStep] = {}
        self._counts: dict[Flag, int] = {}
        self._generations: dict[Flag, int] = {}
        self._raisers: dict[tuple[Flag, int], list[TileStep]] = defaultdict(list)
        self._raising: dict[Flag, int] = defaultdict(int)
        self._watching: dict[Flag, int] = defaultdict(int)
        for section in sections:
            for entry in section:
                if isinstance(entry, Effects):
                    if entry.op.tiles >> tile & 1:
                        self._add(entry)
                elif entry.tiles >> tile & 1:
                    self._add_fence(entry)
            self._drain(tuple(Engine))
        self._link()
        self._settle()
        self._started = self._run()

    def starts(self, step: TileStep) -> bool:
        """Whether the instruction ever starts: one that waits for what never comes touches nothing."""
        return bool(self._started >> step.number & 1)

    def unordered(self, step: TileStep, among: int) -> Iterator[TileStep]:
        """The instructions before ``step`` in the program of which neither completes before the other starts, of those
        in the bitmap ``among``.
        """
        left = among & step.bit - 1 & ~step.before
        while left:
            other = self.steps[left.bit_length() - 1]
            left ^= other.bit
            if not other.before >> step.number & 1:
                yield other

    def listed(self, bits: int) -> Iterator[TileStep]:
        """The instructions of a bitmap, in order."""
        bits &= ~self.never
        while bits:
            lowest = bits & -bits
            bits ^= lowest
            yield self.steps[lowest.bit_length() - 1]

    def raisers(self, step: TileStep, flag: Flag) -> list[TileStep]:
        """The instructions that raise ``flag`` in the time in which ``step`` may watch it, in order."""
        return self._raisers.get((flag, step.generations.get(flag, 0)), [])

    def raises_for(self, first: TileStep, then: TileStep) -> bool:
        """Whether ``first`` is one of those that raise its flag while ``then`` may watch it."""
        flag = first.effects.flag
        return first.generations.get(flag, 0) == then.generations.get(flag, 0)

    @property
    def never(self) -> int:
        """The bit of what never happens, in bitmaps of instructions."""
        return 1 << len(self.steps)

    def behind(self, step: TileStep) -> int:
        """Of which other instructions something, if not all, is over before ``step`` completes, as a bitmap; with
        :attr:`never`, if some flag doesn't count as far as that takes.
        """
        return self._behind[step.number]

    @cached_property
    def _behind(self) -> list[int]:
        links = [[*step.over, *self._watched(step)] for step in self.steps]
        behind = [step.through | (self._needs(step)[2] & self.never) for step in self.steps]
        changed = True
        while changed:
            changed = False
            for number, others in enumerate(links):
                known = behind[number]
                for other in others:
                    known |= behind[other.number] | other.bit
                changed |= known != behind[number]
                behind[number] = known
        return behind

    def _watched(self, step: TileStep) -> Iterator[TileStep]:
        """The last instructions that raise the flags for which a step waits, as far as it does."""
        for wait, raiser in zip(step.effects.waits, step.reached, strict=True):
            if wait.last > 0:
                yield from [raiser] if raiser else self.raisers(step, wait.watcher.flag)[-1:]

    def reaches(self, step: TileStep, flag: Flag, count: int) -> TileStep | None:
        """The instruction that raises ``flag`` to ``count`` in the time in which ``step`` may watch it."""
        if count <= 0:
            return None
        raisers = self.raisers(step, flag)
        place = bisect_left(raisers, count, key=_RAISED_TO)
        return raisers[place] if place < len(raisers) else None

    def _add(self, effects: Effects) -> None:
        engine, flag = effects.engine, effects.flag
        count = self._counts[flag] = self._counts.get(flag, 0) + effects.increments
        step = TileStep(
            effects, len(self.steps), self._fenced, self._drained, self._ahead(engine), self._generations, count
        )
        self.steps.append(step)
        self.queues[engine] |= step.bit
        self._last[engine] = step
        self._raisers[flag, self._generations.get(flag, 0)].append(step)
        if effects.increments:
            self._raising[flag] |= step.bit
        for wait in effects.waits:
            self._watching[wait.watcher.flag] |= step.bit

    def _ahead(self, engine: Engine) -> tuple[TileStep, ...]:
        engines = RING_ROLES if self._shared and engine in RING_ROLES else (engine,)
        return tuple(self._last[role] for role in engines if role in self._last)

    def _add_fence(self, op: TileFence) -> None:
        self._drain(op.idle)
        for flag in op.reset:
            self._check_reset(op, flag)
            self._counts[flag] = self._raising[flag] = 0
        self._generations = {**self._generations, **{flag: self._generations.get(flag, 0) + 1 for flag in op.reset}}

    def _drain(self, idle: tuple[Engine, ...]) -> None:
        for engine in idle:
            self._fenced |= self.queues[engine]
        last = {step.effects.engine: step for step in self._drained}
        last |= {engine: self._last[engine] for engine in idle if engine in self._last}
        self._drained = tuple(last.values())

    def _check_reset(self, op: TileFence, flag: Flag) -> None:
        """An engine that is not waited for may raise the flag after the reset, or still wait for it."""
        for steps, what in (
            (self._raising[flag], "which {} may still raise"),
            (self._watching[flag], "for which {} may still wait"),
        ):
            if late := steps & ~self._fenced:
                step = self.steps[late.bit_length() - 1]
                self.fence_faults.append(
                    f"{op.label or op.mnemonic} resets {flag}, {what.format(step.op.label or step.op.mnemonic)}: its "
                    f"idle must name {step.effects.engine}"
                )

    def _link(self) -> None:
        for step in self.steps:
            step.direct += step.ahead
            for wait in step.effects.waits:
                last = self.reaches(step, wait.watcher.flag, wait.last)
                step.reached.append(last)
                if wait.watcher.loop is None:
                    step.direct += self._over(last, wait.last)
                else:  # it holds the first round, too
                    step.direct += self._over(self.reaches(step, wait.watcher.flag, wait.first), wait.first)
                    step.meanwhile += self._over(last, wait.last)

    def _over(self, raiser: TileStep | None, count: int) -> list[TileStep]:
        """What has completed when ``raiser`` has raised its flag to ``count``; one that is never reached orders
        nothing.
        """
        if raiser is None or raiser.raised_to == count:
            return [raiser] if raiser else []
        return [step for step in raiser.ahead if step.effects.engine == raiser.effects.engine]

    def _settle(self) -> None:
        """Follow the chains until nothing more is found out; instructions may wait for later ones, so one pass is not
        always enough.
        """
        links = ((step, other) for step in self.steps for other in (*step.direct, *step.meanwhile))
        awaited_early = {other.number for step, other in links if other.number >= step.number}
        changed = True
        while changed:
            changed = False
            for step in self.steps:
                before = step.fenced
                for other in step.direct:
                    before |= other.through | other.bit
                through = before
                for other in step.meanwhile:
                    through |= other.through | other.bit
                if step.number in awaited_early and (before, through) != (step.before, step.through):
                    changed = True
                step.before, step.through = before, through

    def _run(self) -> int:
        """Let start and finish whatever can, again and again, until nothing more can; what has started then."""
        started = finished = 0
        pending, moved = [(step, *self._needs(step)) for step in self.steps], True
        while moved:
            left, moved = [], False
            for needs in pending:
                step, ahead, first, last = needs
                if ahead & ~finished or first & ~started:
                    left.append(needs)
                    continue
                moved = moved or not started & step.bit
                started |= step.bit
                if last & ~started:
                    left.append(needs)
                else:
                    finished |= step.bit
                    moved = True
            pending = left
        return started

    def _needs(self, step: TileStep) -> tuple[int, int, int]:
        """What must have finished before ``step`` starts, and what must have started by then, and before it ends."""
        ahead, first, last = step.fenced, 0, 0
        for other in step.ahead:
            ahead |= other.bit
        for wait, raiser in zip(step.effects.waits, step.reached, strict=True):
            need = self._needed(wait, raiser)
            last |= need
            if wait.watcher.loop is None:
                first |= need
        return ahead, first, last

    def _needed(self, wait: WatchedCounts, raiser: TileStep | None) -> int:
        """Who must have started for a watcher to be content; what comes from outside may always come."""
        if wait.last <= 0 or wait.watcher.flag in EXTERNAL:
            return 0
        return raiser.bit if raiser else self.never
