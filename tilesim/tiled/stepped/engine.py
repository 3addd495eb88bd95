"""What all engines of a tile share: an instruction buffer taken in order, watchers, and retiring."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from tilesim.tiled.isa.model.fields import Engine as EngineName
from tilesim.tiled.isa.model.fields import Flag, Nest
from tilesim.tiled.isa.model.instructions import Work
from tilesim.tiled.stepped.core import FIFO, FLAG, HOLD, IDLE, PORT, TRAVERSAL, Clock, Fifo, FlagFile, UnitAccount
from tilesim.tiled.stepped.memory import Memories, Touch
from tilesim.tiled.stepped.ttu import Iteration, Watch, walk
from tilesim.tiled.topology import Topology


class TileContext(Protocol):
    """What an engine knows of its tile."""

    clock: Clock
    topology: Topology
    memories: Memories
    flags: FlagFile
    holds: Mapping[str, int]
    engines: dict[EngineName, Engine]
    touch: Callable[[str, Touch], None] | None
    """Hears of what an instruction, by its label, reads or writes in this cycle."""


class Engine:
    """Takes one instruction after the other. In each cycle it is asked three times: :meth:`request`, when it takes an
    instruction and looks at flags; :meth:`arbitrate`, in the order of the memory ports' priorities, when it takes the
    accesses that are left; :meth:`commit`, when all it did takes effect.

    Timing: an instruction that arrives at t in an idle engine starts at t, later by ``tile.multiplier_cycles`` with
    the multiplier form; the next one starts in the cycle after the last one of the one before.
    """

    shares_with: Engine | None = None
    """The other one that takes its instructions from the same buffer, if there is any."""

    def __init__(self, tile: TileContext, account: UnitAccount, flag: Flag, buffer: Fifo[Any]) -> None:
        self.tile = tile
        self.clock = tile.clock
        self.memories = tile.memories
        if (touch := tile.touch) is not None:
            self.memories = tile.memories.told_to(lambda access: touch(self.op.label, access))
        self.account = account
        self.flag = flag
        self.buffer = buffer
        self.unfinished = 0
        self.op: Any = None
        self.begun = False
        self.kind = IDLE
        self._gates: list[tuple[Flag, int]] = []
        self._fill_cycles = 0
        self._held_until = 0

    def deliver(self, op: Work, later_cycles: int) -> None:
        """An instruction arrives so many cycles later; its place was kept."""
        self.unfinished += 1
        self.buffer.put(op, later_cycles)

    def request(self) -> None:
        """The cycle begins."""
        if self.op is None:
            op = self.buffer.head()
            if op is None or not self._is_next(op):
                return
            self._take_up(self.buffer.take())
        if not self.begun:
            self._prepare()
        if self.begun:
            self.proceed()

    def _is_next(self, op: Work) -> bool:
        """Of two that share a buffer each takes what is for it, once the other has come to the end of its own."""
        return self.shares_with is None or (self.shares_with.op is None and self.tile.engines[op.engine] is self)

    def _take_up(self, op: Any) -> None:
        tile = self.tile.topology.tile
        self.op = op
        self._held_until = self.tile.holds.get(op.label, 0)
        self._fill_cycles = tile.multiplier_cycles if tile.traversal == "multiplier" else 0
        self._gates = [(watcher.flag, watcher.expected) for watcher in op.wait if watcher.loop is None]

    def _prepare(self) -> None:
        """Wait for the end of a hold and the first address, then for the flags that hold the instruction as a whole."""
        if self.held:
            self.clock.stir(self._held_until - self.clock.cycle)
            self.kind = HOLD
        elif self._fill_cycles:
            self._fill_cycles -= 1
            self.clock.stir()
            self.kind = TRAVERSAL
        elif self.passes_gates():
            self.begun = True
            self.clock.stir()
            self.begin(self.op)
        else:
            self.kind = FLAG

    @property
    def held(self) -> bool:
        """Whether the instruction in hand must not begin yet."""
        return self.clock.cycle < self._held_until

    def passes_gates(self) -> bool:
        """Whether all flags that are waited for have counted enough; each is looked at until it has, in order."""
        while self._gates and self.tile.flags.met(*self._gates[0]):
            self._gates.pop(0)
        return not self._gates

    @property
    def awaited(self) -> Flag | None:
        """The flag that it waits for, or will wait for before it goes on."""
        return self._gates[0][0] if self.op is not None and self._gates else None

    def begin(self, op: Any) -> None:
        """The instruction begins in this cycle."""

    def proceed(self) -> None:
        """The instruction goes on in this cycle: what it asks for."""

    def arbitrate(self) -> None:
        """Take accesses to the memories, and read."""

    def advance(self) -> str:
        """What was done takes effect; what kind of cycle it was."""
        raise NotImplementedError

    def commit(self) -> None:
        """The cycle ends."""
        if self.op is None:
            return
        label, kind = self.op.label, self.advance() if self.begun else self.kind
        self.account.note(self.clock.cycle, kind, label)
        if self.begun and self.through():
            self.retire()

    def through(self) -> bool:
        """Whether this was the instruction's last cycle."""
        raise NotImplementedError

    def retire(self) -> None:
        """This was the instruction's last cycle."""
        self.account.note(self.clock.cycle + 1, IDLE)
        self.op, self.begun = None, False
        self.unfinished -= 1
        self.clock.stir()

    @staticmethod
    def reason(held: str, write_denied: bool) -> str:
        """Why nothing is read: a port, if nothing else ``held`` it, or if what made the queue full waits for one."""
        return PORT if not held or (held == FIFO and write_denied) else held

    def raise_flag(self, increment: int = 1) -> None:
        if increment:
            self.tile.flags.rise(self.flag, increment)

    def gate(self, gates: list[tuple[Flag, int]]) -> None:
        """Wait for these flags next."""
        self._gates = gates


class Rounds:
    """The iterations of a DMA's nest one after the other, with what each waits for and whether it raises the flag."""

    def __init__(self, nest: Nest, op: Any) -> None:
        self._steps = walk(nest)
        self._watch = Watch(op.wait)
        self._produce = op.produce
        self.step: Iteration | None = None

    def next(self) -> list[tuple[Flag, int]]:
        """Go on to the next iteration; what it waits for."""
        self.step = next(self._steps, None)
        return self._watch.gates(self.step) if self.step else []

    def raises(self, step: Iteration) -> bool:
        """Whether the flag rises when ``step`` is through."""
        return self._produce in step.completes
