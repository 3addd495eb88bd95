"""Collects the trace while a machine runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import NamedTuple, Protocol

import numpy as np

from tilesim.errors import refuse
from tilesim.sim.trace.spans import Names, Spans, adjoining, cut, joined, trace_of
from tilesim.sim.trace.trace import Trace, Words
from tilesim.sim.trace.wakeups import Wakeups, WakeupSources


class Waker(NamedTuple):
    """Who let somebody go on, and with what: a track and its instruction."""

    track: str
    instruction: str


@dataclass(frozen=True)
class Recording:
    """How much of a run is recorded."""

    window: range | None = None
    """Cycles, counted from the beginning of the run; None: all. What reaches beyond is cut, its bytes in proportion."""
    tracks: tuple[str, ...] = ("*",)
    """Patterns, such as ``chip.tile0.*``: all tracks that match one of them are recorded."""

    def __post_init__(self) -> None:
        refuse(_faults(self.window, self.tracks))

    def wants(self, track: str) -> bool:
        return any(fnmatchcase(track, pattern) for pattern in self.tracks)

    def unmatched(self, tracks: Collection[str]) -> list[str]:
        """The patterns that none of a machine's ``tracks`` matches."""
        return [pattern for pattern in self.tracks if not any(fnmatchcase(track, pattern) for track in tracks)]


def is_window(window: object) -> bool:
    """Whether they are cycles of a run."""
    return isinstance(window, range) and window.step == 1 and bool(window)


def _faults(window: object, tracks: object) -> Iterator[str]:
    """What scripts may hand over by mistake."""
    if window is not None and not is_window(window):
        yield f"window must be a range of cycles, such as range(1000, 2000), not {window!r}"
    if isinstance(tracks, str):
        yield f"tracks must be a tuple of patterns, such as ({tracks!r},), not {tracks!r}"


class SpanListener(Protocol):
    """Hears of what units do."""

    def record(self, track: str, start: int, cycles: int, kind: str, what: str, moved_bytes: int) -> None:
        """A span of the instruction ``what``."""

    def record_all(
        self,
        track: str,
        starts: Words,
        cycles: Words,
        kinds: Sequence[str],
        which: Words,
        what: str,
        moved_bytes: Words,
    ) -> None:
        """Spans of one instruction; ``which`` of the ``kinds`` each is."""

    def wake_up(self, track: str, cycle: int, waker: Waker, kind: str = "") -> None:
        """What kept ``track`` waiting until ``cycle``, in a stall of that ``kind`` (if it is given), came from
        ``waker``.
        """


class Recorder:
    """Collects spans while a machine runs; adjoining spans of one track, kind and instruction become one."""

    def __init__(self, recording: Recording | None = None) -> None:
        self._recording = recording or Recording()
        self._start: int | None = None
        self._kinds: dict[str, int] = {}
        self._whats: dict[str, int] = {}
        self._single: defaultdict[str, list[tuple[int, ...]]] = defaultdict(list)
        self._several: defaultdict[str, list[Spans]] = defaultdict(list)
        self._wakeups: list[tuple[str, int, Waker, str]] = []

    def wants(self, track: str) -> bool:
        return self._recording.wants(track)

    def begin(self, cycle: int) -> None:
        """What was before ``cycle`` was loading; here the run begins."""
        self._start = cycle

    def record(self, track: str, start: int, cycles: int, kind: str, what: str, moved_bytes: int) -> None:
        window = self._window
        if window is not None:
            first, end = max(start, window.start), min(start + cycles, window.stop)
            start, cycles, moved_bytes = first, end - first, moved_bytes * max(end - first, 0) // cycles
        if cycles > 0:
            numbers = _number(self._kinds, kind), _number(self._whats, what)
            self._single[track].append((start, cycles, *numbers, moved_bytes))

    def record_all(
        self,
        track: str,
        starts: Words,
        cycles: Words,
        kinds: Sequence[str],
        which: Words,
        what: str,
        moved_bytes: Words,
    ) -> None:
        """Record spans of one instruction; ``which`` of the ``kinds`` each is."""
        numbers = np.array([_number(self._kinds, kind) for kind in kinds], np.int64)
        names = np.full(len(starts), _number(self._whats, what))
        spans = Spans(starts, cycles, numbers[which], names, moved_bytes)
        if self._window is not None:
            spans = cut(spans, self._window)
        if len(spans.start):
            self._several[track].append(spans)

    def wake_up(self, track: str, cycle: int, waker: Waker, kind: str = "") -> None:
        """What kept ``track`` waiting until ``cycle``, in a stall of that ``kind`` (if it is given), came from
        ``waker``.
        """
        self._wakeups.append((track, cycle, waker, kind))

    def trace(
        self,
        layers: Sequence[str] = (),
        layer_of: Mapping[str, int] = MappingProxyType({}),
        wakeup_sources: WakeupSources = MappingProxyType({}),
    ) -> Trace:
        """What has been recorded; ``layer_of`` says which of the ``layers`` an instruction is of, and
        ``wakeup_sources`` who lets a track's stalls of a kind end, where nobody said so when it happened.
        """
        tracks = sorted(self._single.keys() | self._several.keys())
        spans_of = [self._of(track) for track in tracks]
        empty = Spans(*np.zeros((5, 0), np.int64))
        track = np.repeat(np.arange(len(tracks), dtype=np.int32), [len(spans.start) for spans in spans_of])
        return trace_of(
            track,
            Spans(*(np.concatenate(column) for column in zip(empty, *spans_of, strict=True))),
            Names(tracks, [*self._kinds], [*self._whats], layers, layer_of),
            self._start or 0,
            self._heard(),
            wakeup_sources,
        )

    def _heard(self) -> Wakeups:
        """Who woke whom, as columns."""
        tracks: dict[str, int] = {}
        names: dict[str, int] = {}
        rows = [
            (
                _number(tracks, track),
                cycle,
                _number(tracks, by.track),
                _number(names, by.instruction),
                _number(names, kind),
            )
            for track, cycle, by, kind in self._wakeups
        ]
        return Wakeups([*tracks], [*names], *np.array(rows, np.int64).reshape(-1, 5).T)

    @property
    def _window(self) -> range | None:
        """The window in cycles of the trace, of which there are none before the run has begun; None: all."""
        window = self._recording.window
        if window is None:
            return None
        return range(0) if self._start is None else range(window.start + self._start, window.stop + self._start)

    def _of(self, track: str) -> Spans:
        """All spans of a track, in order."""
        single = np.array(self._single[track], np.int64).reshape(-1, 5).T
        columns = [np.concatenate(column) for column in zip(Spans(*single), *self._several[track], strict=True)]
        starts = columns[0]
        if (starts[1:] < starts[:-1]).any():
            order = np.argsort(starts, kind="stable")
            columns = [column[order] for column in columns]
        spans = Spans(*columns)
        return joined(spans, adjoining(spans))


@dataclass(frozen=True)
class Relay:
    """Tells several of the same spans."""

    listeners: Sequence[SpanListener]

    def record(self, track: str, start: int, cycles: int, kind: str, what: str, moved_bytes: int) -> None:
        for listener in self.listeners:
            listener.record(track, start, cycles, kind, what, moved_bytes)

    def record_all(
        self,
        track: str,
        starts: Words,
        cycles: Words,
        kinds: Sequence[str],
        which: Words,
        what: str,
        moved_bytes: Words,
    ) -> None:
        for listener in self.listeners:
            listener.record_all(track, starts, cycles, kinds, which, what, moved_bytes)

    def wake_up(self, track: str, cycle: int, waker: Waker, kind: str = "") -> None:
        for listener in self.listeners:
            listener.wake_up(track, cycle, waker, kind)


def listener(track: str, recorder: Recorder | None, spans: Recorder | None) -> SpanListener | None:
    """Who hears of what ``track`` does: the ``recorder`` of the trace, if it wants that, and who collects all
    ``spans``, if there is one.
    """
    wanted = recorder if recorder is not None and recorder.wants(track) else None
    return Relay((wanted, spans)) if wanted is not None and spans is not None else wanted or spans


def _number(names: dict[str, int], name: str) -> int:
    return names.setdefault(name, len(names))
