"""Spans of a trace in columns: joined, cut to a window, and made a trace of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tilesim.sim.trace.trace import Numbers, Trace, Words, pieces
from tilesim.sim.trace.wakeups import Wakeups, WakeupSources, note_wakers

FEW_NAMES = 16
"""So few are looked for one after the other, which is sooner done than to look at each number."""


class Spans(NamedTuple):
    """Some spans as columns; ``kind`` and ``what`` are places in lists of names."""

    start: Words
    cycles: Words
    kind: Words
    what: Words
    bytes: Words


class Names(NamedTuple):
    """What the names are of all that spans have numbers of: those of tracks sorted."""

    tracks: Sequence[str]
    kinds: Sequence[str]
    whats: Sequence[str]
    layers: Sequence[str]
    layer_of: Mapping[str, int]
    """Which of the layers an instruction is of."""


def adjoining(spans: Spans) -> NDArray[np.bool_]:
    """Whether each of the spans of a track, in the order of their starts, goes on in the next one: with the same kind
    and instruction.
    """
    same: NDArray[np.bool_] = spans.start[1:] == (spans.start + spans.cycles)[:-1]
    for column in (spans.kind, spans.what):
        same &= column[1:] == column[:-1]
    return same


def joined(spans: Spans, same: NDArray[np.bool_]) -> Spans:
    """Those that are the ``same`` as the next one become one with it; the columns are no longer good for anything."""
    later = np.flatnonzero(same) + 1
    if not len(later):
        return spans
    begins = np.append(True, np.diff(later) > 1)
    heads = (later[begins] - 1)[np.cumsum(begins) - 1]
    for column in (spans.cycles, spans.bytes):
        np.add.at(column, heads, column[later])
    kept = np.append(True, ~same)
    return Spans(*(column[kept] for column in spans))


def cut(spans: Spans, window: range) -> Spans:
    """What lies within ``window``, with as large a part of the bytes."""
    first = np.maximum(spans.start, window.start)
    within = np.minimum(spans.start + spans.cycles, window.stop) - first
    some = np.flatnonzero(within > 0)
    moved = spans.bytes[some] * within[some] // spans.cycles[some]
    return Spans(first[some], within[some], spans.kind[some], spans.what[some], moved)


def trace_of(
    track: Words | Numbers, spans: Spans, names: Names, start: int, wakeups: Wakeups, wakeup_sources: WakeupSources
) -> Trace:
    """The trace of spans by track, in the order of their starts; only names that occur are in it. The columns become
    its own. ``wakeup_sources`` says who lets a track's stalls of a kind end, where no wakeup does.
    """
    tracks, track_place = _occurring(names.tracks, track)
    kinds, kind_place = _occurring(names.kinds, spans.kind)
    whats, what_place = _occurring(names.whats, spans.what)
    trace = Trace(
        tracks,
        kinds,
        whats,
        tuple(names.layers),
        _renumbered(track, track_place),
        spans.start,
        spans.cycles,
        _renumbered(spans.kind, kind_place),
        _renumbered(spans.what, what_place),
        spans.bytes,
        np.full(len(track), -1, np.int32),
        np.array([names.layer_of.get(name, -1) for name in whats], np.int32),
        start,
    )
    note_wakers(trace, wakeups, wakeup_sources)
    return trace


def _renumbered(numbers: Words | Numbers, place: Numbers) -> Numbers:
    """The place of each number, where that has stood if there is room."""
    places: Numbers = numbers.astype(np.int32, copy=False)
    if (place != np.arange(len(place))).any():
        for part in pieces(len(places)):
            place.take(places[part], out=places[part], mode="clip")
    return places


def _occurring(names: Sequence[str], numbers: Words | Numbers) -> tuple[tuple[str, ...], Numbers]:
    """The names that occur, sorted, and for each number the place of its name among them."""
    occurring = sorted((names[k], k) for k in np.flatnonzero(_seen(numbers, len(names))).tolist())
    place = np.zeros(max(len(names), 1), np.int32)
    place[[k for _, k in occurring]] = np.arange(len(occurring))
    return tuple(name for name, _ in occurring), place


def _seen(numbers: Words | Numbers, most: int) -> NDArray[np.bool_]:
    """Which numbers occur, of so many."""
    seen = np.zeros(most, np.bool_)
    for part in pieces(len(numbers)):
        some = numbers[part]
        if most <= FEW_NAMES:
            for k in np.flatnonzero(~seen).tolist():
                seen[k] = (some == k).any()
        else:
            follows = np.append(True, some[1:] != some[:-1])  # of which there are few among so many that are alike
            seen[some[follows]] = True
    return seen
