"""Spans in columns."""

import numpy as np

from tilesim.sim.trace.spans import Names, Spans, adjoining, cut, joined, trace_of
from tilesim.sim.trace.wakeups import Wakeups

NOBODY = Wakeups([], [], *np.zeros((5, 0), np.int64))
NAMES = Names(["a", "b", "c"], ["idle", "stall:flag", "busy"], ["y", "x", ""], ["first"], {"x": 0})


def spans(*rows: tuple[int, ...]) -> Spans:
    return Spans(*np.array(rows, np.int64).reshape(-1, 5).T)


def rows(columns: Spans) -> list[tuple[int, ...]]:
    return [tuple(map(int, row)) for row in zip(*columns, strict=True)]


def test_adjoining_spans_of_one_kind_and_instruction_become_one() -> None:
    given = spans((0, 2, 2, 1, 8), (2, 3, 2, 1, 4), (5, 1, 1, 1, 0), (6, 1, 1, 0, 0), (8, 1, 1, 0, 0))
    found = joined(given, adjoining(given))
    assert rows(found) == [(0, 5, 2, 1, 12), *rows(given)[2:]]


def test_a_window_cuts_bytes_in_proportion() -> None:
    given = spans((0, 4, 2, 1, 10), (4, 4, 2, 1, 10), (8, 4, 2, 1, 10))
    assert rows(cut(given, range(3, 6))) == [(3, 1, 2, 1, 2), (4, 2, 2, 1, 5)]


def test_only_names_that_occur_are_in_a_trace_and_sorted() -> None:
    given = spans((1, 2, 1, 1, 0), (3, 1, 2, 1, 4), (0, 9, 2, 0, 0))
    trace = trace_of(np.array([0, 0, 2]), given, NAMES, 1, NOBODY, {})
    assert (trace.tracks, trace.kinds, trace.whats, trace.layers) == (
        ("a", "c"),
        ("busy", "stall:flag"),
        ("x", "y"),
        ("first",),
    )
    assert trace.track.tolist() == [0, 0, 1]
    assert trace.kind.tolist() == [1, 0, 0]
    assert trace.what.tolist() == [0, 0, 1]
    assert trace.layer_of.tolist() == [0, -1]
    assert trace.start == 1


def test_there_may_be_none() -> None:
    trace = trace_of(np.zeros(0, np.int64), spans(), NAMES, 0, NOBODY, {})
    assert (trace.tracks, trace.kinds, len(trace.released_by)) == ((), (), 0)
