"""What let each stall end: a span of somebody else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tilesim.sim.trace.trace import Numbers, Trace, Words

BUSY = "busy"


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
        self._bounds = np.searchsorted(trace.track, np.arange(len(trace.tracks) + 1, dtype=np.int32)).tolist()
        self._busy: dict[int, tuple[Words, Words]] = {}

    def before(self, tracks: Words, cycles: Words, busy: bool) -> Words:
        """The last span, or ``busy`` one, of each of some tracks that begins before a cycle, or -1."""
        found = np.full(len(tracks), -1)
        order = np.argsort(tracks, kind="stable")
        for some in np.split(order, np.flatnonzero(np.diff(tracks[order])) + 1) if len(order) else ():
            track = int(tracks[some[0]])
            first, end = self._bounds[track], self._bounds[track + 1]
            if busy:
                spans, starts = self.busy(track)
                found[some] = spans[starts[1:].searchsorted(cycles[some])]
            else:
                at = np.searchsorted(self.trace.start_cycle[first:end], cycles[some]) - 1
                found[some] = np.where(at >= 0, first + at, -1)
        return found

    def with_what(self, span: int, what: int) -> int:
        """That busy span, or the last one of its track before it with an instruction, or -1."""
        spans, _ = self.busy(int(self.trace.track[span]))
        here = spans[1 : np.searchsorted(spans, span, "right")]
        [found] = np.nonzero(self.trace.what[here] == what)
        return int(here[found[-1]]) if len(found) else -1

    def stalls(self, track: int, kind: int) -> Words:
        first, end = self._bounds[track], self._bounds[track + 1]
        return np.asarray(np.flatnonzero(self.trace.kind[first:end] == kind) + first, np.int64)

    def busy(self, track: int) -> tuple[Words, Words]:
        """The busy spans of a track, behind one that is none, and their beginnings."""
        if track not in self._busy:
            first, end = self._bounds[track], self._bounds[track + 1]
            spans = np.concatenate([[-1], np.flatnonzero(self.is_busy[first:end]) + first])
            starts = self.trace.start_cycle[spans]
            starts[0] = -1
            self._busy[track] = spans, starts
        return self._busy[track]


def note_wakers(trace: Trace, wakeups: Wakeups, wakeup_sources: WakeupSources) -> None:
    """Set for each span of ``trace`` the one that let it end."""
    wakers, index = trace.released_by, _Index(trace)
    for (track, kind), source in wakeup_sources.items():
        if track in index.places and kind in trace.kinds:
            stalls = index.stalls(index.places[track], trace.kinds.index(kind))
            if len(stalls):
                wakers[stalls] = _latest(index, stalls, source)
    _hear(index, wakers, wakeups)


def _latest(index: _Index, stalls: Words, source: WakeupSource) -> Words:
    """The sources' last busy spans before the ends of ``stalls``."""
    until = index.trace.start_cycle[stalls] + index.trace.cycles[stalls]
    best, begins = np.full((2, len(stalls)), -1)
    sources = [index.busy(index.places[track]) for track in source.tracks if track in index.places]
    for spans, starts in sources:
        if len(spans) == 1:  # that which is none
            continue
        some, at = _before(spans, starts, until, index.trace.cycles if source.holding else None)
        if len(some):
            later = starts[at] > begins[some]
            some, at = some[later], at[later]
            best[some], begins[some] = spans[at], starts[at]
    return best


def _before(spans: Words, starts: Words, until: Words, cycles: Words | None) -> tuple[Words, Words]:
    """Which of the cycles ``until`` have a span that begins before them and lasts until then, if it is known for how
    many ``cycles`` each lasts; and its place. The first one, which is none, may be among them. The fewer look for the
    others.
    """
    if cycles is None or len(until) < 4 * len(spans):
        at = starts[1:].searchsorted(until)
        some = np.flatnonzero(at if cycles is None else starts[at] + cycles[spans[at]] >= until)
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
