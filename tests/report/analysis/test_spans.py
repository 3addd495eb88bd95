"""Cycles in bins: none is lost, none counts twice."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.report.saved import random_trace
from tilesim.report.analysis.spans import edges_of, run_spans

TRACKS = ("chip.a", "chip.b")


@given(st.integers(1, 10_000), st.integers(1, 300))
def test_bins_cover_the_run_and_differ_by_a_cycle(cycles: int, bins: int) -> None:
    edges = edges_of(cycles, bins)
    widths = np.diff(edges)
    assert (edges[0], edges[-1], len(widths)) == (0, cycles, min(cycles, bins))
    assert widths.min() >= 1
    assert np.ptp(widths) <= 1


@given(st.integers(0, 2**32), st.integers(0, 12), st.integers(0, 40), st.integers(1, 120), st.integers(1, 50))
def test_each_bin_has_the_cycles_that_lie_in_it(seed: int, spans: int, start: int, cycles: int, bins: int) -> None:
    trace = random_trace(seed, TRACKS, spans, start)
    of = run_spans({"cycles": cycles}, trace, TRACKS)
    edges = edges_of(cycles, bins)
    for place, track in enumerate(TRACKS):
        taken = np.zeros(cycles, np.int64)
        for k in np.flatnonzero(trace.track == place):
            first = trace.start_cycle[k] - start
            taken[max(first, 0) : max(first + trace.cycles[k], 0)] += 1
        np.testing.assert_array_equal(of[track].per_bin(edges), np.add.reduceat(taken, edges[:-1]))


def test_a_track_that_was_not_recorded_has_no_spans() -> None:
    trace = replace(random_trace(0, TRACKS, 3), tracks=("chip.a", "chip.c"))
    assert run_spans({"cycles": 50}, trace, ["chip.b"])["chip.b"].cycles.sum() == 0
