"""What files for trace viewers show: spans by name, which releases which, and lanes of layers and inferences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tilesim.printable import printable
from tilesim.report.rates import spans_of
from tilesim.report.words import ending, short_name
from tilesim.sim.trace.trace import Trace
from tilesim.statistics import RunStatistics
from tilesim.units import format_hertz

LONGEST = 200
"""Characters of a name."""
TOGETHER = 8192
"""Spans that are turned from columns into rows at a time."""
STALL = "stall:"
RELEASED = "released"
"""What is called so is the end of a stall that another span let end."""


class SpanRow(NamedTuple):
    """A span of a track as a row. ``releases`` are those that it is the cause of, ``release`` is the one that ends it,
    or 0: they count from 1.
    """

    start: int
    cycles: int
    kind: int
    what: int
    bytes: int
    releases: list[int]
    release: int


def shown(name: str) -> str:
    """A name from a file, without what would steer a terminal or viewer, and its end if it is too long."""
    return ending(printable(name), LONGEST)


def slice_name(what: str, kind: str) -> str:
    """The instruction, and what it waits for if it does: viewers colour by name."""
    return shown(f"{what} ({kind})" if what and kind.startswith(STALL) else what or kind)


def layer_name(name: str) -> str:
    """What tells a layer from the others."""
    return shown(short_name(name))


def caption(statistics: RunStatistics, start: int) -> str:
    """What the file shows, and its unit of time."""
    clock = format_hertz(statistics["clock_hz"])
    what = f"{statistics['network']} on {statistics['topology']}"
    when = f"{statistics['cycles']:,} cycles from cycle {start:,} on"
    return shown(f"{what}: {when}; 1 ns here is 1 cycle of its clock of {clock}")


@dataclass(frozen=True)
class Slices:
    """The spans of a trace, a track at a time."""

    trace: Trace

    def of(self, track: int) -> Iterator[SpanRow]:
        """Those of a track, in the order of time."""
        spans = spans_of(self.trace, track)
        for first in range(spans.start, spans.stop, TOGETHER):
            yield from self._rows(first, min(spans.stop, first + TOGETHER))

    def _rows(self, first: int, end: int) -> Iterator[SpanRow]:
        trace, numbers = self.trace, self.released.tolist()
        places = self._places[first : end + 1].tolist()
        begins = [numbers[a:b] for a, b in pairwise(places)]
        columns = (trace.start_cycle, trace.cycles, trace.kind, trace.what, trace.bytes)
        rows = zip(*(column[first:end].tolist() for column in columns), strict=True)
        ends = self.ends[first:end].tolist()
        for (start, cycles, kind, what, moved), releases, release in zip(rows, begins, ends, strict=True):
            yield SpanRow(start, cycles, kind, what, moved, releases, release)

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        """The release that ends each span; none comes from a span that begins only when this one ends."""
        trace, by = self.trace, self.trace.released_by
        known = (by >= 0) & (trace.start_cycle[by] < trace.start_cycle + trace.cycles)
        return np.where(known, np.arange(1, len(by) + 1), 0)

    @cached_property
    def released(self) -> NDArray[np.int64]:
        """All releases, in the order of the spans that they come from."""
        return self._order + 1

    def released_places(self, spans: slice) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where among all releases the first of each span is, and where its last one ends."""
        places = self._places[spans.start : spans.stop + 1]
        return places[:-1], places[1:]

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        stalls = np.flatnonzero(self.ends)
        return stalls[np.argsort(self.trace.released_by[stalls], kind="stable")]

    @cached_property
    def _places(self) -> NDArray[np.int64]:
        return np.searchsorted(self.trace.released_by[self._order], np.arange(len(self.trace.track) + 1))


# ---- what a run was at when: its sections, and its layers or inferences, in lanes without overlap


class Episode(NamedTuple):
    """Cycles of a trace that have a name."""

    name: str
    start_cycle: int
    cycles: int

    @property
    def end(self) -> int:
        return self.start_cycle + self.cycles


class Lane(NamedTuple):
    """Episodes one after the other."""

    title: str
    episodes: list[Episode]


def lanes(statistics: RunStatistics, start: int) -> list[Lane]:
    """The sections of a run, which begins in cycle ``start`` of its trace; and its layers, or of several inferences
    these, which overlap and so take as many lanes as they need.
    """
    run = Episode("run", start, statistics["cycles"])
    loading = Episode("loading", 0, min(start, statistics["load_cycles"]))
    inferences = statistics["inferences"] > 1
    parts = _inferences(statistics, start) if inferences else _layers(statistics, start)
    return [
        Lane("section", [episode for episode in (loading, run) if episode.cycles]),
        *(Lane("inferences" if inferences else "layers", episodes) for episodes in apart(parts)),
    ]


def apart(episodes: Iterator[Episode]) -> list[list[Episode]]:
    """``episodes`` in as few lists as will do for none to overlap another of its list."""
    lists: list[list[Episode]] = []
    for episode in sorted(episodes, key=lambda episode: (episode.start_cycle, episode.end)):
        free = next((lane for lane in lists if lane[-1].end <= episode.start_cycle), None)
        if free is None:
            lists.append([episode])
        else:
            free.append(episode)
    return lists


def _layers(statistics: RunStatistics, start: int) -> Iterator[Episode]:
    for layer in statistics["layers"]:
        if layer["cycles"]:
            yield Episode(layer_name(layer["name"]), start + layer["start_cycle"], layer["cycles"])


def _inferences(statistics: RunStatistics, start: int) -> Iterator[Episode]:
    for k, request in enumerate(statistics["requests"], 1):
        first, end = start + request["start_cycle"], start + request["end_cycle"]
        yield Episode(f"inference {k}: {request['network']}", first, end - first)
