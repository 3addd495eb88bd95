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

Nobody steps cycles: what both stages do in a cycle lasts until either is through with a group, something in the queue
has aged, or somebody else takes or leaves a port. Once the pattern repeats, whole periods are passed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct

from tilesim.sim.core.port import NEVER, Intervals, Slot
from tilesim.sim.pipe.costs import Costs
from tilesim.sim.pipe.course import Activity, Charges, PipeForm, Stretch, charge


class _State(Struct):
    """Where a pipe stands at the start of cycle ``cycle``: groups read and written, what is left of the present ones,
    and when those that were read but can't be written yet can.
    """

    cycle: int
    extras: int
    issues: int
    writes: int
    read: int = 0
    written: int = 0
    arrivals: tuple[int, ...] = ()

    def copy(self) -> _State:
        """Several times faster than :func:`dataclasses.replace`."""
        return _State(self.cycle, self.extras, self.issues, self.writes, self.read, self.written, self.arrivals)


class _Free(NamedTuple):
    """Accesses left to an extra read and to a write; whether an issue read has its own, also beside a write; and until
    when that stays so.
    """

    extra: int
    write: int
    issue: bool
    issue_beside: bool
    until: int


class _Mark(NamedTuple):
    """The state when a group had just been read: its shape, the groups read, and the length of the log."""

    shape: tuple[int, ...]
    read: int
    logged: int


class Pipe:
    """One instruction's groups on their way; see the module's docstring for the timing.

    Flags may hold both stages: groups from ``limit`` on are not read, those from ``write_limit`` on not written.
    ``move(first, end)`` carries the data of groups that have been written, in order. ``charges`` says which accounts
    the cycles of an activity belong to; they are charged when that may change, and at the end.
    """

    def __init__(
        self, cycle: int, costs: Costs, form: PipeForm, move: Callable[[int, int], None], charges: Charges
    ) -> None:
        self.groups = self.limit = self.write_limit = self.target = len(costs.issues)
        self.slots = form.slots
        self.shares_port = any(slot.port is form.write.port for slot in self.slots if slot is not form.write)
        """Whether it writes where it reads, so that a write that comes later lets a read come earlier."""
        self._move, self._charges = move, charges
        self._costs, self._run_ends, self._apart = costs.columns, costs.run_ends, costs.distances
        self._depth, self._delay = form.depth, form.delay
        self._read_every, self._write_every = form.read_every, form.write_every
        self._issue, self._extra, self._write = form.issue, form.extra, form.write
        self._writes_extra_port = form.extra is not None and form.extra.port is form.write.port
        extras, issues, writes = (column[0] for column in self._costs)
        self._state = _State(cycle, extras, issues, writes)
        self._planned: tuple[_State, list[Stretch]] | None = None
        self._happened: list[Stretch] = []
        self._delivered = 0

    @property
    def written(self) -> int:
        """Groups that have been written."""
        return self._state.written

    def hold(self, cycle: int, limit: int) -> None:
        """From ``cycle`` on, groups from ``limit`` on are not read; what came before stays as it was."""
        self.advance(cycle)
        self.limit = limit

    def hold_writes(self, cycle: int, limit: int) -> None:
        """From ``cycle`` on, groups from ``limit`` on are not written; what came before stays as it was."""
        self.advance(cycle)
        self.charge()
        self.write_limit = limit

    def advance(self, cycle: int) -> None:
        """Let everything happen that happens before ``cycle``; data follow in :meth:`deliver`."""
        if self._state.cycle == cycle:
            return
        if self._planned is not None and self._planned[0].cycle == cycle:
            self._state, log = self._planned
        else:
            log = self._run(self._state, cycle, self.groups)
        self._planned = None
        self._happened += log

    def charge(self) -> None:
        """Account for every cycle that has happened."""
        charge(self._happened, self._charges)
        self._happened = []

    def deliver(self) -> None:
        """Carry the data of what has been written. Nobody may look at them before somebody hears of it."""
        if self.written > self._delivered:
            first, self._delivered = self._delivered, self.written
            self._move(first, self.written)
        if self.written == self.groups:
            self.charge()

    def plan(self) -> int | None:
        """When ``target`` groups will have been written, if nothing changes; None: never."""
        state = self._state.copy()
        self._planned = state, self._run(state, NEVER, self.target)
        return state.cycle if state.written >= self.target else None

    def forget_plan(self) -> None:
        """What was planned won't happen like that: somebody has taken an access."""
        self._planned = None

    def accesses(self, slots: Sequence[Slot]) -> Iterator[tuple[Slot, Intervals]]:
        """All that will be done at each of the ``slots``, as has just been planned, for the clients below. Extra reads
        are not among them: a pipe that has some, or that writes where it reads, must be the lowest client of that port.
        """
        if slots and self._planned is not None:
            state, log = self._planned
            log = [*log, *self._run(state.copy(), NEVER, self.groups)]
            yield from ((slot, self._taken(log, slot == self._write)) for slot in slots)

    def _taken(self, log: list[Stretch], writing: bool) -> Intervals:
        """The cycles of ``log`` in which either stage has its ports."""
        taken, start = Intervals(), self._state.cycle
        for steps, times in log:
            pattern, at = Intervals(), 0
            for activity, cycles in steps:
                if activity.accesses_write if writing else activity.accesses_reads:
                    pattern.append(at, at + cycles)
                at += cycles
            taken.repeat(pattern, start, at, times)
            start += at * times
        return taken

    def _run(self, state: _State, until: int, target: int) -> list[Stretch]:
        """Go on to cycle ``until`` or to ``target`` written groups, whichever comes first, or to a standstill; what
        happens.
        """
        log: list[Stretch] = []
        mark: _Mark | None = None
        change = state.cycle
        while state.cycle < until and state.written < target:
            if state.cycle >= change:
                mark = None
                free = self._free(state.cycle)
                change = free.until
            activity, cycles = self._next(state, free)
            cycles = min(cycles, change - state.cycle, until - state.cycle)
            if cycles >= NEVER - state.cycle:
                break
            log.append((((activity, cycles),), 1))
            if self._step(state, activity, cycles, free.extra):
                mark = self._skip(state, mark, min(change, until), target, log)
        return log

    def _free(self, cycle: int) -> _Free:
        write, until = self._write.port.free(self._write.rank, cycle)
        issue = issue_beside = True
        for slot in self._issue:
            left, change = slot.port.free(slot.rank, cycle)
            issue = issue and left > 0
            issue_beside = issue_beside and left > (slot.port is self._write.port)
            until = min(until, change)
        extra = 0
        if self._extra is not None:
            extra, change = self._extra.port.free(self._extra.rank, cycle)
            until = min(until, change)
        return _Free(extra, write, issue, issue_beside, until)

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
            elif (extra > 0 or not state.extras) and (
                not reads_access or (free.issue_beside if claims else free.issue)
            ):
                reading = issuing = True
                cycles = min(cycles, state.issues)
            elif state.extras and extra > 0:
                reading, cycles = True, 1
            reads_wait = "" if issuing else "port"
        return Activity(reading, issuing, writing, reads_wait, writes_wait, reads_access, writes_access), cycles

    def _holds_reads(self, state: _State) -> str:
        """What the read stage waits for, whatever its ports; nothing if it may go on."""
        if self.limit <= state.read < self.groups:
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
            extra -= activity.accesses_write and self._writes_extra_port
            state.extras -= min(state.extras, cycles * extra)
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

    def _skip(self, state: _State, mark: _Mark | None, until: int, target: int, log: list[Stretch]) -> _Mark | None:
        """Jump whole periods: the state now is as it was at ``mark``, some groups later, and so it will be again."""
        if state.read % max(self._read_every, self._write_every):
            return mark
        ages = (arrival - state.cycle for arrival in state.arrivals)
        shape = (state.read - state.written, state.extras, state.issues, state.writes, *ages)
        if mark is not None and mark.shape == shape and state.written < self.groups:
            groups = state.read - mark.read
            period = tuple(step for steps, _ in log[mark.logged :] for step in steps)
            cycles = sum(length for _, length in period)
            run = bisect_right(self._run_ends, state.written)
            same = run == bisect_right(self._run_ends, state.written - groups)
            last = min(self._run_ends[run], self.limit) - 1 if same else 0
            times = min(last - state.read, min(target, self.write_limit) - 1 - state.written) // groups
            times = min(times, (until - state.cycle) // cycles)
            if times > 0:
                log.append((period, times))
                state.cycle += cycles * times
                state.read += groups * times
                state.written += groups * times
                state.arrivals = tuple(arrival + cycles * times for arrival in state.arrivals)
        return _Mark(shape, state.read, len(log))
