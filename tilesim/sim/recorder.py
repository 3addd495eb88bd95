"""The trace: who did what when, in columns; and its hash."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.int64]


@dataclass(frozen=True)
class Trace:
    """Spans in columns, sorted by track, then start.

    ``tracks`` and ``kinds`` and ``whats`` are the distinct names; ``track``, ``kind`` and ``what`` index them (int32);
    ``start_cycle``, ``cycles`` and ``bytes`` are int64.
    """

    tracks: tuple[str, ...]
    kinds: tuple[str, ...]
    whats: tuple[str, ...]
    track: NDArray[np.int32]
    start_cycle: Words
    cycles: Words
    kind: NDArray[np.int32]
    what: NDArray[np.int32]
    bytes: Words

    @cached_property
    def sha256(self) -> str:
        """The same for the same spans, on any machine, whatever order they were recorded in."""
        digest = hashlib.sha256()
        for names in (self.tracks, self.kinds, self.whats):
            digest.update("\0".join(names).encode() + b"\1")
        for column in (self.track, self.start_cycle, self.cycles, self.kind, self.what, self.bytes):
            digest.update(column.astype("<i8", copy=False).data)
        return digest.hexdigest()

    def columns(self) -> dict[str, NDArray[Any]]:
        """Every column and table of names by its name, for saving."""
        names = ("tracks", "kinds", "whats", "track", "start_cycle", "cycles", "kind", "what", "bytes")
        return {name: np.asarray(getattr(self, name)) for name in names}


class _Spans(NamedTuple):
    """Some spans of a track, as columns; ``kind`` and ``what`` are the recorder's numbers of names."""

    start: Words
    cycles: Words
    kind: Words
    what: Words
    bytes: Words


class Recorder:
    """Collects spans while a machine runs; adjoining spans of one track, kind and instruction become one."""

    def __init__(self) -> None:
        self._kinds: dict[str, int] = {}
        self._whats: dict[str, int] = {}
        self._single: defaultdict[str, list[tuple[int, ...]]] = defaultdict(list)
        self._several: defaultdict[str, list[_Spans]] = defaultdict(list)

    def record(self, track: str, start: int, cycles: int, kind: str, what: str, moved_bytes: int) -> None:
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
        self._several[track].append(_Spans(starts, cycles, numbers[which], names, moved_bytes))

    def trace(self) -> Trace:
        tracks = sorted(self._single.keys() | self._several.keys())
        found = [self._of(track) for track in tracks]
        empty = _columns(np.zeros((5, 0), np.int64))
        start, cycles, kind, what, moved = (np.concatenate(column) for column in zip(empty, *found, strict=True))
        kinds, kind = _sorted(self._kinds, kind)
        whats, what = _sorted(self._whats, what)
        track = np.repeat(np.arange(len(tracks), dtype=np.int32), [len(spans.start) for spans in found])
        return Trace(tuple(tracks), kinds, whats, track, start, cycles, kind, what, moved)

    def _of(self, track: str) -> _Spans:
        """All spans of a track, in order."""
        single = np.array(self._single[track], np.int64).reshape(-1, 5).T
        columns = [np.concatenate(column) for column in zip(_columns(single), *self._several[track], strict=True)]
        starts = columns[0]
        if (starts[1:] < starts[:-1]).any():
            order = np.argsort(starts, kind="stable")
            columns = [column[order] for column in columns]
        return _joined(_Spans(*columns))


def _columns(rows: Words) -> _Spans:
    return _Spans(*rows)


def _number(names: dict[str, int], name: str) -> int:
    return names.setdefault(name, len(names))


def _joined(spans: _Spans) -> _Spans:
    """Spans in the order of their starts; adjoining ones of one kind and instruction become one."""
    ends = spans.start + spans.cycles
    same = (spans.kind[1:] == spans.kind[:-1]) & (spans.what[1:] == spans.what[:-1]) & (spans.start[1:] == ends[:-1])
    if not same.any():
        return spans
    first = np.flatnonzero(np.concatenate([[True], ~same]))
    summed = (np.add.reduceat(column, first) for column in (spans.cycles, spans.bytes))
    cycles, moved = summed
    return _Spans(spans.start[first], cycles, spans.kind[first], spans.what[first], moved)


def _sorted(names: dict[str, int], numbers: Words) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """The names that occur, sorted, and for each number the place of its name among them."""
    listed = list(names)
    occurring = sorted(_occurring(listed, numbers))
    place = np.zeros(max(len(listed), 1), np.int32)
    place[[names[name] for name in occurring]] = np.arange(len(occurring))
    return tuple(occurring), place[numbers]


def _occurring(names: Sequence[str], numbers: Words) -> Iterator[str]:
    return (names[k] for k in np.flatnonzero(np.bincount(numbers, minlength=len(names))).tolist())
