from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tests.report.traced import small
from tilesim.report.lanes import Episode, Lane, apart, lanes

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
