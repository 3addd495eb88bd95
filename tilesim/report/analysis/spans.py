"""The spans of a run, in its own cycles, and how many cycles of them lie between given ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tilesim.sim.core.unit import BUSY
from tilesim.sim.trace.trace import Trace
from tilesim.statistics import RunStatistics

Words = NDArray[np.int64]


@dataclass(frozen=True)
class TrackSpans:
    """Spans of one track in the order of their starts, which do not overlap; ``kind`` and ``what`` are names, by their
    places in the trace's ``kinds`` and ``whats``.
    """

    start: Words
    cycles: Words
    kind: NDArray[np.int32]
    what: NDArray[np.int32]

    def where(self, chosen: NDArray[np.bool_]) -> TrackSpans:
        """Some of them."""
        return TrackSpans(self.start[chosen], self.cycles[chosen], self.kind[chosen], self.what[chosen])

    def per_bin(self, edges: Words) -> Words:
        """How many of their cycles lie in each bin: from one edge to before the next."""
        return np.diff(self._before(edges))

    def _before(self, cycle: Words) -> Words:
        """How many of their cycles lie before each cycle."""
        until = np.concatenate([[0], np.cumsum(self.cycles)])
        begun = np.searchsorted(self.start, cycle)
        ends = np.concatenate([[0], self.start + self.cycles])
        return until[begun] - np.maximum(0, ends[begun] - cycle)


def edges_of(cycles: int, bins: int) -> Words:
    """The edges of at most ``bins`` bins over a run; they differ by a cycle at most."""
    bins = max(1, min(bins, cycles))
    return np.arange(bins + 1, dtype=np.int64) * cycles // bins


def busy_kind(trace: Trace) -> int:
    """The number of the kind *busy*, -1 where nobody ever was."""
    return trace.kinds.index(BUSY) if BUSY in trace.kinds else -1


def run_spans(statistics: RunStatistics, trace: Trace, tracks: Iterable[str]) -> dict[str, TrackSpans]:
    """The spans of some ``tracks`` while the run section ran, from its first cycle on; none of one that was not
    recorded.
    """
    start, cycles = trace.start, statistics["cycles"]
    place = {track: k for k, track in enumerate(trace.tracks)}
    bounds = np.searchsorted(trace.track, np.arange(len(trace.tracks) + 1))
    empty = TrackSpans(*(np.zeros(0, np.int64),) * 2, *(np.zeros(0, np.int32),) * 2)
    return {
        track: _clipped(trace, slice(*bounds[k : k + 2]), start, cycles) if (k := place.get(track, -1)) >= 0 else empty
        for track in tracks
    }


def _clipped(trace: Trace, part: slice, start: int, cycles: int) -> TrackSpans:
    begin = trace.start_cycle[part].astype(np.int64) - start
    first, end = np.maximum(begin, 0), np.minimum(begin + trace.cycles[part], cycles)
    return TrackSpans(first, end - first, trace.kind[part], trace.what[part]).where(end > first)
