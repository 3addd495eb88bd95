"""Groups of memory accesses on their way through an engine: read, queue, write.

Every engine of a tile that moves data between memories has this shape. A tensor control reads the operands of a
result group, queues the results, writes them; a DMA reads words, queues a row, writes it, or the reverse.

Timing, cycle by cycle. The read stage takes one group after the other: first its *extra* reads (parameters, partial
sums; wide port only), then its *issue* reads. It may start group g once fewer than ``depth`` groups that it started
before are unwritten. The write stage takes a group when all its reads are done. Either goes on in each cycle in which
its ports have an access left; the last extra and the first issue read share a cycle only if the extra reads' port has
an access left for both. So the end of reading of group g is the L-th free slot after max(end of reading g - 1,
end of writing g - depth), and the end of writing the W-th free slot after max(end of reading g, end of writing g -
1).

The arithmetic below jumps from one change to the next instead of stepping cycles, and over whole periods once the
pattern repeats.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tilesim.sim.port import NEVER, Intervals, Port

Counts = NDArray[np.int64]


class Activity(NamedTuple):
    """What both stages do in a cycle; ``reason`` is why the read stage does not issue."""

    reading: bool
    issuing: bool
    writing: bool
    reason: str


class Slot(NamedTuple):
    """A port and the rank with which a stage asks for it."""

    port: Port
    rank: int


@dataclass(frozen=True)
class Costs:
    """Cycles that each group takes: ``extras`` and ``issues`` reads, ``writes`` writes, one array element a group."""

    extras: Counts
    issues: Counts
    writes: Counts

    def run_ends(self) -> list[int]:
        """Where runs of equally costly groups end."""
        table = np.stack([self.extras, self.issues, self.writes])
        return [*(np.flatnonzero((table[:, 1:] != table[:, :-1]).any(axis=0)) + 1).tolist(), table.shape[1]]


@dataclass
class _State:
    """Where a pipe stands at the start of cycle ``cycle``: groups read and written, and what is left of the present
    ones.
    """

    cycle: int
    read: int = 0
    written: int = 0
    extras: int = 0
    issues: int = 0
    writes: int = 0


class _Free(NamedTuple):
    """Accesses left to an extra read, to each port of an issue read, and to a write; and until when that stays so."""

    extra: int
    issue: list[int]
    write: int
    until: int


class _Mark(NamedTuple):
    """The state when a group had just been read: its shape, the groups read, and the length of the log."""

    shape: tuple[int, ...]
    read: int
    logged: int


class Pipe:
    """One instruction's groups on their way; see the module's docstring for the timing.

    ``issue`` names the ports of an issue read (all or none), ``extra`` that of an extra read, ``write`` that of a
    write. Groups from ``limit`` on wait for a flag. ``move(first, end)`` is called in order as groups get written; it
    carries their data. ``book(activity, cycles)`` is called with every cycle from the start on, in order.
    """

    def __init__(
        self,
        cycle: int,
        costs: Costs,
        depth: int,
        *,
        issue: Sequence[Slot],
        extra: Slot | None,
        write: Slot,
        move: Callable[[int, int], None],
        book: Callable[[Activity, int], None],
        every_span: bool = False,
    ) -> None:
        self.groups = len(costs.issues)
        self.limit = self.groups
        self.target = self.groups
        self._costs = tuple(column.tolist() for column in (costs.extras, costs.issues, costs.writes))
        self._run_ends = costs.run_ends()
        self._depth = depth
        self._issue, self._extra, self._write = issue, extra, write
        self._writes_extra_port = extra is not None and extra.port is write.port
        self._writes_issue_port = tuple(slot.port is write.port for slot in issue)
        self._move, self._book = move, book
        self._every_span = every_span
        self._state = self._loaded(_State(cycle))
        self._planned: tuple[_State, list[tuple[Activity, int]]] | None = None

    @property
    def written(self) -> int:
        return self._state.written

    def hold(self, cycle: int, limit: int) -> None:
        """From ``cycle`` on, groups from ``limit`` on wait for a flag; what came before stays as it was."""
        self.advance(cycle)
        self.limit = limit

    def advance(self, cycle: int) -> None:
        """Let everything happen that happens before ``cycle``."""
        if self._planned is not None and self._planned[0].cycle == cycle:
            state, log = self._planned
        else:
            state, log = replace(self._state), []
            self._run(state, cycle, self.groups, log, None)
        self._planned = None
        before, self._state = self._state.written, state
        for activity, cycles in log:
            self._book(activity, cycles)
        if state.written > before:
            self._move(before, state.written)

    def plan(self, publish: bool) -> int | None:
        """When ``target`` groups will have been written, if nothing changes; None: never.

        With ``publish`` its ports are told the accesses until then, for the clients below. Extra reads are not among
        them: a pipe that has some, or that writes where it reads, must be the lowest client of that port.
        """
        state = replace(self._state)
        log: list[tuple[Activity, int]] = []
        taken = [(slot, slot.port.taken[slot.rank]) for slot in (*self._issue, self._write)]
        for _, intervals in taken:
            intervals.cut(state.cycle)
        self._run(state, NEVER, self.target, log, taken if publish else None)
        self._planned = (state, log)
        return state.cycle if state.written >= self.target else None

    def _run(
        self,
        state: _State,
        until: int,
        target: int,
        log: list[tuple[Activity, int]],
        taken: list[tuple[Slot, Intervals]] | None,
    ) -> None:
        """Go on to cycle ``until`` or to ``target`` written groups, whichever comes first, or to a standstill."""
        mark: _Mark | None = None
        change = state.cycle
        skipping = taken is None and not self._every_span
        while state.cycle < until and state.written < target:
            if state.cycle >= change:
                mark = None
            free = self._free(state.cycle)
            change = free.until
            activity, cycles = self._next(state, free)
            cycles = min(cycles, change - state.cycle, until - state.cycle)
            if cycles >= NEVER - state.cycle:
                return
            if taken is not None:
                self._publish(taken, state.cycle, cycles, activity)
            log.append((activity, cycles))
            if self._step(state, activity, cycles, free.extra) and skipping:
                mark = self._skip(state, mark, min(change, until), target, log)

    def _free(self, cycle: int) -> _Free:
        until = NEVER
        issue = []
        for port, rank in self._issue:
            left, change = port.free(rank, cycle)
            issue.append(left)
            until = min(until, change)
        write, change = self._write.port.free(self._write.rank, cycle)
        until = min(until, change)
        extra = 0
        if self._extra is not None:
            extra, change = self._extra.port.free(self._extra.rank, cycle)
            until = min(until, change)
        return _Free(extra, issue, write, until)

    def _next(self, state: _State, free: _Free) -> tuple[Activity, int]:
        """What happens in the present cycle, and for how many cycles it stays like that."""
        writing = state.written < state.read and free.write > 0
        cycles = state.writes if writing else NEVER
        reason = self._holds_reads(state, writing)
        if reason:
            return Activity(False, False, writing, reason), cycles
        extra = free.extra - (writing and self._writes_extra_port)
        if state.extras >= extra > 0:
            return Activity(True, False, writing, "port"), min(cycles, state.extras // extra)
        issue = all(
            left > (writing and shared) for left, shared in zip(free.issue, self._writes_issue_port, strict=True)
        )
        if issue and (extra > 0 or not state.extras):
            return Activity(True, True, writing, ""), min(cycles, state.issues)
        if state.extras and extra > 0:
            return Activity(True, False, writing, "port"), 1
        return Activity(False, False, writing, "port"), cycles

    def _holds_reads(self, state: _State, writing: bool) -> str:
        """Why the read stage may not go on, whatever its ports; nothing if it may.

        A queue that is full because the writes are denied their port is the port's doing.
        """
        through = state.read == self.groups
        if not through and state.read >= self.limit:
            return "flag"
        if through or state.read - state.written >= self._depth:
            return "fifo" if writing else "port"
        return ""

    def _step(self, state: _State, activity: Activity, cycles: int, extra: int) -> bool:
        """Carry ``cycles`` cycles of ``activity`` out; True when a group has been read."""
        done = False
        if activity.writing:
            state.writes -= cycles
            if not state.writes:
                state.written += 1
                if state.written < self.groups:
                    state.writes = self._costs[2][state.written]
        if activity.reading:
            if activity.issuing:
                state.extras = 0
                state.issues -= cycles
            else:
                state.extras -= min(state.extras, cycles * (extra - (activity.writing and self._writes_extra_port)))
            if not state.issues:
                state.read += 1
                done = True
                if state.read < self.groups:
                    state.extras, state.issues = self._costs[0][state.read], self._costs[1][state.read]
        state.cycle += cycles
        return done

    def _skip(
        self, state: _State, mark: _Mark | None, until: int, target: int, log: list[tuple[Activity, int]]
    ) -> _Mark:
        """Jump whole periods: the state now is as it was at ``mark``, some groups later, and so it will be again."""
        shape = (state.read - state.written, state.extras, state.issues, state.writes)
        if mark is not None and mark.shape == shape and state.written < self.groups:
            groups, period = state.read - mark.read, log[mark.logged :]
            cycles = sum(length for _, length in period)
            run = bisect_right(self._run_ends, state.written)
            same = run == bisect_right(self._run_ends, state.written - groups)
            last = min(self._run_ends[run], self.limit) - 1 if same else 0
            times = min(last - state.read, target - 1 - state.written) // groups
            times = min(times, (until - state.cycle) // cycles)
            if times > 0:
                log.extend([(activity, length * times) for activity, length in period])
                state.cycle += cycles * times
                state.read += groups * times
                state.written += groups * times
        return _Mark(shape, state.read, len(log))

    def _publish(self, taken: list[tuple[Slot, Intervals]], cycle: int, cycles: int, activity: Activity) -> None:
        for slot, intervals in taken:
            if activity.writing if slot is self._write else activity.issuing:
                intervals.append(cycle, cycle + cycles)

    def _loaded(self, state: _State) -> _State:
        state.extras, state.issues, state.writes = (column[0] for column in self._costs)
        return state
