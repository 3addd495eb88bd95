"""What all engines of a tile share: an instruction buffer taken in order, watchers, and retiring."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import pairwise, starmap
from typing import Generic, TypeVar

import numpy as np
import simpy
from msgspec import Struct

from tilesim.sim.core.action import Action, Actions
from tilesim.sim.core.clock import Clock, Work
from tilesim.sim.core.fifo import Fifo
from tilesim.sim.core.flags import FlagFile
from tilesim.sim.core.unit import BUSY, Reason, Unit, Wait
from tilesim.sim.pipe.arbiter import Arbiter
from tilesim.sim.pipe.costs import Costs
from tilesim.sim.pipe.course import Activity, Charge, PipeForm
from tilesim.sim.pipe.pipe import Pipe
from tilesim.sim.trace.recorder import Waker
from tilesim.tiled.isa.model.accesses import operands
from tilesim.tiled.isa.model.fields import Engine, Flag, Nest, Watcher
from tilesim.tiled.isa.model.instructions import Work as EngineInstruction
from tilesim.tiled.isa.model.loops import KEPT, Gate, gates, iterations
from tilesim.tiled.isa.model.sheet import FLAGS
from tilesim.tiled.units.memories import TileMemories
from tilesim.tiled.units.ttu import TraversalForm

Op = TypeVar("Op", bound=EngineInstruction)
NAMED = 3
"""Instructions that a hang report names for a flag; of more it gives the number."""


class TileContext(Struct, frozen=True):
    """What the engines of one tile share; the arbiter is the chip's, ``ttu`` how all its TTUs are built.

    ``retired(label)`` hears of every instruction that has; ``raisers(flag)`` names those here that will still raise it.
    """

    clock: Clock
    memories: TileMemories
    flags: FlagFile
    arbiter: Arbiter
    buffer_depth: int
    retired: Callable[[str], None]
    raisers: Callable[[Flag], list[str]]
    ttu: TraversalForm


class TileEngine(ABC, Generic[Op]):
    """Takes the instructions of its buffer one after the other, in order; ``name`` says which ones, and what its ports
    are.

    Each completed loop that an instruction produces on raises ``flag``; ``awaited`` is the flag that held its loops
    last.

    Timing: an instruction that arrives at cycle t in an idle engine starts at t, or as much later as its TTU needs for
    the first address; the next one arrives there in the cycle in which the one before retires. Source: US 19/025,090
    [0048]-[0054]; US 2025/0265455 [0031].
    """

    def __init__(self, tile: TileContext, unit: Unit, name: Engine, buffer: Fifo[Op] | None = None) -> None:
        self.tile = tile
        self.unit = unit
        self.name = name
        self.flag = FLAGS[name]
        self.buffer: Fifo[Op] = Fifo(tile.clock, tile.buffer_depth) if buffer is None else buffer
        self.unfinished: list[Op] = []
        self.awaited: Flag | None = None
        self._drained: list[simpy.Event] = []
        self._works = buffer is not None
        if self._works:  # who shares a buffer has to ask for instructions before there are any
            tile.clock.process(self._work())

    @abstractmethod
    def execute(self, op: Op) -> Work:
        """Carry one instruction out."""

    def actions(self, op: Op) -> Actions:
        """What costs energy of an instruction that has been carried out; what links carry, they count themselves."""
        sides = operands(op, self.tile.memories.topology)
        return {Action(side.access): iterations(getattr(op, side.field).nest) for side in sides}

    def deliver(self, op: Op) -> None:
        """An instruction has arrived from the instruction bus; its place in the buffer was reserved."""
        self.unfinished.append(op)
        self.buffer.put(op)
        if not self._works:
            self._works = True
            self.tile.clock.process(self._work())

    def drained(self) -> simpy.Event:
        """When every instruction that has arrived so far has retired."""
        event = self.tile.clock.event()
        if self.unfinished:
            self._drained.append(event)
        else:
            event.succeed()
        return event

    def await_address(self) -> Work:
        """Wait for the first address of the instruction that has just come."""
        if self.tile.ttu.fill_cycles and not self.unit.instant:
            filled = self.tile.clock.timeout(self.tile.ttu.fill_cycles)
            yield from self.unit.wait(filled, Reason.TRAVERSAL, lambda: "its first address")

    def watch(self, watchers: tuple[Watcher, ...]) -> Work:
        """Wait for the first address, and for the watchers that hold the instruction as a whole."""
        yield from self.await_address()
        for watcher in watchers:
            if watcher.loop is None:
                yield from self.await_flag(Gate(0, watcher.flag, watcher.expected))

    def await_flag(self, gate: Gate) -> Work:
        if not self.tile.flags.met(gate.flag, gate.expected):
            reached = self.tile.flags.reached(gate.flag, gate.expected)
            waker = yield from self.unit.wait(reached, Reason.FLAG, lambda: self._describe(gate))
            self.hear(waker)

    def hear(self, waker: Waker | None) -> None:
        """The flag that held the engine until now was raised by ``waker``."""
        self.unit.woken_by(waker, Reason.FLAG)

    def pipe(self, costs: Costs, form: PipeForm, move: Callable[[int, int], None]) -> Pipe:
        """The groups of the instruction in hand, which begin in this cycle; they are the engine's work."""
        return Pipe(self.tile.clock.cycle, costs, form, move, self.charges)

    def run_pipe(self, pipe: Pipe, gates: Sequence[Gate], produce: Sequence[int]) -> Work:
        """Let ``pipe`` work; its reads are held at ``gates``, the rest is as in :meth:`follow`."""
        self.tile.arbiter.add(pipe, pipe.slots)
        yield from self.follow(pipe, pipe.hold, gates, produce)

    def run_at_once(
        self, groups: int, gates: Sequence[Gate], produce: Sequence[int], move: Callable[[int, int], None]
    ) -> Work:
        """Let ``groups`` pass in no time, with nobody's ports, as far as ``gates`` let them; the rest is as in
        :meth:`run_pipe`.
        """
        yield from self.pass_at_once(groups, gates, produce, partial(self._moved, move))

    def pass_at_once(
        self,
        groups: int,
        gates: Sequence[Gate],
        produce: Sequence[int],
        passing: Callable[[range], Work],
    ) -> Work:
        """Let stretches of ``groups`` be ``passing``, from gate to gate, and raise the engine's flag after each."""
        held: dict[int, list[Gate]] = {}
        for gate in gates:
            held.setdefault(gate.group, []).append(gate)
        rises = Counter(produce)
        for part in stretches(groups, held, rises):
            for gate in held.get(part.start, ()):
                yield from self.await_flag(gate)
            yield from passing(part)
            self.raise_flag(rises[part.stop])

    def _moved(self, move: Callable[[int, int], None], part: range) -> Work:
        move(part.start, part.stop)
        self.unit.add(BUSY, 0)
        yield from ()

    def follow(
        self, pipe: Pipe, hold: Callable[[int, int], None], gates: Sequence[Gate], produce: Sequence[int]
    ) -> Work:
        """See ``pipe``, which has just been added, to its end: ``hold``, one of its own, moves from gate to gate as
        their flags rise; the engine's flag rises each time as many groups are written as ``produce`` lists, in order.
        """
        if gates:
            self._open(pipe, hold, iter(gates), self.unit.waiting)
        for written, rises in Counter(produce).items():
            yield self.tile.arbiter.reach(pipe, written)
            self.raise_flag(rises)
        if not produce or produce[-1] != pipe.groups:
            yield self.tile.arbiter.reach(pipe, pipe.groups)

    def _open(
        self, pipe: Pipe, hold: Callable[[int, int], None], gates: Iterator[Gate], otherwise: Wait | None
    ) -> None:
        """Hold ``pipe`` at the next gate whose flag has not risen, if there is any, until it does. Without a gate the
        unit waits for what it ``otherwise`` does.
        """
        flags, clock = self.tile.flags, self.tile.clock
        gate = next((gate for gate in gates if not flags.met(gate.flag, gate.expected)), None)
        hold(clock.cycle, pipe.groups if gate is None else gate.group)
        self.tile.arbiter.change(pipe)
        if gate is None:
            return

        def rise(risen: simpy.Event) -> None:
            self.unit.waiting = otherwise
            self.hear(risen.value)
            self._open(pipe, hold, gates, otherwise)

        if gate.flag != self.awaited:
            pipe.charge()
            self.awaited = gate.flag
        self.unit.waiting = Wait(Reason.FLAG, clock.cycle, partial(self._describe, gate))
        flags.reached(gate.flag, gate.expected).callbacks.append(rise)

    def raise_flag(self, increment: int) -> None:
        if increment:
            self.tile.flags.raise_by(self.flag, increment, self.unit.waker)

    def charges(self, activity: Activity) -> Sequence[Charge]:
        """What a pipe's cycle is: busy when it accesses a memory."""
        busy = activity.reading or activity.writing
        return [(self.unit, BUSY if busy else f"stall:{activity.reason}", 0)]

    def raising(self, flag: Flag) -> list[str]:
        """The instructions in hand and in the buffer that will still raise ``flag``."""
        return [op.label for op in self.unfinished if op.produce is not None] if flag == self.flag else []

    def _describe(self, gate: Gate) -> str:
        left = self.tile.raisers(gate.flag)
        what = "reach" if not self.tile.flags.strict else "exceed"
        shown = ", ".join(left[:NAMED]) + (f" and {len(left) - NAMED} more" if len(left) > NAMED else "")
        return (
            f"flag {gate.flag} to {what} {gate.expected}; it stands at {self.tile.flags.count(gate.flag)}, and "
            f"{'only ' + shown if left else 'no instruction in the tile'} can still raise it"
        )

    def _work(self) -> Work:
        while True:
            self.unit.instruction = ""
            op: Op | None = self.buffer.get_now()
            if op is None:
                op = yield from self.unit.wait(self.buffer.get(), Reason.INSTRUCTION, lambda: "an instruction")
                assert op is not None
            else:
                self.unit.spend(Reason.INSTRUCTION.kind)
            yield from self.unit.begin(op.label)
            yield from self.execute(op)
            self.unit.act(self.actions(op))
            self.unfinished.pop(0)
            self.tile.retired(op.label)
            if not self.unfinished:
                drained, self._drained = self._drained, []
                for event in drained:
                    event.succeed()


@lru_cache(KEPT)
def alike(groups: int, issues: int = 1, writes: int = 1) -> Costs:
    """Costs of ``groups`` that all take as many issue reads and writes."""
    return Costs(np.zeros(groups, np.int64), np.full(groups, issues, np.int64), np.full(groups, writes, np.int64))


def gates_by_round(nest: Nest, watchers: tuple[Watcher, ...]) -> dict[int, list[Gate]]:
    """The gates before each iteration that has any."""
    by_round: dict[int, list[Gate]] = {}
    for gate in gates(nest, watchers):
        by_round.setdefault(gate.group, []).append(gate)
    return by_round


def stretches(rows: int, held: Iterable[int], rises: Iterable[int]) -> Iterator[range]:
    """A nest's iterations in stretches, cut before those that a flag may hold and after those that raise one."""
    cuts = {*held, *rises, 0, rows}
    return starmap(range, pairwise(sorted(cut for cut in cuts if cut <= rows)))
