"""A pipe's way, worked out: from one change to the next, over periods, and far ahead where nothing but
the accesses of one client matters.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from tilesim.sim.backlog import Backlog, backlog
from tilesim.sim.core.port import NEVER, Change, Intervals
from tilesim.sim.leap import Leap, Place, Sums, leap
from tilesim.sim.pipe.course import Activity, ActivitySpans, Costs, Limits, PipeForm, Slot, Totals

WORTH_A_LEAP = 8
"""Reads of a group on its own that are leapt over, if others may take some of its slots."""


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


class Steps:
    """How a pipe goes on from where it is. ``retold`` is where the last plan told a port something new."""

    def __init__(self, cycle: int, costs: Costs, form: PipeForm) -> None:
        self.groups = len(costs.issues)
        self.retold: list[tuple[Slot, Change]] = []
        self._limits = Limits(self.groups, self.groups)
        self._costs = costs.columns
        self._run_ends = costs.run_ends
        self._apart = costs.distances
        self._depth, self._delay = form.depth, form.delay
        self._read_every, self._write_every = form.read_every, form.write_every
        self._issue, self._extra, self._write = form.issue, form.extra, form.write
        self._writes_extra_port = form.extra is not None and form.extra.port is form.write.port
        self._writes_issue_port = tuple(slot.port is form.write.port for slot in form.issue)
        self._every_span = form.every_span
        self._totals = costs.totals if _leaps(costs, form) else None
        self._state = self._loaded(_State(cycle))
        self._planned: tuple[_State, _Log] | None = None
        self._happened: list[_Stretch] = []

    @property
    def written(self) -> int:
        """Groups that have been written."""
        return self._state.written

    @property
    def cycle(self) -> int:
        """Up to when everything has happened."""
        return self._state.cycle

    def advance(self, cycle: int, limits: Limits) -> None:
        """Let everything happen that happens before ``cycle``."""
        self._limits = limits
        if self._planned is not None and self._planned[0].cycle == cycle:
            state, log = self._planned
        else:
            state, log = self._state.copy(), []
            self._run(state, cycle, self.groups, log, self._totals)
        self._planned = None
        self._state = state
        self._happened += [stretch if isinstance(stretch, _Stretch) else _in_sum(stretch) for stretch in log]

    def spent(self) -> Totals:
        """What has happened since somebody asked last, ended last what comes last, unless the form has every span."""
        totals: dict[Activity, int] = {}
        for steps, times in self._happened:
            for activity, cycles in steps:
                totals[activity] = totals.pop(activity, 0) + cycles * times
        self._happened = []
        return totals.items()

    def spans(self) -> ActivitySpans:
        """What has happened since somebody asked last, in order, if the form has every span."""
        stretches, self._happened = self._happened, []
        activities = tuple(dict.fromkeys(activity for stretch in stretches for activity, _ in stretch.steps))
        place = {activity: k for k, activity in enumerate(activities)}
        columns = [np.zeros((2, 0), np.int64)]
        for steps, times in stretches:
            once = [[place[activity] for activity, _ in steps], [cycles for _, cycles in steps]]
            columns.append(np.tile(np.array(once, np.int64), times))
        which, cycles = np.concatenate(columns, axis=1)
        return ActivitySpans(activities, which, cycles)

    def forget(self) -> None:
        """What was planned won't happen like that."""
        self._planned = None

    def plan(self, target: int, limits: Limits, publish: Sequence[Slot]) -> int | None:
        """When ``target`` groups will have been written; the ports in ``publish`` are told all accesses to come."""
        self._limits = limits
        state = self._state.copy()
        log: _Log = []
        self._run(state, NEVER, target, log, None if publish else self._totals)
        self._planned = (state, log)
        reached = state.written >= target
        if publish:
            rest: _Log = []
            self._run(state.copy(), NEVER, self.groups, rest)
            changes = [(slot, self._publish(slot, log + rest)) for slot in publish]
            self.retold = [(slot, change) for slot, change in changes if change is not Change.NONE]
        return state.cycle if reached else None

    def _run(self, state: _State, until: int, target: int, log: _Log, totals: Sums | None = None) -> None:
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

    def _leap(self, state: _State, until: int, target: int, totals: Sums, log: _Log) -> bool:
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
        ahead = far(totals, place, state.cycle, min(until, change), last, others)
        if ahead is None:
            return False
        log.append(ahead)
        state.cycle = ahead.until
        state.read, state.written, state.extras, state.issues, state.writes = ahead.end
        return True

    def _leap_end(self, state: _State, target: int, totals: Sums) -> int:
        """Up to which group reads needn't look at the queue; 0 if they have to now."""
        unwritten = state.read - state.written
        if unwritten > 1 or (unwritten and state.writes > state.extras + state.issues):
            return 0
        if state.read == self.groups or (self._apart is not None and unwritten >= self._apart[state.read]):
            return 0
        return min(totals.end(state.read), self._limits.read, self._limits.write, target)

    def _backlog_end(self, state: _State, target: int) -> int:
        """Up to which group a queue that is full now may be filled again, if the writes that are asked for allow it.

        Behind the last group before a limit, reads wait for a flag, no longer for the queue.
        """
        if state.read == self.groups or self._depth == 1:
            return 0
        if self._costs[0][state.read] + self._costs[1][state.read] > self._costs[2][state.written + 1]:
            return 0
        written = min(self._limits.write, target) - 1
        held = self._limits.read < self.groups
        return min(state.read + written - state.written, self._limits.read - held, self.groups)

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
        changes = sorted(((*taken.at(cycle), k) for k, (_, taken) in enumerate(above)), key=itemgetter(1))
        first = None
        if changes:
            port, taken = above[changes[0][2]]
            issues = [slot.port for slot in self._issue]
            if port in issues and (not extras or (self._extra is not None and port is self._extra.port)):
                first = taken
                changes = changes[1:]
        if any(is_taken for is_taken, _, _ in changes):
            return None
        return first, min(until, changes[0][1]) if changes else until

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
        if state.read < self.groups and state.read >= self._limits.read:
            return "flag"
        unwritten = state.read - state.written
        if state.read == self.groups or unwritten >= self._depth:
            return "fifo"
        return "hazard" if self._apart is not None and unwritten >= self._apart[state.read] else ""

    def _holds_writes(self, state: _State) -> str:
        """What the write stage waits for, whatever its port."""
        if state.written >= self._limits.write:
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
            groups, since = state.read - mark.read, log[mark.logged :]
            period = tuple(step for stretch in since if isinstance(stretch, _Stretch) for step in stretch.steps)
            cycles = sum(length for _, length in period)
            run = bisect_right(self._run_ends, state.written)
            same = run == bisect_right(self._run_ends, state.written - groups)
            last = min(self._run_ends[run], self._limits.read) - 1 if same else 0
            times = min(last - state.read, min(target, self._limits.write) - 1 - state.written) // groups
            times = min(times, (until - state.cycle) // cycles)
            if times > 0:
                log.append(_Stretch(period, times))
                state.cycle += cycles * times
                state.read += groups * times
                state.written += groups * times
                state.arrivals = tuple(arrival + cycles * times for arrival in state.arrivals)
        return _Mark(shape, state.read, len(log))

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


def _leaps(costs: Costs, form: PipeForm) -> bool:
    """Whether leaps and backlogs may be of use, and are true of such a pipe."""
    ports = {slot.port for slot in (*form.issue, *([] if form.extra is None else [form.extra]))}
    alone = form.delay == 0 and form.read_every == form.write_every == 1 and form.depth > 1
    simple = alone and form.write.port not in ports and not form.every_span
    return simple and not costs.single and all(port.capacity == 1 for port in ports)


def _in_sum(stretch: Leap | Backlog) -> _Stretch:
    """What a leap did for how long."""
    return _Stretch(tuple((Activity(*what), cycles) for what, cycles in stretch.spans()), 1)
