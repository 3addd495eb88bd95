"""A named unit's account of its time: busy, stalled for a reason, or idle; every cycle exactly once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import simpy
from numpy.typing import NDArray

from tilesim.sim.core.action import Action, Actions
from tilesim.sim.core.clock import Clock
from tilesim.sim.trace.recorder import SpanListener, Waker


class Reason(StrEnum):
    """Why a unit can't go on: ``words`` for a legend, and a ``sentence`` that says what they mean. Pictures stack them
    in this order.

    Waiting for an instruction that is still to come, with an empty buffer, is idleness; all else is a stall.
    """

    words: str
    sentence: str

    def __new__(cls, name: str, words: str, sentence: str) -> Self:
        reason = str.__new__(cls, name)
        reason._value_ = name
        reason.words, reason.sentence = words, sentence
        return reason

    FLAG = "flag", "waits for a flag", "What it works on is not there yet: another unit's sync flag has to rise."
    PORT = "port", "waits for a memory port", "A unit of higher priority uses the memory in this cycle."
    FIFO = "fifo", "waits at a FIFO", "The queue that it reads is empty, or the one that it fills is full."
    CREDIT = "credit", "waits for a credit", "The next stop of the bus has no place for what it wants to send."
    HAZARD = "hazard", "waits for its own write", "It would read what it has itself not written yet."
    HOST = "host", "waits for the host", "The host's words are still on their way."
    TRAVERSAL = "traversal", "computes its first address", "An instruction has begun; its first address is on the way."
    WORK = "work", "has no more work", "The program has nothing more for this unit."
    WEIGHTS = "weights", "waits for weights", "The next weights have not come from weight memory yet."
    SHIFT = "shift", "shifts weights in", "The next weights are on their way into the array, which stands still."
    RAW = "raw", "waits for a result", "It would read what another unit has not written yet."
    INPUT = "input", "waits for an input", "An input has not come from the host yet."
    HOLD = "hold", "is held", "The user has the instruction begin later."
    INSTRUCTION = "instruction", "idle", "Waits for an instruction with an empty buffer, or has nothing to carry."

    @cached_property
    def kind(self) -> str:
        return "idle" if self is Reason.INSTRUCTION else f"stall:{self}"


BUSY = "busy"
_NO_HOLDS: Mapping[str, int] = {}


Words = NDArray[np.int64]


class Wait(NamedTuple):
    """What a unit waits for, in words made when somebody asks."""

    reason: Reason
    since: int
    describe: Callable[[], str]


class Unit:
    """One hardware unit's track: accounts of cycles by kind, the present wait, and the instruction in work.

    Accounts are contiguous: :meth:`spend` goes on where the last cycles ended, so that busy, stalls and idle add
    up to the length of the run by themselves, and going backwards is an error. ``moved`` counts the bytes moved for
    each instruction, ``acted`` how often it took each action that costs energy, by action, then instruction. ``holds``
    says which instructions must not begin before which cycle, ``instants`` which transfers take no time.
    """

    __slots__ = (
        "_accounted", "_recorder", "acted", "active_until", "clock", "cycles", "holds", "instants", "instruction",
        "moved", "track", "waiting",
    )  # fmt: skip

    def __init__(self, clock: Clock, track: str, recorder: SpanListener | None = None) -> None:
        self.clock = clock
        self.track = track
        self.cycles: dict[str, int] = {}
        self.moved: dict[str, int] = {}
        self.acted: dict[Action, dict[str, int]] = {}
        self.instruction = ""
        self.waiting: Wait | None = None
        self.active_until = 0
        self.holds = _NO_HOLDS
        self.instants: Collection[str] = ()
        self._recorder = recorder
        self._accounted = 0

    @property
    def engaged(self) -> bool:
        """Whether it has begun an instruction, even if it can't go on with it."""
        return bool(self.instruction) and (self.waiting is None or self.waiting.reason is not Reason.HOLD)

    @property
    def instant(self) -> bool:
        """Whether the instruction in hand takes no time."""
        return self.instruction in self.instants

    @property
    def recording(self) -> bool:
        return self._recorder is not None

    @property
    def waker(self) -> Waker:
        """It, with the instruction in hand."""
        return Waker(self.track, self.instruction)

    @property
    def accounted_until(self) -> int:
        """The cycle up to which its cycles are accounted for; of a link that only tallies, how many there are."""
        return self._accounted

    @property
    def bytes(self) -> int:
        """All bytes moved."""
        return sum(self.moved.values())

    def add(self, kind: str, cycles: int, moved_bytes: int = 0) -> None:
        """Account for the next ``cycles`` cycles."""
        if cycles < 0:
            raise AssertionError(f"{self.track} accounts for {cycles} cycles")
        if self._recorder is not None and cycles and kind != "idle":
            self._recorder.record(self.track, self._accounted, cycles, kind, self.instruction, moved_bytes)
        self._count(kind, cycles, moved_bytes)

    def _count(self, kind: str, cycles: int, moved_bytes: int) -> None:
        if cycles:
            self.cycles[kind] = self.cycles.get(kind, 0) + cycles
            self._accounted += cycles
        if kind != "idle":
            self.active_until = self._accounted
        if moved_bytes:
            self.moved[self.instruction] = self.moved.get(self.instruction, 0) + moved_bytes

    def add_spans(self, kinds: Sequence[str], which: Words, cycles: Words, bytes_per_cycle: Sequence[int]) -> None:
        """Account for the next spans, in order: ``which`` of the ``kinds`` each is, and what these move a cycle."""
        ends = self._accounted + np.cumsum(cycles)
        spent = np.bincount(which, cycles, len(kinds)).tolist()
        shown = np.array([kind != "idle" for kind in kinds])[which] if "idle" in kinds else slice(None)
        active = ends[shown]
        active_until = int(active[-1]) if len(active) else self.active_until
        if self._recorder is not None and len(active):
            lengths, numbers = cycles[shown], which[shown]
            moved = lengths * np.array(bytes_per_cycle)[numbers] if any(bytes_per_cycle) else np.zeros_like(lengths)
            self._recorder.record_all(self.track, active - lengths, lengths, kinds, numbers, self.instruction, moved)
        for kind, total, moved_bytes in zip(kinds, spent, bytes_per_cycle, strict=True):
            self._count(kind, int(total), int(total) * moved_bytes)
        self.active_until = active_until

    def act(self, actions: Actions) -> None:
        """Count so many of each of the ``actions``, which the present instruction took."""
        for action, count in actions.items():
            if count:
                of_each = self.acted.setdefault(action, {})
                of_each[self.instruction] = of_each.get(self.instruction, 0) + count

    def woken_by(self, waker: Waker | None, reason: Reason | None = None) -> None:
        """What it waited for until now, for that ``reason`` (None: for any), came from ``waker``."""
        if self._recorder is not None and waker is not None:
            self._recorder.wake_up(self.track, self.clock.cycle, waker, reason.kind if reason else "")

    def spend(self, kind: str, until: int | None = None, moved_bytes: int = 0) -> int:
        """Account for everything up to the start of cycle ``until`` (now); how many cycles that is."""
        cycles = (self.clock.cycle if until is None else until) - self._accounted
        self.add(kind, cycles, moved_bytes)
        return cycles

    def wait(
        self, event: simpy.Event, reason: Reason, describe: Callable[[], str] | None = None
    ) -> Generator[simpy.Event, Any, Any]:
        """Wait for ``event``; the cycles until then are the reason's."""
        self.waiting = Wait(reason, self.clock.cycle, describe or (lambda: str(reason)))
        value = yield event
        self.waited()
        return value

    def waited(self) -> None:
        """What it waits for has come in this cycle: all up to now was spent on that."""
        assert self.waiting is not None
        reason, self.waiting = self.waiting.reason, None
        self.spend(reason.kind)

    def wait_on(self, event: simpy.Event, reason: Reason, what: str) -> Generator[simpy.Event, Any, Any]:
        """Wait for ``event``, which says what the cycles until then were."""
        self.waiting = Wait(reason, self.clock.cycle, lambda: what)
        value = yield event
        self.waiting = None
        return value

    def begin(self, instruction: str) -> Generator[simpy.Event, Any, None]:
        """Take up an instruction, by its label; one that is held back waits for its cycle."""
        self.instruction = instruction
        cycle, now = self.holds.get(instruction, 0), self.clock.cycle
        if cycle > now:
            yield from self.wait(self.clock.timeout(cycle - now), Reason.HOLD, lambda: "the end of its hold")

    def restart(self) -> None:
        """Begin a new account now."""
        self.cycles, self.moved, self.acted, self._accounted = {}, {}, {}, self.clock.cycle

    def stop(self, end: int, working: bool) -> None:
        """Account for the rest of a run that can't go on in the cycle before ``end``; one that is ``working`` on its
        instruction and does not wait for anything is busy. What it has foreseen stays as it is.
        """
        if working and self.instruction and self.waiting is None and self._accounted < end:
            self.spend(BUSY, end)
        self.close(end)

    def close(self, end: int) -> None:
        """Account for the rest of the run, which ends at ``end``: what the unit waits for, or idle."""
        self.spend(self.waiting.reason.kind if self.waiting else "idle", end)
