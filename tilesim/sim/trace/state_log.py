"""Collects the state log while a machine runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tilesim.budgets import MOST_SIGNAL_VALUES
from tilesim.sim.trace.recorder import Recorder
from tilesim.sim.trace.signals import NONE, NUMBERS, Signals, Words
from tilesim.sim.trace.trace import Trace
from tilesim.sim.trace.wakeups import BUSY

NEVER = 1 << 62


class Signal:
    """A signal as it changes: ``first`` and the last value before the window, and those within it by their cycles."""

    __slots__ = ("changes", "first", "kind", "name", "value")

    def __init__(self, name: str, kind: str) -> None:
        self.name = name
        self.kind = kind
        self.first = NEVER
        self.value = 0 if kind in NUMBERS else NONE
        self.changes: list[tuple[int, int]] = []

    def set(self, cycle: int, value: int) -> None:
        """From ``cycle`` on, which may be still to come, it is ``value``, if nothing that is told later says else."""
        if cycle <= self.first:
            self.value = value
        else:
            self.changes.append((cycle, value))

    def columns(self) -> Words:
        """Cycles and values, (2, changes), in the order of cycle, of each cycle what was told last."""
        cycle, value = np.array([(self.first, self.value), *self.changes], np.int64).T
        order = np.argsort(cycle, kind="stable")
        return np.stack([cycle[order], value[order]])


class Tally(Signal):
    """A signal that is told by how much it changes."""

    __slots__ = ()

    def add(self, cycle: int, change: int) -> None:
        """From ``cycle`` on it is so much more."""
        if cycle <= self.first:
            self.value += change
        else:
            self.changes.append((cycle, change))

    def columns(self) -> Words:
        cycle, change = super().columns()
        return np.stack([cycle, np.cumsum(change)])


class _Stretch(NamedTuple):
    """Something that a unit was at from one cycle up to another."""

    start: int
    end: int
    text: str


class StateLog:
    """Collects what signals hold in the ``window`` of a run, or as much of it as :data:`MOST_SIGNAL_VALUES` allows.

    Of flags, queues and the ring their owners tell; what units and the links of the mesh are at is made of the
    ``spans``, of which there must be all.
    """

    def __init__(self, window: range) -> None:
        self.spans = Recorder()
        self._window = window
        self._start = 0
        self._signals: list[Signal] = []
        self._units: list[Signal] = []
        self._texts: dict[str, int] = {}

    def signal(self, name: str, kind: str) -> Signal:
        """A new signal, whose owner tells of each change."""
        self._signals.append(Signal(name, kind))
        return self._signals[-1]

    def tally(self, name: str) -> Tally:
        """A new fill, whose owner tells by how much it changes."""
        tally = Tally(name, "fill")
        self._signals.append(tally)
        return tally

    def unit(self, track: str, kind: str) -> None:
        """Log which instruction, or word, the unit or link ``track`` is at."""
        signal = self.signal(track, kind)
        self._units.append(signal)

    def teller(self, name: str, kind: str, now: Callable[[], int]) -> Callable[[int], None]:
        """What the owner of a new signal calls with each value that it gets, in that cycle."""
        signal = self.signal(name, kind)
        return lambda value: signal.set(now(), value)

    def number(self, text: str) -> int:
        """The number of a text."""
        return self._texts.setdefault(text, len(self._texts))

    def begin(self, cycle: int) -> None:
        """What was before ``cycle`` was loading; here the run begins."""
        self._start = cycle
        self.spans.begin(cycle)
        for signal in self._signals:
            signal.first = cycle + self._window.start

    def signals(self, cycles: int) -> Signals:
        """What was logged of a run of so many ``cycles``."""
        most = MOST_SIGNAL_VALUES // max(1, len(self._signals))
        end = min(self._window.stop, self._window.start + most, max(cycles, self._window.start))
        window = range(self._window.start, end)
        self._read_spans(self.spans.trace(), range(window.start + self._start, window.stop + self._start))
        columns = [_clipped(signal.columns(), window.stop + self._start) for signal in self._signals if window]
        signal = np.repeat(np.arange(len(columns)), [column.shape[1] for column in columns])
        cycle, value = np.concatenate([np.zeros((2, 0), np.int64), *columns], axis=1)
        order = np.lexsort((signal, cycle))
        signal, cycle, value = signal[order], cycle[order] - self._start, value[order]
        names, kinds = (tuple(getattr(one, name) for one in self._signals) for name in ("name", "kind"))
        texts, value = self._sorted(np.isin(kinds, NUMBERS)[signal], value)
        return Signals(names, kinds, texts, window, signal.astype(np.int32), cycle, value)

    def _sorted(self, numbers: NDArray[np.bool_], value: Words) -> tuple[tuple[str, ...], Words]:
        """The texts that values point at, sorted, and the values with their places there."""
        listed = list(self._texts)
        points = ~numbers & (value != NONE)
        used = sorted(np.unique(value[points]).tolist(), key=lambda number: listed[number])
        place = np.zeros(len(listed), np.int64)
        place[used] = np.arange(len(used))
        value[points] = place[value[points]]
        return tuple(listed[number] for number in used), value

    def _read_spans(self, trace: Trace, window: range) -> None:
        places = {track: place for place, track in enumerate(trace.tracks)}
        for signal in self._units:
            stretches = _words if signal.kind == "word" else _instructions
            for start, end, text in stretches(trace, places.get(signal.name, -1), window):
                signal.set(start, self.number(text))
                signal.set(end, NONE)


def _instructions(trace: Trace, track: int, window: range) -> Iterator[_Stretch]:
    """The instructions that a unit was at in the ``window``, by their labels."""
    own = _of(trace, track)
    start = trace.start_cycle[own]
    end = start + trace.cycles[own]
    texts = (trace.whats[what] for what in trace.what[own].tolist())
    stretches = map(_Stretch, start.tolist(), end.tolist(), texts)
    return (one for one in stretches if one.end > window.start and one.start < window.stop and one.text)


def _words(trace: Trace, track: int, window: range) -> Iterator[_Stretch]:
    """The words that entered a link in the ``window``, one in each busy cycle, counted from the instruction's first."""
    own = _of(trace, track)
    sent: dict[int, int] = {}
    columns = (trace.start_cycle[own], trace.cycles[own], trace.what[own], trace.kind[own])
    for start, cycles, what, kind in zip(*(column.tolist() for column in columns), strict=True):
        if trace.kinds[kind] != BUSY:
            continue
        first = sent.get(what, 0)
        sent[what] = first + cycles
        for cycle in range(max(start, window.start), min(start + cycles, window.stop)):
            yield _Stretch(cycle, cycle + 1, f"{trace.whats[what]} {first + cycle - start}")


def _of(trace: Trace, track: int) -> slice:
    """The spans of a track."""
    return slice(*np.searchsorted(trace.track, [track, track + 1]).tolist())


def _clipped(columns: Words, stop: int) -> Words:
    """Changes before ``stop`` that are any, one in a cycle."""
    columns = columns[:, columns[0] < stop]
    columns = columns[:, np.append(columns[0, 1:] > columns[0, :-1], True)]
    return columns[:, np.append(True, columns[1, 1:] != columns[1, :-1])]
