"""The state log: what counters, queues, links and units held in each cycle of a window, and the file it is kept in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.budgets import LARGEST_SIGNALS_BYTES, MOST_SIGNAL_VALUES, MOST_TRACE_NAMES
from tilesim.errors import ArrayError, refuse
from tilesim.files import must_be_file, read_npz, write_npz
from tilesim.printable import unknown
from tilesim.sim.trace.trace import MOST

SCHEMA = "tilesim.signals/1"
"""The version of the columns; it changes when one changes its meaning."""

NUMBERS = ("flag", "fill")
"""Kinds whose values are counts."""
TEXTS = ("packet", "word", "instruction")
"""Kinds whose values are places in the texts, or -1: none."""
KINDS = (*NUMBERS, *TEXTS)
NONE = -1

Places = NDArray[np.int32]
Words = NDArray[np.int64]


@dataclass(frozen=True)
class Signals:
    """What signals held in each cycle of a window of a run. A value holds until the next change. Changes are sorted by
    cycle, then signal; a signal has one in a cycle at most.
    """

    names: tuple[str, ...]
    """Signals by their paths, such as ``chip.tile3.flags.tensor`` or ``chip.ring.link4``."""
    kinds: tuple[str, ...]
    """Of each name, what it is: ``flag``, ``fill``, ``packet``, ``word`` or ``instruction``."""
    texts: tuple[str, ...]
    """What values point at: instructions by their labels; packets as `label row master`, the instruction that sends it,
    which of its rows, and the node of the ring that it comes from; words as `label word`.
    """
    window: range
    """Cycles of the run that were logged; none are beyond its end."""
    signal: Places
    """Of every change, the place in ``names``."""
    cycle: Words
    """Of every change, the cycle of the run from which on the value holds; the first of each signal is at the window's
    start.
    """
    value: Words
    """Of every change: of a flag its count, of a fill the items; else the place in ``texts``, or -1 for none."""

    @classmethod
    def none(cls, window: range) -> Signals:
        """Those of a machine that logs none."""
        empty = np.zeros(0, np.int64)
        return cls((), (), (), window, empty.astype(np.int32), empty, empty)

    def table(self, cycles: range | None = None) -> Words:
        """The values in the ``cycles``, all of the window if None: (signals, cycles)."""
        cycles = self.window if cycles is None else cycles
        table = np.full((len(self.names), len(cycles)), NONE, np.int64)
        for place, row in enumerate(table):
            if len(row):
                own = self.signal == place
                row[:] = self.value[own][np.searchsorted(self.cycle[own], np.asarray(cycles), side="right") - 1]
        return table

    def text(self, place: int, value: int) -> str:
        """A value of the signal at ``place`` in words."""
        if self.kinds[place] in NUMBERS:
            return str(value)
        return "" if value == NONE else self.texts[value]

    def columns(self) -> dict[str, NDArray[Any]]:
        """Every column and table of names by its name, for saving."""
        named = {name: np.asarray(getattr(self, name), np.str_) for name in _NAMES}
        numbers = {name: getattr(self, name) for name in _CHANGES}
        window = np.array([self.window.start, self.window.stop])
        return {"schema": np.asarray(SCHEMA), **named, "window": window, **numbers}

    def save(self, path: Path | str) -> None:
        """Write the columns as an .npz file.

        Raises:
            OSError: the file cannot be written.
        """
        write_npz(Path(path), self.columns(), compressed=True)

    @classmethod
    def load(cls, path: Path | str) -> Signals:
        """Read what was saved.

        Raises:
            ArrayError: no such file, or columns that are not those of a state log, all at once.
        """
        path = Path(path)
        must_be_file(path, ArrayError)
        columns = read_npz(path, most_bytes=LARGEST_SIGNALS_BYTES)
        if str(columns.pop("schema", np.asarray("none"))) != SCHEMA:
            raise ArrayError(
                f"{path}: must be a state log of the version {SCHEMA}, which `tilesim run --signals` writes"
            )
        refuse((f"{path}: {fault}" for fault in _faults(columns)), ArrayError)
        names, kinds, texts = (tuple(columns[name].tolist()) for name in _NAMES)
        numbers = (columns[name].astype(kind, copy=False) for name, kind in _CHANGES.items())
        return cls(names, kinds, texts, range(*columns["window"].tolist()), *numbers)


_NAMES = ("names", "kinds", "texts")
_CHANGES = {"signal": np.int32, "cycle": np.int64, "value": np.int64}


def _faults(columns: dict[str, NDArray[Any]]) -> list[str]:
    """What keeps ``columns`` from being those of a state log."""
    wanted = [*_NAMES, "window", *_CHANGES]
    if missing := [name for name in wanted if name not in columns]:
        return [f"column {name} is missing" for name in missing]
    faults = [f"column {name} must be of names" for name in _NAMES if columns[name].dtype.kind != "U"]
    faults += [f"column {name} must be of integers" for name in wanted[3:] if columns[name].dtype.kind != "i"]
    faults += [f"column {name} must have one dimension" for name in (*_NAMES, "signal") if columns[name].ndim != 1]
    faults += [
        f"column {name} must have at most {MOST_TRACE_NAMES} names, not {columns[name].size}"
        for name in _NAMES
        if columns[name].size > MOST_TRACE_NAMES
    ]
    shapes = {"kinds": columns["names"].shape, "window": (2,)} | dict.fromkeys(_CHANGES, columns["signal"].shape)
    faults += [
        f"column {name} must have the shape {shape}, not {columns[name].shape}"
        for name, shape in shapes.items()
        if columns[name].shape != shape
    ]
    return faults or _strange_names(columns) or _strange_changes(columns)


def _strange_names(columns: dict[str, NDArray[Any]]) -> list[str]:
    names, kinds, (start, stop) = columns["names"], columns["kinds"], columns["window"].tolist()
    odd = sorted(set(kinds.tolist()) - set(KINDS))
    faults = [f"column kinds: each {unknown(kind, KINDS)}" for kind in odd[:1]]
    if len(set(names.tolist())) < len(names):
        faults.append("column names must have no name twice")
    if not 0 <= start <= stop < MOST:
        faults.append(f"column window must be two cycles from 0 to {MOST - 1} in their order, not {start} and {stop}")
    elif (values := (stop - start) * len(names)) > MOST_SIGNAL_VALUES:
        faults.append(f"column window must be of at most {MOST_SIGNAL_VALUES} cycles x signals, not {values}")
    return faults


def _strange_changes(columns: dict[str, NDArray[Any]]) -> list[str]:
    signal, cycle, value = (columns[name] for name in _CHANGES)
    count, (start, stop) = len(columns["names"]), columns["window"].tolist()
    if signal.size and not 0 <= signal.min() <= signal.max() < count:
        return [f"column signal must hold numbers from 0 to {count - 1}"]
    faults = []
    first = np.arange(count if stop > start else 0)
    if not np.array_equal(signal[: len(first)], first) or (cycle[: len(first)] != start).any():
        faults.append("column signal must begin with every signal once, at the window's start")
    if signal.size and not start <= cycle.min() <= cycle.max() < stop:
        faults.append(f"column cycle must hold numbers from {start} to {stop - 1}")
    later, same = cycle[1:] > cycle[:-1], cycle[1:] == cycle[:-1]
    if not (later | same & (signal[1:] > signal[:-1])).all():
        faults.append("columns cycle and signal must rise: a signal changes once a cycle")
    numbers = np.isin(columns["kinds"], NUMBERS)[signal]
    least, end = np.where(numbers, 0, NONE), np.where(numbers, MOST, len(columns["texts"]))
    if not ((least <= value) & (value < end)).all():
        faults.append("column value must hold counts of flags and fills, else places in texts or -1")
    return faults
