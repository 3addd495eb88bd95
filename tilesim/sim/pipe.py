"""Groups of memory accesses on their way through an engine: read, queue, write.

Every engine that moves data between memories has this shape. A tensor control reads the operands of a result group,
queues the results, writes them; a DMA reads words, queues a row, writes it, or the reverse; a mesh link reads words in
one tile and writes them in another.

Timing, cycle by cycle. The read stage takes one group after the other: first its *extra* reads (parameters, partial
sums; wide port only), then its *issue* reads. It may start group g once fewer than ``depth`` groups that it started
before are unwritten. The write stage takes a group ``delay`` cycles after all its reads are done. Either goes on in
each cycle in which its ports have an access left; extra reads take all that theirs has left; the last extra and the
first issue read share a cycle only if the extra reads' port has an access left for both. So the end of reading of group
g is the L-th free slot after max(end of reading g - 1, end of writing g - depth), and the end of writing the W-th free
slot after max(end of reading g + delay, end of writing g - 1).

A group that reads what one shortly before it writes is a hazard: its reads wait until that one has been written. Where
several groups make up one access (words of a row that passes through a register), only the first of them reads it, and
only the last one writes it: the others need no port.

The arithmetic below jumps from one change to the next instead of stepping cycles, and over whole periods once the
pattern repeats.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tilesim.sim.backlog import Backlog, backlog
from tilesim.sim.leap import Leap, Place, Totals, leap
from tilesim.sim.port import NEVER, Change, Intervals, Port

Counts = NDArray[np.int64]

WORTH_A_LEAP = 8
"""Reads of a group on its own that are leapt over, if others may take some of its slots."""


class Activity(NamedTuple):
    """What both stages do in a cycle, and what one that does nothing waits for.

    That is a ``flag``, the queue (``fifo``: for the reads a place in it, for the writes something in it), for the reads
    a ``hazard``, or a ``port``. ``reads_wait`` is about issue reads: it is also there while extra reads go on.
    ``read_access`` and ``write_access``: an issue read or a write of this cycle would need its ports.
    """

    reading: bool
    issuing: bool
    writing: bool
    reads_wait: str
    writes_wait: str
    read_access: bool = True
    write_access: bool = True

    @property
    def reason(self) -> str:
        """Why the read stage does not issue; that a queue stays full is the doing of what the writes wait for."""
        return self.writes_wait or "fifo" if self.reads_wait == "fifo" else self.reads_wait


class Slot(NamedTuple):
    """A port and the rank with which a stage asks for it."""

    port: Port
    rank: int


@dataclass(frozen=True)
class Costs:
    """Cycles that each group takes: ``extras`` and ``issues`` reads, ``writes`` writes, one array element a group.

    ``apart``: how far before each group the last one stands that writes what it reads; None if there are none. Pipes
    that have the same costs share what is derived from them.
    """

    extras: Counts
    issues: Counts
    writes: Counts
    apart: Counts | None = None

    @cached_property
    def columns(self) -> tuple[list[int], list[int], list[int]]:
        """Extras, issues and writes."""
        return self.extras.tolist(), self.issues.tolist(), self.writes.tolist()

    @cached_property
    def distances(self) -> list[int] | None:
        """``apart``."""
        return None if self.apart is None else self.apart.tolist()

    @cached_property
    def run_ends(self) -> list[int]:
        """Where runs of equally costly groups end."""
        changes = self.issues[1:] != self.issues[:-1]
        for column in (self.extras, self.writes, *([] if self.apart is None else [self.apart])):
            changes |= column[1:] != column[:-1]
        return [*(np.flatnonzero(changes) + 1).tolist(), len(self.issues)]

    @cached_property
    def single(self) -> bool:
        """Whether no group takes more than an access at either end."""
        return not self.extras.any() and bool(self.issues.max() == 1 and self.writes.max() == 1)

    @cached_property
    def totals(self) -> Totals:
        return Totals(self.extras, self.issues, self.writes, self.apart)


class _Stretch(NamedTuple):
    """Activities, each for some cycles, one after the other, and all of them ``times`` times."""

    steps: tuple[tuple[Activity, int], ...]
    times: int


_Log = list[_Stretch | Leap | Backlog]


@dataclass
class _State:
    """Where a pipe stands at the start of cycle ``cycle``: groups read and written, what is left of the present ones,
    and when those that were read but can't be written yet can.
    """

    cycle: int
    read: int = 0
    written: int = 0
    extras: int = 0
    issues: int = 0
    writes: int = 0
    arrivals: tuple[int, ...] = ()

    def copy(self) -> _State:
        """Several times faster than :func:`dataclasses.replace`."""
        return _State(self.cycle, self.read, self.written, self.extras, self.issues, self.writes, self.arrivals)


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
    write. Of ``read_every`` groups the first needs the ports of its issue reads, of ``write_every`` the last that of
    its writes; both are powers of two. Flags may hold both stages: groups from ``limit`` on are not read, those from
    ``write_limit`` on not written. ``move(first, end)`` carries the data of groups that have been written, in order.
    ``book(activity, cycles)`` is called with every cycle from the start on; in order if ``every_span``.
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
        delay: int = 0,
        read_every: int = 1,
        write_every: int = 1,
        every_span: bool = False,
    ) -> None:
        self.groups = len(costs.issues)
        self.limit = self.groups
        self.write_limit = self.groups
        self.target = self.groups
        self.slots = (*issue, write, *([] if extra is None else [extra]))
        self._costs = costs.columns
        self._run_ends = costs.run_ends
        self._apart = costs.distances
        self._depth, self._delay = depth, delay
        self._read_every, self._write_every = read_every, write_every
        self._issue, self._extra, self._write = issue, extra, write
        self._writes_extra_port = extra is not None and extra.port is write.port
        self._writes_issue_port = tuple(slot.port is write.port for slot in issue)
        self._move, self._book = move, book
        self._every_span = every_span
        ports = {slot.port for slot in self.slots if slot is not write}
        alone = delay == 0 and read_every == write_every == 1 and depth > 1 and write.port not in ports
        leaps = alone and not costs.single and not every_span and all(port.capacity == 1 for port in ports)
        self._totals = costs.totals if leaps else None
        self._state = self._loaded(_State(cycle))
        self._planned: tuple[_State, _Log] | None = None
        self._delivered = 0
        self.retold: list[tuple[Slot, Change]] = []

    @property
    def shares_port(self) -> bool:
        """Whether it writes where it reads, so that a write that comes later lets a read come earlier."""
        return self._writes_extra_port or any(self._writes_issue_port)

    @property
    def written(self) -> int:
        return self._state.written

    @property
    def cycle(self) -> int:
        """Up to when everything has happened: it won't ask for what others did before."""
        return self._state.cycle

    def hold(self, cycle: int, limit: int) -> None:
        """From ``cycle`` on, groups from ``limit`` on are not read; what came before stays as it was."""
        self.advance(cycle)
        self.limit = limit

    def hold_writes(self, cycle: int, limit: int) -> None:
        """From ``cycle`` on, groups from ``limit`` on are not written; what came before stays as it was."""
        self.advance(cycle)
        self.write_limit = limit

    def advance(self, cycle: int) -> None:
        """Let everything happen that happens before ``cycle``; data follow in :meth:`deliver`."""
        if self._state.cycle == cycle:
            return
        if self._planned is not None and self._planned[0].cycle == cycle:
            state, log = self._planned
        else:
            state, log = self._state.copy(), []
            self._run(state, cycle, self.groups, log, self._totals)
        self._planned = None
        self._state = state
        for activity, cycles in self._spans(log):
            if cycles:
                self._book(activity, cycles)

    def deliver(self) -> None:
        """Carry the data of what has been written. Nobody may look at them before somebody hears of it."""
        if self._state.written > self._delivered:
            self._move(self._delivered, self._state.written)
            self._delivered = self._state.written

    def forget_plan(self) -> None:
        """What was planned won't happen like that: somebody has taken an access."""
        self._planned = None

    def plan(self, publish: Sequence[Slot] = ()) -> int | None:
        """When ``target`` groups will have been written, if nothing changes; None: never.

        The ports in ``publish`` are told all accesses to come, for the clients below; ``retold`` says where that is
        something new. Extra reads are not among them: a pipe that has some, or that writes where it reads, must be the
        lowest client of that port.
        """
        state = self._state.copy()
        log: _Log = []
        self._run(state, NEVER, self.target, log, None if publish else self._totals)
        self._planned = (state, log)
        reached = state.written >= self.target
        if publish:
            rest: _Log = []
            self._run(state.copy(), NEVER, self.groups, rest)
            changes = [(slot, self._publish(slot, log + rest)) for slot in publish]
            self.retold = [(slot, change) for slot, change in changes if change is not Change.NONE]
        return state.cycle if reached else None

    def _run(self, state: _State, until: int, target: int, log: _Log, totals: Totals | None = None) -> None:
        """Go on to cycle ``until`` or to ``target`` written groups, whichever comes first, or to a standstill; leap if
        there are ``totals`` to do it with.
        """
        mark: _Mark | None = None
        change = state.cycle
        while state.cycle < until and state.written < target:
            if totals and self._leap(state, until, target, totals, log):
                change = state.cycle
                continue
            if state.cycle >= change:
                mark = None
                free = self._free(state.cycle)
                change = free.until
            activity, cycles = self._next(state, free)
            cycles = min(cycles, change - state.cycle, until - state.cycle)
            if cycles >= NEVER - state.cycle:
                return
            log.append(_Stretch(((activity, cycles),), 1))
            if self._step(state, activity, cycles, free.extra):
                mark = self._skip(state, mark, min(change, until), target, log)

    def _leap(self, state: _State, until: int, target: int, totals: Totals, log: _Log) -> bool:
        """Go far in one step, past all accesses of one client, if either stage keeps the other from ever waiting."""
        unwritten, left = state.read - state.written, state.extras + state.issues
        full = unwritten >= self._depth
        last = self._backlog_end(state, target) if full else self._leap_end(state, target, totals)
        if last < state.read + (2 if full or left < WORTH_A_LEAP else 1):
            return False
        alone = self._alone(state.cycle, totals.extras_left(state.read, state.extras))
        if alone is None:
            return False
        others, change = alone
        if others is None and last == state.read + 1:
            return False
        place = Place(state.read, state.written, state.extras, state.issues, state.writes)
        far = backlog if full else leap
        found = far(totals, place, state.cycle, min(until, change), last, others)
        if found is None:
            return False
        log.append(found)
        state.cycle = found.until
        state.read, state.written, state.extras, state.issues, state.writes = found.end
        return True

    def _leap_end(self, state: _State, target: int, totals: Totals) -> int:
        """Up to which group reads needn't look at the queue; 0 if they have to now."""
        unwritten = state.read - state.written
        if unwritten > 1 or (unwritten and state.writes > state.extras + state.issues):
            return 0
        if state.read == self.groups or (self._apart is not None and unwritten >= self._apart[state.read]):
            return 0
        return min(totals.end(state.read), self.limit, self.write_limit, target)

    def _backlog_end(self, state: _State, target: int) -> int:
        """Up to which group a queue that is full now may be filled again, if the writes that are asked for allow it."""
        if state.read == self.groups or self._depth == 1:
            return 0
        if self._costs[0][state.read] + self._costs[1][state.read] > self._costs[2][state.written + 1]:
            return 0
        written = min(self.write_limit, target) - 1
        return min(state.read + written - state.written, self.limit, self.groups)

    def _alone(self, cycle: int, extras: bool) -> tuple[Intervals | None, int] | None:
        """Who is the first to take or to leave the read ports, and until when nobody else does or wants to write.

        None if somebody else does now. If there are ``extras`` to come, others must keep them and issues from their
        ports alike.
        """
        write, until = self._write.port.free(self._write.rank, cycle)
        if not write:
            return None
        slots = {slot.port: slot for slot in (*self._issue, *([self._extra] if extras and self._extra else []))}
        above = [(port, taken) for port, slot in slots.items() for taken in port.above(slot.rank, cycle)]
        found = sorted(((*taken.at(cycle), k) for k, (_, taken) in enumerate(above)), key=itemgetter(1))
        first = None
        if found:
            port, taken = above[found[0][2]]
            issues = [slot.port for slot in self._issue]
            if port in issues and (not extras or (self._extra is not None and port is self._extra.port)):
                first = taken
                found = found[1:]
        if any(is_taken for is_taken, _, _ in found):
            return None
        return first, min(until, found[0][1]) if found else until

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
        reads_access = self._read_every == 1 or state.read % self._read_every == 0
        writes_access = self._write_every == 1 or state.written % self._write_every == self._write_every - 1
        writes_wait = self._holds_writes(state) or ("" if free.write or not writes_access else "port")
        writing = not writes_wait
        cycles = state.writes if writing else NEVER
        if state.arrivals:
            cycles = min(cycles, state.arrivals[0] - state.cycle)
        reading = issuing = False
        reads_wait = self._holds_reads(state)
        if not reads_wait:
            claims = writing and writes_access
            extra = free.extra - (claims and self._writes_extra_port)
            if state.extras >= extra > 0:
                reading, cycles = True, min(cycles, state.extras // extra)
            elif (extra > 0 or not state.extras) and (not reads_access or self._may_issue(free, claims)):
                reading = issuing = True
                cycles = min(cycles, state.issues)
            elif state.extras and extra > 0:
                reading, cycles = True, 1
            reads_wait = "" if issuing else "port"
        return Activity(reading, issuing, writing, reads_wait, writes_wait, reads_access, writes_access), cycles

    def _may_issue(self, free: _Free, writing: bool) -> bool:
        for left, shared in zip(free.issue, self._writes_issue_port, strict=True):
            if left <= (writing and shared):
                return False
        return True

    def _holds_reads(self, state: _State) -> str:
        """What the read stage waits for, whatever its ports; nothing if it may go on."""
        if state.read < self.groups and state.read >= self.limit:
            return "flag"
        unwritten = state.read - state.written
        if state.read == self.groups or unwritten >= self._depth:
            return "fifo"
        return "hazard" if self._apart is not None and unwritten >= self._apart[state.read] else ""

    def _holds_writes(self, state: _State) -> str:
        """What the write stage waits for, whatever its port."""
        if state.written >= self.write_limit:
            return "flag"
        return "" if state.written < state.read - len(state.arrivals) else "fifo"

    def _step(self, state: _State, activity: Activity, cycles: int, extra: int) -> bool:
        """Carry ``cycles`` cycles of ``activity`` out; True when a group has been read."""
        state.cycle += cycles
        if activity.writing:
            state.writes -= cycles
            if not state.writes:
                state.written += 1
                if state.written < self.groups:
                    state.writes = self._costs[2][state.written]
        done = False
        if activity.issuing:
            state.extras = 0
            state.issues -= cycles
            done = not state.issues
        elif activity.reading:
            claims = activity.writing and activity.write_access
            state.extras -= min(state.extras, cycles * (extra - (claims and self._writes_extra_port)))
        if done:
            self._queue(state)
        if state.arrivals and state.arrivals[0] == state.cycle:
            state.arrivals = state.arrivals[1:]
        return done

    def _queue(self, state: _State) -> None:
        """A group has been read."""
        state.read += 1
        if self._delay:
            state.arrivals = (*state.arrivals, state.cycle + self._delay)
        if state.read < self.groups:
            state.extras, state.issues = self._costs[0][state.read], self._costs[1][state.read]

    def _skip(self, state: _State, mark: _Mark | None, until: int, target: int, log: _Log) -> _Mark | None:
        """Jump whole periods: the state now is as it was at ``mark``, some groups later, and so it will be again."""
        if state.read % max(self._read_every, self._write_every):
            return mark
        ages = (arrival - state.cycle for arrival in state.arrivals)
        shape = (state.read - state.written, state.extras, state.issues, state.writes, *ages)
        if mark is not None and mark.shape == shape and state.written < self.groups:
            groups, period = (
                state.read - mark.read,
                tuple(
                    step for stretch in log[mark.logged :] if isinstance(stretch, _Stretch) for step in stretch.steps
                ),
            )
            cycles = sum(length for _, length in period)
            run = bisect_right(self._run_ends, state.written)
            same = run == bisect_right(self._run_ends, state.written - groups)
            last = min(self._run_ends[run], self.limit) - 1 if same else 0
            times = min(last - state.read, min(target, self.write_limit) - 1 - state.written) // groups
            times = min(times, (until - state.cycle) // cycles)
            if times > 0:
                log.append(_Stretch(period, times))
                state.cycle += cycles * times
                state.read += groups * times
                state.written += groups * times
                state.arrivals = tuple(arrival + cycles * times for arrival in state.arrivals)
        return _Mark(shape, state.read, len(log))

    def _spans(self, log: _Log) -> Iterator[tuple[Activity, int]]:
        """How long each activity lasted; cycles of one that comes back are joined if their order doesn't matter."""
        for stretch in log:
            if not isinstance(stretch, _Stretch):
                yield from ((Activity(*what), cycles) for what, cycles in stretch.spans())
                continue
            steps, times = stretch
            if self._every_span and len(steps) > 1:
                yield from steps * times
            else:
                yield from ((activity, cycles * times) for activity, cycles in steps)

    def _publish(self, slot: Slot, log: _Log) -> Change:
        taken, start = Intervals(), self._state.cycle
        for stretch in log:
            assert isinstance(stretch, _Stretch)
            steps, times = stretch
            pattern, at = Intervals(), 0
            for activity, cycles in steps:
                used = activity.writing and activity.write_access, activity.issuing and activity.read_access
                if used[slot != self._write]:
                    pattern.append(at, at + cycles)
                at += cycles
            taken.repeat(pattern, start, at, times)
            start += at * times
        return slot.port.taken[slot.rank].replace(self._state.cycle, taken)

    def _loaded(self, state: _State) -> _State:
        state.extras, state.issues, state.writes = (column[0] for column in self._costs)
        return state
