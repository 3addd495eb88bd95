"""What let each stall end: a span of somebody else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tilesim.ragged import ranges
from tilesim.sim.trace.trace import Numbers, Trace, Words

BUSY = "busy"
FEW = 1 << 10
"""So few stalls of a unit are looked at with those of other units."""
SELDOM = 4
"""Who has been busy less often than one in so many of a unit's stalls looks for these, not they for it."""
NEAR = 16
"""The busy spans of so many tracks are kept at once: of those that one unit after the other waits for."""


class Wakeups(NamedTuple):
    """What kept each ``track`` waiting until ``cycle`` came from ``by_track``, with ``by_what``: places in ``tracks``
    and ``names``. That ends a stall of the ``kind``, of any if its name is empty; where several did in one cycle, it is
    the last by the name of its track.
    """

    tracks: Sequence[str]
    names: Sequence[str]
    track: Words
    cycle: Words
    by_track: Words
    by_what: Words
    kind: Words


class WakeupSource(NamedTuple):
    """Who may let a stall end. ``holding``: only with what they did in its last cycle, which kept the other from going
    on; else with what they did last before its end.
    """

    tracks: Sequence[str]
    holding: bool = False


WakeupSources = Mapping[tuple[str, str], WakeupSource]
"""By track and kind of stall."""


class _Index:
    """Where the spans of each track are, and which of them are busy."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.places = {name: k for k, name in enumerate(trace.tracks)}
        self.is_busy = trace.kind == (trace.kinds.index(BUSY) if BUSY in trace.kinds else -1)
        bounds = np.searchsorted(trace.track, np.arange(len(trace.tracks) + 1, dtype=np.int32))
        self._bounds = bounds.tolist()
        times_busy = np.add.reduceat(self.is_busy, bounds[:-1], dtype=np.int64) if trace.tracks else bounds[:0]
        self._times_busy: list[int] = times_busy.tolist()
        self.busy = lru_cache(NEAR)(partial(_busy, trace, self.is_busy, self._bounds))
        """The busy spans of a track, and their beginnings."""

    def before(self, tracks: Words, cycles: Words, busy: bool) -> Words:
        """The last span, or ``busy`` one, of each of some tracks that begins before a cycle, or -1."""
        found = np.full(len(tracks), -1)
        order = np.argsort(tracks, kind="stable")
        for some in np.split(order, np.flatnonzero(np.diff(tracks[order])) + 1) if len(order) else ():
            track = int(tracks[some[0]])
            first, end = self._bounds[track], self._bounds[track + 1]
            if busy:
                spans, starts = self.busy(track)
                at = starts.searchsorted(cycles[some]) - 1
                found[some] = np.where(at >= 0, spans[at], -1) if len(spans) else -1
            else:
                at = self.trace.start_cycle[first:end].searchsorted(cycles[some]) - 1
                found[some] = np.where(at >= 0, first + at, -1)
        return found

    def with_what(self, span: int, what: int) -> int:
        """That busy span, or the last one of its track before it with an instruction, or -1."""
        spans, _ = self.busy(int(self.trace.track[span]))
        here = spans[: spans.searchsorted(span, "right")]
        [found] = np.nonzero(self.trace.what[here] == what)
        return int(here[found[-1]]) if len(found) else -1

    def ends(self, spans: Words) -> Words:
        return self.trace.start_cycle[spans] + self.trace.cycles[spans]

    def stalls(self, track: int, kind: int) -> Words:
        first, end = self._bounds[track], self._bounds[track + 1]
        [found] = (self.trace.kind[first:end] == kind).nonzero()
        return np.asarray(found + first, np.int64)

    def times_busy(self, track: int) -> int:
        return self._times_busy[track]


def _busy(trace: Trace, is_busy: NDArray[np.bool_], bounds: Sequence[int], track: int) -> tuple[Words, Words]:
    first, end = bounds[track : track + 2]
    spans = is_busy[first:end].nonzero()[0] + first
    return spans, trace.start_cycle[spans]


class _Wait(NamedTuple):
    """Stalls of a track, and those that may end them, as places among the tracks; all of these have been busy."""

    stalls: Words
    sources: Sequence[int]
    holding: bool


def note_wakers(trace: Trace, wakeups: Wakeups, wakeup_sources: WakeupSources) -> None:
    """Set for each span of ``trace`` the one that let it end."""
    wakers, index = trace.released_by, _Index(trace)
    few = list[_Wait]()
    for wait in _waits(index, wakeup_sources):
        if len(wait.stalls) > FEW:
            wakers[wait.stalls] = _latest(index, wait)
        else:
            few.append(wait)
    if few:
        _note_latest(index, few)
    _hear(index, wakers, wakeups)


def _waits(index: _Index, wakeup_sources: WakeupSources) -> Iterator[_Wait]:
    kinds = {kind: k for k, kind in enumerate(index.trace.kinds)}
    for (track, kind), source in wakeup_sources.items():
        if track in index.places and kind in kinds:
            stalls = index.stalls(index.places[track], kinds[kind])
            there = [index.places[name] for name in source.tracks if name in index.places] if len(stalls) else ()
            if sources := [*filter(index.times_busy, there)]:
                yield _Wait(stalls, sources, source.holding)


def _latest(index: _Index, wait: _Wait) -> Words:
    """The sources' last busy spans before the ends of stalls; of several that begin together, the first source's."""
    until, many = index.ends(wait.stalls), len(wait.sources)
    best, latest = np.full((2, len(until)), -1)
    often, seldom = list[tuple[int, int]](), list[tuple[int, int]]()
    for rank, source in enumerate(reversed(wait.sources)):
        is_seldom = wait.holding and SELDOM * index.times_busy(source) < len(until)
        (seldom if is_seldom else often).append((source, rank))
    if seldom:
        some, by, keys = _held(index, seldom, many, until)
        best[some], latest[some] = by, keys  # of several for one stall the last one, which is the latest
    for source, rank in often:
        spans, starts = index.busy(source)
        keys, at = starts * many + rank, starts.searchsorted(until) - 1
        later = (at >= 0) & (keys[at] > latest)
        if wait.holding:
            later &= (starts + index.trace.cycles[spans])[at] >= until
        at = at[later]
        best[later], latest[later] = spans[at], keys[at]
    return best


def _held(index: _Index, sources: Sequence[tuple[int, int]], many: int, until: Words) -> tuple[Words, Words, Words]:
    """Which stalls, that end at ``until``, the sources' busy spans hold up, these spans, and their keys, in whose order
    they are.
    """
    busy = [(rank, *index.busy(source)) for source, rank in sources]
    spans = np.concatenate([each for _, each, _ in busy])
    keys = np.concatenate([starts * many + rank for rank, _, starts in busy])
    order = keys.argsort()
    spans, keys = spans[order], keys[order]
    first = until.searchsorted(index.trace.start_cycle[spans], "right")
    count = until.searchsorted(index.ends(spans), "right") - first
    return ranges(first, count), np.repeat(spans, count), np.repeat(keys, count)


def _note_latest(index: _Index, waits: Sequence[_Wait]) -> None:
    """Note the same of stalls of several tracks at once."""
    stalls = np.concatenate([wait.stalls for wait in waits])
    firsts = np.cumsum([0, *(len(wait.stalls) for wait in waits)]).tolist()
    many = max(len(wait.sources) for wait in waits)
    asked = [
        (source, first, len(wait.stalls), many - 1 - k, wait.holding)
        for wait, first in zip(waits, firsts, strict=False)
        for k, source in enumerate(wait.sources)
    ]
    source, first, count, rank, holding = np.array(asked, np.int64).T
    which = ranges(first, count)
    until = index.ends(stalls)[which]
    by = index.before(np.repeat(source, count), until, busy=True)
    there = (by >= 0) & (~np.repeat(holding.astype(np.bool_), count) | (index.ends(by) >= until))
    which, by, rank = which[there], by[there], np.repeat(rank, count)[there]
    keys = index.trace.start_cycle[by] * many + rank  # the first of several that begin together
    latest = np.full(len(stalls), -1)
    np.maximum.at(latest, which, keys)
    is_latest = keys == latest[which]
    index.trace.released_by[stalls[which[is_latest]]] = by[is_latest]


def _hear(index: _Index, wakers: Numbers, wakeups: Wakeups) -> None:
    """Note who woke whom, where a stall ended then."""
    trace = index.trace
    places = _places(wakeups.tracks, trace.tracks)
    track, by_track = places[wakeups.track], places[wakeups.by_track]
    shown = np.flatnonzero((track >= 0) & (by_track >= 0))
    shown = shown[np.argsort(by_track[shown], kind="stable")]
    track, by_track, cycle = track[shown], by_track[shown], wakeups.cycle[shown]
    by_what = _places(wakeups.names, trace.whats)[wakeups.by_what[shown]]
    kind, of_any = wakeups.kind[shown], np.array([not name for name in (*wakeups.names, "")])
    at = index.before(track, cycle, busy=False)
    ends = (at >= 0) & (trace.start_cycle[at] + trace.cycles[at] == cycle) & ~index.is_busy[at]
    ends &= of_any[kind] | (_places(wakeups.names, trace.kinds)[kind] == trace.kind[at])
    wakers[at[ends]] = _with(index, by_track[ends], by_what[ends], cycle[ends])


def _places(names: Sequence[str], among: Sequence[str]) -> Words:
    """The place of each name among others, or -1."""
    places = {name: k for k, name in enumerate(among)}
    return np.array([places.get(name, -1) for name in names], np.int64)


def _with(index: _Index, tracks: Words, whats: Words, cycles: Words) -> Words:
    """The last busy span of each of some tracks with an instruction that begins before a cycle, or -1."""
    found = index.before(tracks, cycles, busy=True)
    [others] = np.nonzero((found >= 0) & (index.trace.what[found] != whats))
    found[others] = [
        index.with_what(*other) for other in zip(found[others].tolist(), whats[others].tolist(), strict=True)
    ]
    return found
