"""What let each stall end: a span of somebody else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tilesim.sim.trace.trace import Numbers, Trace, Words

BUSY = "busy"


class Wakeup(NamedTuple):
    """What kept ``track`` waiting until ``cycle`` came from ``by_track``, with ``by_instruction``."""

    track: str
    cycle: int
    by_track: str
    by_instruction: str


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
        self._bounds = np.searchsorted(trace.track, np.arange(len(trace.tracks) + 1)).tolist()
        self._busy: dict[int, Words] = {}

    def spans(self, track: int) -> range:
        return range(self._bounds[track], self._bounds[track + 1])

    def last_before(self, track: int, cycle: int) -> int:
        """The last span of a track that begins before ``cycle``; one that is not among its spans if there is none."""
        spans = self.spans(track)
        return spans.start + int(np.searchsorted(self.trace.start_cycle[spans.start : spans.stop], cycle)) - 1

    def stalls(self, track: int, kind: int) -> Words:
        first, end = self._bounds[track], self._bounds[track + 1]
        return np.asarray(np.flatnonzero(self.trace.kind[first:end] == kind) + first, np.int64)

    def busy_before(self, track: int, cycles: Words) -> Words:
        """The last busy span of a track that begins before each of the ``cycles``, or -1."""
        if track not in self._busy:
            busy = self.trace.kinds.index(BUSY) if BUSY in self.trace.kinds else -1
            self._busy[track] = self.stalls(track, busy)
        spans = self._busy[track]
        at = np.searchsorted(self.trace.start_cycle[spans], cycles) - 1
        return np.where(at >= 0, spans[at], -1) if len(spans) else np.full(len(cycles), -1)


def released_by(trace: Trace, wakeups: Sequence[Wakeup], wakeup_sources: WakeupSources) -> Numbers:
    """For each span of ``trace`` the one that let it end, or -1."""
    wakers: Words = np.full(len(trace.track), -1, np.int64)
    index = _Index(trace)
    for (track, kind), source in wakeup_sources.items():
        if track in index.places and kind in trace.kinds:
            stalls = index.stalls(index.places[track], trace.kinds.index(kind))
            wakers[stalls] = _latest(index, stalls, source)
    instructions = {name: k for k, name in enumerate(trace.whats)}
    for wakeup in wakeups:
        if wakeup.track in index.places and wakeup.by_track in index.places:
            stall = _ending(index, index.places[wakeup.track], wakeup.cycle)
            if stall >= 0:
                by = instructions.get(wakeup.by_instruction, -1)
                wakers[stall] = _with(index, index.places[wakeup.by_track], by, wakeup.cycle)
    return wakers.astype(np.int32)


def _latest(index: _Index, stalls: Words, source: WakeupSource) -> Words:
    """The sources' last busy spans before the ends of ``stalls``."""
    trace = index.trace
    ends = trace.start_cycle[stalls] + trace.cycles[stalls]
    best: Words = np.full(len(stalls), -1)
    begins: Words = np.full(len(stalls), -1)
    for track in source.tracks:
        if track not in index.places:
            continue
        spans = index.busy_before(index.places[track], ends)
        starts = np.where(spans >= 0, trace.start_cycle[spans], -1)
        if source.holding:
            starts = np.where((spans >= 0) & (starts + trace.cycles[spans] >= ends), starts, -1)
        later = starts > begins
        best, begins = np.where(later, spans, best), np.where(later, starts, begins)
    return best


def _ending(index: _Index, track: int, cycle: int) -> int:
    """The stall of a track that ends in ``cycle``, or -1."""
    trace, at = index.trace, index.last_before(track, cycle)
    ends = at in index.spans(track) and trace.start_cycle[at] + trace.cycles[at] == cycle
    return at if ends and trace.kinds[trace.kind[at]] != BUSY else -1


def _with(index: _Index, track: int, instruction: int, cycle: int) -> int:
    """The last busy span of a track with an instruction that begins before ``cycle``, or -1."""
    trace, spans = index.trace, index.spans(track)
    at = index.last_before(track, cycle) if instruction >= 0 else -1
    while at in spans and not (trace.what[at] == instruction and trace.kinds[trace.kind[at]] == BUSY):
        at -= 1
    return at if at in spans else -1
