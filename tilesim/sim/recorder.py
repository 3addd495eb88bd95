"""The trace: who did what when, in columns; and its hash."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
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
class Recorder:
    """Collects spans while a machine runs; adjoining spans of one track, kind and instruction become one."""

    spans: dict[str, list[list[object]]] = field(default_factory=dict)

    def record(self, track: str, start: int, cycles: int, kind: str, what: str, moved_bytes: int) -> None:
        spans = self.spans.setdefault(track, [])
        if spans:
            last = spans[-1]
            if last[2] == kind and last[3] == what and last[0] + last[1] == start:  # type: ignore[operator]
                last[1] += cycles  # type: ignore[operator]
                last[4] += moved_bytes  # type: ignore[operator]
                return
        spans.append([start, cycles, kind, what, moved_bytes])

    def trace(self) -> Trace:
        rows = [(track, *span) for track in sorted(self.spans) for span in self.spans[track]]
        names: list[tuple[str, ...]] = [tuple(sorted({str(row[c]) for row in rows})) for c in (0, 3, 4)]
        index = [{name: i for i, name in enumerate(column)} for column in names]
        coded = [np.array([index[k][row[c]] for row in rows], np.int32) for k, c in enumerate((0, 3, 4))]  # type: ignore[index]
        numbers = [np.array([row[c] for row in rows], np.int64) for c in (1, 2, 5)]
        return Trace(*names, coded[0], numbers[0], numbers[1], coded[1], coded[2], numbers[2])
