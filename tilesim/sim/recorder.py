"""The trace: who did what when, in columns; and its hash."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray


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
    start_cycle: NDArray[np.int64]
    cycles: NDArray[np.int64]
    kind: NDArray[np.int32]
    what: NDArray[np.int32]
    bytes: NDArray[np.int64]

    @property
    def sha256(self) -> str:
        """The same for the same spans, on any machine, whatever order they were recorded in."""
        digest = hashlib.sha256()
        for names in (self.tracks, self.kinds, self.whats):
            digest.update("\0".join(names).encode() + b"\1")
        for column in (self.track, self.start_cycle, self.cycles, self.kind, self.what, self.bytes):
            digest.update(column.astype("<i8").tobytes())
        return digest.hexdigest()

    def columns(self) -> dict[str, NDArray[Any]]:
        """Every column and table of names by its name, for saving."""
        return {name: np.asarray(value) for name, value in vars(self).items()}


@dataclass
class _Span:
    start: int
    cycles: int
    kind: str
    what: str
    bytes: int


@dataclass
class Recorder:
    """Collects spans while a machine runs; adjoining spans of one track, kind and instruction become one."""

    spans: dict[str, list[_Span]] = field(default_factory=dict)

    def record(self, track: str, start: int, cycles: int, kind: str, what: str, moved_bytes: int) -> None:
        spans = self.spans.setdefault(track, [])
        if spans:
            last = spans[-1]
            if (last.kind, last.what, last.start + last.cycles) == (kind, what, start):
                last.cycles += cycles
                last.bytes += moved_bytes
                return
        spans.append(_Span(start, cycles, kind, what, moved_bytes))

    def trace(self) -> Trace:
        rows = [(track, span) for track in sorted(self.spans) for span in _joined(self.spans[track])]
        tracks, track = _indexed([name for name, _ in rows])
        kinds, kind = _indexed([span.kind for _, span in rows])
        whats, what = _indexed([span.what for _, span in rows])
        start, cycles, moved = (
            np.array([getattr(span, name) for _, span in rows], np.int64) for name in ("start", "cycles", "bytes")
        )
        return Trace(tracks, kinds, whats, track, start, cycles, kind, what, moved)


def _joined(spans: list[_Span]) -> Iterator[_Span]:
    """Spans by their starts; of those that were recorded out of order too, adjoining ones become one."""
    last: _Span | None = None
    for span in sorted(spans, key=lambda span: span.start):
        if last is not None and (last.kind, last.what, last.start + last.cycles) == (span.kind, span.what, span.start):
            last = replace(last, cycles=last.cycles + span.cycles, bytes=last.bytes + span.bytes)
            continue
        if last is not None:
            yield last
        last = span
    if last is not None:
        yield last


def _indexed(names: list[str]) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """The distinct names, sorted, and for each name its place among them."""
    distinct = sorted(set(names))
    place = {name: k for k, name in enumerate(distinct)}
    return tuple(distinct), np.array([place[name] for name in names], np.int32)
