"""What a run waited for from its beginning to its end: from its last span backwards, each time to what let it begin."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tilesim.registry import description_of
from tilesim.report.analysis.dependences import Dependences
from tilesim.report.tracks import role
from tilesim.sim.core.unit import BUSY
from tilesim.sim.trace.trace import Trace
from tilesim.statistics import RunStatistics

Words = NDArray[np.int64]
Numbers = NDArray[np.int32]

ON_ITS_WAY = "on its way"
"""A kind of steps: what a unit has sent has not come to the one that it sets to work."""
NOT_RECORDED = "not recorded"
"""A kind of steps: no span says what the run waited for."""
NO_SPAN = -1
NOBODY = -1
"""The place of no track, no layer, no instruction."""

DEFINITION = (
    "From the last cycle of the run backwards: while a unit is busy, the path is its work; where it waited, the path "
    "goes on at the unit that let it go on; where it was idle, at the one that set it to work. Each cycle of the run "
    "belongs to one step, so the shares add up to the run. To make a step faster shortens the run at most as much, "
    "until another chain of work is the longest."
)


@dataclass(frozen=True)
class CriticalPath:
    """Steps in the order of time, each a part of what the run waited for; they follow each other without a gap from
    cycle 0 to the run's last.
    """

    tracks: tuple[str, ...]
    """The trace's."""
    kinds: tuple[str, ...]
    """The trace's, then :data:`ON_ITS_WAY` and :data:`NOT_RECORDED`."""
    span: Numbers
    """The place of a step's span in the trace; -1 of what no span is of."""
    track: Numbers
    """The place of its unit in ``tracks``: of what is on its way, the unit that has sent it; -1 if there is none."""
    start: Words
    """Its first cycle, counted from the beginning of the run."""
    cycles: Words
    """How many it takes."""
    kind: Numbers
    """Its place in ``kinds``."""
    what: Numbers
    """The place of its instruction in the trace's ``whats``; -1 if there is none."""
    layer: Numbers
    """The place of its layer in the trace's ``layers``; -1 if there is none."""

    def within(self, cycles: range) -> Words:
        """How many cycles of each step lie in a range."""
        ends = np.minimum(self.start + self.cycles, cycles.stop)
        inside: Words = np.maximum(ends - np.maximum(self.start, cycles.start), 0)
        return inside


class Share(NamedTuple):
    """What some units, by their role in words, did on the path, and for how long."""

    units: str
    kind: str
    cycles: int


def critical_path(statistics: RunStatistics, trace: Trace) -> CriticalPath:
    """The steps that end with the run's last work.

    A stall that something let end goes on there, at its end or the stall's, whichever is earlier; a stall of which
    nobody knows what let it end is a step itself. What nobody recorded is :data:`NOT_RECORDED`.

    Source: C.-Q. Yang, B. P. Miller, "Critical path analysis for the execution of parallel and distributed programs",
    ICDCS 1988, for the idea; who set an idle unit to work is an assumption of each machine's description.
    """
    dependences = Dependences(trace.tracks, description_of(statistics["machine"]).dependences)
    walk = _Walk(trace, statistics["cycles"], dependences)
    steps = np.array(list(walk.steps())[::-1], np.int64).reshape(-1, 6)
    span, track, start, end, kind, what = steps.T
    numbers = (column.astype(np.int32) for column in (span, track, kind, what))
    of_span, of_track, of_kind, of_what = numbers
    layers = np.append(trace.layer_of, np.int32(NOBODY))  # whose last is that of no instruction
    kinds = (*trace.kinds, ON_ITS_WAY, NOT_RECORDED)
    return CriticalPath(trace.tracks, kinds, of_span, of_track, start, end - start, of_kind, of_what, layers[of_what])


def shares(statistics: RunStatistics, path: CriticalPath, cycles: range | None = None) -> list[Share]:
    """The cycles of the path in a range (None: all) by what units are and what they did, the most first; they add up
    to the range's.
    """
    spent = path.cycles if cycles is None else path.within(cycles)
    pairs = path.track.astype(np.int64) * len(path.kinds) + path.kind
    words = roles_of(statistics, path)
    sums: Counter[tuple[str, str]] = Counter()
    for pair, count in zip(*_summed(pairs, spent), strict=True):
        track, kind = divmod(pair, len(path.kinds))
        sums[words[track], path.kinds[kind]] += count
    return sorted((Share(*of, count) for of, count in sums.items()), key=lambda share: (-share.cycles, share[:2]))


def roles_of(statistics: RunStatistics, path: CriticalPath) -> Mapping[int, str]:
    """What each track is, in words, by its place."""
    description = description_of(statistics["machine"])
    return {NOBODY: "no unit"} | {k: role(track, description).words for k, track in enumerate(path.tracks)}


def layer_shares(path: CriticalPath) -> dict[int, int]:
    """The cycles of the path by the layer that they are for, -1: none."""
    return dict(zip(*_summed(path.layer, path.cycles), strict=True))


def _summed(keys: NDArray[np.signedinteger], cycles: Words) -> tuple[list[int], list[int]]:
    """Each of the ``keys`` that has any cycles, once, and the sum of its cycles."""
    distinct, place = np.unique(keys, return_inverse=True)
    sums = np.bincount(place, cycles, len(distinct)).astype(np.int64)
    return distinct[sums > 0].tolist(), sums[sums > 0].tolist()


class _Step(NamedTuple):
    span: int
    track: int
    start: int
    end: int
    kind: int
    what: int


class _Place(NamedTuple):
    """What ``span`` was at before cycle ``now``: it begins before it."""

    span: int
    now: int


class _Walk:
    """The way back through a trace, step by step: of its spans only those of the path are looked at."""

    def __init__(self, trace: Trace, cycles: int, dependences: Dependences) -> None:
        start = trace.start_cycle.astype(np.int64) - trace.start
        end = start + trace.cycles
        busy = trace.kind == (trace.kinds.index(BUSY) if BUSY in trace.kinds else NO_SPAN)
        self._cycles, self._dependences = cycles, dependences
        self._begin = _last(start, np.minimum(end, cycles), busy)
        self._found = _ByInstruction(trace, start, busy)
        self._bounds = np.searchsorted(trace.track, np.arange(len(trace.tracks) + 1)).tolist()
        self._start, self._end, self._busy = start.data, end.data, busy.data
        self._track, self._kind, self._what = (column.data for column in (trace.track, trace.kind, trace.what))
        self._released_by = _releasers(trace, start, end, busy).data
        self._on_its_way = len(trace.kinds)

    def steps(self) -> Iterator[_Step]:
        """The steps, the last first."""
        place = _Place(self._begin, self._cycles)
        passed: set[int] = set()  # spans since the last step: nobody is come by twice in a cycle
        if place.span == NO_SPAN:
            yield self._unknown(NOBODY, 0, self._cycles)
        elif self._end[place.span] < self._cycles:
            place = _Place(place.span, self._end[place.span])
            yield self._unknown(self._track[place.span], place.now, self._cycles)
        while place.span != NO_SPAN and place.now > 0:
            steps, place = self._before(place, passed)
            for step in steps:
                if step.end > max(step.start, 0):
                    passed.clear()
                    yield step._replace(start=max(step.start, 0))

    def _before(self, place: _Place, passed: set[int]) -> tuple[list[_Step], _Place]:
        """What led to a place, and the place before that."""
        span, now = self._in_detail(place, passed), place.now
        passed.add(span)
        by = self._let_by(span, now, passed) if self._end[span] == now and not self._busy[span] else NO_SPAN
        if by == NO_SPAN:
            steps, before = self._begun(span, passed)
            return [self._work(span, self._start[span], now), *steps], before
        released = min(self._end[by], now)
        heard = max(released, self._start[span])
        return [self._work(span, heard, now), self._sent(by, released, heard)], _Place(by, released)

    def _let_by(self, stall: int, now: int, passed: set[int]) -> int:
        """What let a stall end. If its unit stalled too, up to the same cycle, that kept it from letting go before."""
        by = self._released_by[stall]
        if by == NO_SPAN:
            by = self._freed_by(stall, now)
        if by == NO_SPAN or by in passed:
            return NO_SPAN
        last = self._at(self._track[by], now)
        return last if not self._busy[last] and self._end[last] == now and last not in passed else by

    def _freed_by(self, stall: int, now: int) -> int:
        """What the unit that the stall's instruction is for did when it freed a place."""
        what = self._what[stall]
        for track in self._dependences.freed_by(self._track[stall]):
            if self._found.has(track, what):
                return self._at(track, now)
        return NO_SPAN

    def _begun(self, span: int, passed: set[int]) -> tuple[list[_Step], _Place]:
        """What let a span begin: what its unit did until then, or whoever set it to work."""
        now, track = self._start[span], self._track[span]
        own = span - 1 if span > self._bounds[track] else NO_SPAN
        until = 0 if own == NO_SPAN else self._end[own]
        if own != NO_SPAN and until >= now:
            return [], _Place(own, now)
        starter = self._starter(span, now, passed)
        if starter == NO_SPAN or self._end[starter] < until:
            return [self._unknown(track, until, now)], _Place(own, until)
        if self._end[starter] < now and (taker := self._taker(track, now, passed)) != NO_SPAN:
            starter = taker
        if self._start[starter] == now:
            passed.add(starter)
            return self._begun(starter, passed)
        sent = min(self._end[starter], now)
        return [self._sent(starter, sent, now)], _Place(starter, sent)

    def _starter(self, span: int, now: int, passed: set[int]) -> int:
        """The last work before ``now`` with the same instruction, of those who may have set the span's unit to work."""
        what, best, latest = self._what[span], NO_SPAN, (-1, -1)
        for track in self._dependences.started_by(self._track[span]):
            found = self._found.until(track, what, now)
            if found != NO_SPAN and found not in passed:
                come = (min(self._end[found], now), self._start[found])
                if come > latest:
                    best, latest = found, come
        return best

    def _taker(self, track: int, now: int, passed: set[int]) -> int:
        """Who began to take what stood before a track in cycle ``now``, and did not itself wait for it."""
        for taker in self._dependences.taken_by(track):
            span = self._at(taker, now + 1)
            if span == NO_SPAN or span in passed or not self._busy[span] or self._start[span] != now:
                continue
            before = self._at(taker, now)
            by = self._released_by[before] if before != NO_SPAN and self._end[before] == now else NO_SPAN
            if by == NO_SPAN or self._track[by] not in self._dependences.started_by(track):
                return span
        return NO_SPAN

    def _in_detail(self, place: _Place, passed: set[int]) -> int:
        """The span at a place; that of a unit which tells more, if it has one there."""
        span, now = place
        for track in self._dependences.told_by(self._track[span]) if self._busy[span] else ():
            inner = self._at(track, now)
            if inner != NO_SPAN and self._end[inner] >= now and inner not in passed:
                return inner
        return span

    def _at(self, track: int, now: int) -> int:
        """The last span of a track that begins before cycle ``now``."""
        first, end = self._bounds[track : track + 2]
        last = bisect_left(self._start, now, first, end) - 1
        return last if last >= first else NO_SPAN

    def _work(self, span: int, start: int, end: int) -> _Step:
        return _Step(span, self._track[span], start, end, self._kind[span], self._what[span])

    def _sent(self, by: int, start: int, end: int) -> _Step:
        return _Step(NO_SPAN, self._track[by], start, end, self._on_its_way, self._what[by])

    def _unknown(self, track: int, start: int, end: int) -> _Step:
        return _Step(NO_SPAN, track, start, end, self._on_its_way + 1, NOBODY)


class _ByInstruction:
    """The busy spans of each track and instruction, in order."""

    def __init__(self, trace: Trace, start: Words, busy: NDArray[np.bool_]) -> None:
        spans = np.flatnonzero(busy)
        self._most = max(len(trace.whats), 1)
        keys = trace.track[spans].astype(np.int64) * self._most + trace.what[spans]
        order = np.argsort(keys, kind="stable")
        distinct, first = np.unique(keys[order], return_index=True)
        ends = np.append(first, len(spans))[1:]
        self._group = dict(zip(distinct.tolist(), zip(first.tolist(), ends.tolist(), strict=True), strict=True))
        self._span = spans[order].data
        self._start = start[spans[order]].data

    def has(self, track: int, what: int) -> bool:
        return track * self._most + what in self._group

    def until(self, track: int, what: int, cycle: int) -> int:
        """The last that begins in ``cycle`` or before, or NO_SPAN."""
        first, end = self._group.get(track * self._most + what, (0, 0))
        place = bisect_right(self._start, cycle, first, end) - 1
        return self._span[place] if place >= first else NO_SPAN


def _last(start: Words, end: Words, busy: NDArray[np.bool_]) -> int:
    """The span with which a run ends: of the busy ones, if there are any, the last that begins of the last to end."""
    among = np.flatnonzero((end > np.maximum(start, 0)) & (busy if busy.any() else True))
    if not among.size:
        return NO_SPAN
    last = among[end[among] == end[among].max()]
    return int(last[start[last] == start[last].max()][-1])


def _releasers(trace: Trace, start: Words, end: Words, busy: NDArray[np.bool_]) -> Numbers:
    """For each stall the work that let it end, which began before that; -1 where there is none."""
    by = trace.released_by
    known = (by >= 0) & ~busy
    if known.any():
        known &= busy[by] & (start[by] < end)
    return np.where(known, by, np.int32(NO_SPAN))
