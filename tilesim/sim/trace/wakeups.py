"""What let each stall end: a span of somebody else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tilesim.sim.trace.trace import PIECE, Numbers, Trace, Words

BUSY = "busy"
FEW = PIECE // 8
"""Stalls of a unit, and busy spans of who may end them: so few are looked at with those of other units."""


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
        self._busy: Words = self.is_busy.nonzero()[0]
        self._starts = trace.start_cycle[self._busy]
        self._busy_bounds: list[int] = self._busy.searchsorted(bounds).tolist()

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
        return self._busy_bounds[track + 1] - self._busy_bounds[track]

    def busy(self, track: int) -> tuple[Words, Words]:
        """The busy spans of a track, and their beginnings."""
        own = slice(*self._busy_bounds[track : track + 2])
        return self._busy[own], self._starts[own]


class _Wait(NamedTuple):
    """Stalls of a track, and those that may end them, as places among the tracks; all of these have been busy."""

    stalls: Words
    sources: Sequence[int]
    holding: bool


def note_wakers(trace: Trace, wakeups: Wakeups, wakeup_sources: WakeupSources) -> None:
    """Set for each span of ``trace`` the one that let it end."""
    wakers, index = trace.released_by, _Index(trace)
    few, size = list[_Wait](), 0
    for wait in _waits(index, wakeup_sources):
        own = len(wait.stalls) + sum(map(index.times_busy, wait.sources))
        if own > FEW:
            wakers[wait.stalls] = _latest(index, wait)
            continue
        few.append(wait)
        size += own
        if size > PIECE:
            _note_latest(index, few)
            few, size = [], 0
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
    """The sources' last busy spans before the ends of stalls."""
    until = index.ends(wait.stalls)
    best, begins = np.full((2, len(until)), -1)
    for spans, starts in map(index.busy, wait.sources):
        some, at = _before(spans, starts, until, index.trace.cycles if wait.holding else None)
        if len(some):
            later = starts[at] > begins[some]
            some, at = some[later], at[later]
            best[some], begins[some] = spans[at], starts[at]
    return best


def _note_latest(index: _Index, waits: list[_Wait]) -> None:
    """Note the same of stalls of several tracks at once: of the first source of each, then of the second."""
    if not waits:
        return
    waits.sort(key=lambda wait: len(wait.sources), reverse=True)
    stalls, owner = _joined([wait.stalls for wait in waits])
    numbers = {track: k for k, track in enumerate(dict.fromkeys(track for wait in waits for track in wait.sources))}
    spans, whose = _joined([index.busy(track)[0] for track in numbers])
    until, starts, ends = index.ends(stalls), index.trace.start_cycle[spans], index.ends(spans)
    beyond = int(max(until.max(), ends.max())) + 1
    keys, holding = whose * beyond + starts, np.array([wait.holding for wait in waits])[owner]
    best, begins = np.full((2, len(stalls)), -1)
    for k in range(len(waits[0].sources)):
        source = np.array([numbers[wait.sources[k]] for wait in waits if k < len(wait.sources)])
        own = slice(owner.searchsorted(len(source)))  # behind them are those who have no such source
        by, end = source[owner[own]], until[own]
        at = keys.searchsorted(by * beyond + end) - 1
        [some] = (
            (at >= 0) & (whose[at] == by) & (starts[at] > begins[own]) & (~holding[own] | (ends[at] >= end))
        ).nonzero()
        best[some], begins[some] = spans[at[some]], starts[at[some]]
    index.trace.released_by[stalls] = best


def _joined(parts: Sequence[Words]) -> tuple[Words, Words]:
    """All parts, and of which part each number is."""
    return np.concatenate(parts), np.repeat(np.arange(len(parts)), [len(part) for part in parts])


def _before(spans: Words, starts: Words, until: Words, cycles: Words | None) -> tuple[Words, Words]:
    """Which of the cycles ``until`` have a span that begins before them and lasts until then, if it is known for how
    many ``cycles`` each lasts; and its place. The fewer look for the others.
    """
    if cycles is None or len(until) < 4 * len(spans):
        at = starts.searchsorted(until) - 1
        begun = at >= 0
        some = np.flatnonzero(begun if cycles is None else begun & (starts[at] + cycles[spans[at]] >= until))
        return some, at[some]
    first = until.searchsorted(starts, "right")
    count = until.searchsorted(starts + cycles[spans], "right") - first
    before = np.cumsum(count) - count
    return np.arange(count.sum()) + np.repeat(first - before, count), np.repeat(np.arange(len(spans)), count)


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
