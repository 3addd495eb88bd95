"""The trace: who did what when, in columns; its hash, and the file that it is kept in."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.budgets import LARGEST_TRACE_BYTES, MOST_TRACE_NAMES
from tilesim.errors import ArrayError, refuse
from tilesim.files import must_be_file, read_npz, write_npz

SCHEMA = "tilesim.trace/1"
"""The version of the columns; it changes when one changes its meaning."""

MOST = 2**48
"""Beyond every cycle and byte of a run; sums of such numbers are exact in a browser, too."""

PIECE = 1 << 15
"""Spans that are looked at together: what comes of them on the way stays in a processor's cache, and takes no memory
that nobody has used before, whose pages cost more than all that is worked out.
"""

Words = NDArray[np.int64]
Numbers = NDArray[np.int32]


def pieces(count: int) -> Iterator[slice]:
    """All of so many spans, piece by piece."""
    return (slice(first, first + PIECE) for first in range(0, count, PIECE))


@dataclass(frozen=True)
class Trace:
    """What units did when: spans in columns, sorted by track, then start; idle cycles are in none."""

    tracks: tuple[str, ...]
    """Names of units and links."""
    kinds: tuple[str, ...]
    """What spans may be: ``busy``, or ``stall:`` and a :class:`~tilesim.sim.core.unit.Reason`."""
    whats: tuple[str, ...]
    """Labels of instructions."""
    layers: tuple[str, ...]
    """Names of layers."""
    track: Numbers
    """Of every span, the place of its unit in ``tracks``."""
    start_cycle: Words
    """Of every span, the cycle in which it begins, counted from the beginning of the load."""
    cycles: Words
    """Of every span, how long it lasts."""
    kind: Numbers
    """Of every span, the place in ``kinds``."""
    what: Numbers
    """Of every span, the place of its instruction in ``whats``."""
    bytes: Words
    """Of every span, the bytes that it moves."""
    released_by: Numbers
    """Of every span, the place of the one that let this stall end, as far as that is known, else -1."""
    layer_of: Numbers
    """Of every instruction in ``whats``, the place of its layer in ``layers``, or -1."""
    start: int = 0
    """The cycle in which the run begins, after the load: the cycles of the statistics count from there."""

    @cached_property
    def sha256(self) -> str:
        """The same for the same spans, on any machine, whatever order they were recorded in."""
        types = [np.min_scalar_type(column.max(initial=0)).newbyteorder("<") for column in self._hashed]
        return self._sha256(types, [narrow.str for narrow in types])

    @cached_property
    def sha256_of_words(self) -> str:
        """What tilesim said of the same spans up to 0.2, which hashed all numbers as 8 bytes."""
        return self._sha256([np.dtype("<i8")] * len(self._hashed))

    @property
    def _hashed(self) -> tuple[NDArray[Any], ...]:
        return self.track, self.start_cycle, self.cycles, self.kind, self.what, self.bytes

    def _sha256(self, types: Sequence[np.dtype[Any]], *names: Sequence[str]) -> str:
        """Of names and of columns, each as numbers of a type."""
        digest = hashlib.sha256()
        for each in (*names, self.tracks, self.kinds, self.whats):
            digest.update("\0".join(each).encode() + b"\1")
        for column, narrow in zip(self._hashed, types, strict=True):
            for part in pieces(len(column)):
                digest.update(column[part].astype(narrow, copy=False).data)
        return digest.hexdigest()

    def columns(self) -> dict[str, NDArray[Any]]:
        """Every column and table of names by its name, for saving."""
        arrays = {field.name: np.asarray(getattr(self, field.name)) for field in fields(self)}
        empty = {name: np.zeros(0, "<U1") for name in NAMES if not arrays[name].size}
        return {"schema": np.asarray(SCHEMA), **arrays, **empty}

    def save(self, path: Path | str) -> None:
        """Write the columns as an .npz file.

        Raises:
            OSError: the file cannot be written.
        """
        write_npz(Path(path), self.columns(), compressed=True)

    @classmethod
    def load(cls, path: Path | str) -> Trace:
        """Read what was saved.

        Raises:
            ArrayError: no such file, or columns that are not those of a trace, all at once.
        """
        path = Path(path)
        must_be_file(path, ArrayError)
        columns = read_npz(path, most_bytes=LARGEST_TRACE_BYTES)
        if str(columns.pop("schema", np.asarray("none"))) != SCHEMA:
            raise ArrayError(f"{path}: must be a trace of the version {SCHEMA}, which `tilesim run --trace` writes")
        refuse((f"{path}: {fault}" for fault in _faults(columns)), ArrayError)
        values: dict[str, Any] = {**columns, **{name: tuple(columns[name].tolist()) for name in NAMES}}
        values["start"] = int(columns["start"])
        return cls(**{field.name: values[field.name] for field in fields(cls)})


NAMES = ("tracks", "kinds", "whats", "layers")
SPANS = ("track", "start_cycle", "cycles", "kind", "what", "bytes", "released_by")
"""Columns with an element a span."""

_RANGES = {
    "track": (0, "tracks"),
    "kind": (0, "kinds"),
    "what": (0, "whats"),
    "released_by": (-1, "track"),
    "layer_of": (-1, "layers"),
    **dict.fromkeys(("start_cycle", "cycles", "bytes", "start"), (0, "")),
}
"""Of each column the least number, and the table that the largest is a place in; else that is below :data:`MOST`."""


def _faults(columns: dict[str, NDArray[Any]]) -> list[str]:
    """What keeps ``columns`` from being those of a trace."""
    wanted = [*NAMES, *SPANS, "layer_of", "start"]
    if missing := [name for name in wanted if name not in columns]:
        return [f"column {name} is missing" for name in missing]
    faults = [f"column {name} must be of names" for name in NAMES if columns[name].dtype.kind != "U"]
    faults += [
        f"column {name} must have at most {MOST_TRACE_NAMES} names, not {columns[name].size}"
        for name in NAMES
        if columns[name].size > MOST_TRACE_NAMES
    ]
    numbers = [name for name in wanted if name not in NAMES]
    faults += [f"column {name} must be of integers" for name in numbers if columns[name].dtype.kind != "i"]
    faults += [f"column {name} must have one dimension" for name in (*NAMES, "track") if columns[name].ndim != 1]
    lengths = dict.fromkeys(SPANS, columns["track"].shape) | {"layer_of": columns["whats"].shape, "start": ()}
    faults += [
        f"column {name} must have the shape {shape}, not {columns[name].shape}"
        for name, shape in lengths.items()
        if columns[name].shape != shape
    ]
    return faults or [
        f"column {name} must hold numbers from {least} to {end - 1}"
        for name, (least, table) in _RANGES.items()
        for end in [len(columns[table]) if table else MOST]
        if columns[name].size and not least <= columns[name].min() <= columns[name].max() < end
    ]
