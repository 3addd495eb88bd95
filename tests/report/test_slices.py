from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.traced import small
from tilesim.report import slices
from tilesim.report.slices import LONGEST, Episode, Lane, Slices, SpanRow, apart, lanes, shown, slice_name


def test_releases_connect_slices() -> None:
    _, trace = small()
    found = Slices(trace)
    assert list(found.of(0)) == [SpanRow(9, 4, 0, 1, 64, [3], 0)]
    assert list(found.of(1)) == [SpanRow(12, 5, 0, 1, 0, [4], 0)]
    assert [each.release for each in found.of(2)] == [3, 4, 0]


@pytest.mark.parametrize("together", [1, 2, 3])
def test_pieces_make_no_difference(monkeypatch: pytest.MonkeyPatch, together: int) -> None:
    _, trace = small()
    several = replace(trace, released_by=np.array([-1, -1, 0, 0, 2], np.int32))
    whole = [list(Slices(several).of(k)) for k in range(3)]
    monkeypatch.setattr(slices, "TOGETHER", together)
    assert [list(Slices(several).of(k)) for k in range(3)] == whole
    assert [each.releases for track in whole for each in track] == [[3, 4], [], [5], [], []]


def test_names() -> None:
    assert slice_name("send", "busy") == "send"
    assert slice_name("send", "stall:port") == "send (stall:port)"
    assert slice_name("", "stall:work") == "stall:work"
    assert shown("a\nb\x1b\u202e\udc80") == "a\\nb\\x1b\\u202e\\udc80"
    assert len(shown(9 * LONGEST * "x")) == LONGEST


episodes = st.builds(Episode, st.just("x"), st.integers(0, 20), st.integers(1, 20))


@given(st.lists(episodes))
def test_episodes_of_a_lane_never_overlap_and_none_is_lost(given_: list[Episode]) -> None:
    found = apart(iter(given_))
    assert sorted(each for lane in found for each in lane) == sorted(given_)
    for lane in found:
        assert all(a.end <= b.start_cycle for a, b in pairwise(lane))
    together = max((sum(e.start_cycle <= t < e.end for e in given_) for t in range(40)), default=0)
    assert len(found) == together


def test_layers_that_overlap_take_several_lanes() -> None:
    statistics, _ = small()
    statistics["layers"] += [
        {"name": "next", "start_cycle": 15, "cycles": 5},
        {"name": "at host", "start_cycle": None, "cycles": 0},
    ]
    assert lanes(statistics, 10) == [
        Lane("section", [Episode("loading", 0, 8), Episode("run", 10, 20)]),
        Lane("layers", [Episode("send", 12, 18)]),
        Lane("layers", [Episode("next", 25, 5)]),
    ]


def test_of_several_inferences_these_are_shown() -> None:
    statistics, _ = small()
    requests = [
        {"network": "net", "start_cycle": 0, "end_cycle": 12},
        {"network": "net", "start_cycle": 9, "end_cycle": 20},
    ]
    found = lanes(statistics | {"inferences": 2, "requests": requests, "load_cycles": 0}, 0)
    assert found == [
        Lane("section", [Episode("run", 0, 20)]),
        Lane("inferences", [Episode("inference 1: net", 0, 12)]),
        Lane("inferences", [Episode("inference 2: net", 9, 11)]),
    ]
