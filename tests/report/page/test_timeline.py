"""The spans as they are packed for the browser: nothing is lost, and every share follows from sums."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.report.saved import made_up, random_trace
from tilesim.report.page.timeline import NO_TRACE, pack, stacked, timeline
from tilesim.sim.trace.trace import Trace

TRACKS = ("chip.infeed", "chip.ring.link0", "chip.tile0.tensor")


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    tracks = TRACKS[: draw(st.integers(1, 3))]
    return random_trace(draw(st.integers(0, 2**32)), tracks, draw(st.integers(0, 12)), draw(st.integers(0, 20)))


def unpacked(trace: Trace) -> dict[str, Any]:
    """What the page makes of the columns: track, kind and start of every span."""
    columns, kinds = pack(trace, len(trace.tracks)), len(trace.kinds)
    first = columns["first"]
    series = np.repeat(np.arange(len(first) - 1), np.diff(first))
    starts = np.zeros(len(series), np.int64)
    for a, b in pairwise(first):
        end = int(trace.start_cycle.min()) if trace.start_cycle.size else 0
        for i in range(a, b):
            starts[i] = end + columns["gap"][i]
            end = starts[i] + columns["cycles"][i]
    return {**columns, "track": series // kinds, "kind": series % kinds, "start": starts}


@given(traces())
def test_every_span_arrives(trace: Trace) -> None:
    found = unpacked(trace)
    names = ("track", "start", "cycles", "what", "bytes")
    there = [tuple(int(found[name][i]) for name in names) for i in range(len(found["start"]))]
    columns = (trace.track, trace.start_cycle, trace.cycles, trace.what, trace.bytes)
    assert sorted(there) == sorted(zip(*(column.tolist() for column in columns), strict=True))
    kinds = stacked(trace.kinds)
    of = dict(zip(zip(trace.track.tolist(), trace.start_cycle.tolist(), strict=True), trace.kind.tolist(), strict=True))
    for track, start, kind in zip(
        found["track"].tolist(), found["start"].tolist(), found["kind"].tolist(), strict=True
    ):
        assert kinds[kind] == trace.kinds[of[track, start]]


@given(traces())
def test_what_released_a_stall_is_the_same_span(trace: Trace) -> None:
    found = unpacked(trace)
    place = {key: i for i, key in enumerate(zip(found["track"].tolist(), found["start"].tolist(), strict=True))}
    keys = list(zip(trace.track.tolist(), trace.start_cycle.tolist(), strict=True))
    for key, releasing in zip(keys, trace.released_by.tolist(), strict=True):
        assert found["released_by"][place[key]] == (place[keys[releasing]] if releasing >= 0 else -1)


@given(traces(), st.integers(0, 60), st.integers(1, 60))
def test_sums_give_the_cycles_of_a_kind_in_any_window(trace: Trace, begin: int, length: int) -> None:
    found, (a, b) = unpacked(trace), (begin, begin + length)
    sums = np.concatenate([[0], np.cumsum(found["cycles"])])

    def before(series: int, t: int) -> int:
        first, last = found["first"][series : series + 2]
        i = int(first + np.searchsorted(found["start"][first:last], t, side="right")) - 1
        inside = min(t - int(found["start"][i]), int(found["cycles"][i])) if i >= first else 0
        return int(sums[max(i, first)]) + inside

    kinds = stacked(trace.kinds)
    for series in range(len(found["first"]) - 1):
        track, kind = divmod(series, len(kinds))
        ours = (trace.track == track) & (trace.kind == trace.kinds.index(kinds[kind]))
        spans = zip(trace.start_cycle[ours].tolist(), trace.cycles[ours].tolist(), strict=True)
        expected = sum(len(range(max(a, start), min(b, start + cycles))) for start, cycles in spans)
        assert before(series, b) - before(series, a) == expected


def test_kinds_are_stacked_busy_first_and_strange_ones_last() -> None:
    assert stacked(["stall:weights", "stall:port", "busy", "stall:flag"]) == [
        *("busy", "stall:flag", "stall:port", "stall:weights"),
    ]


def test_without_a_trace_it_says_how_to_get_one() -> None:
    assert timeline(made_up(None)).data == {"missing": NO_TRACE}
    assert "--trace" in NO_TRACE


def test_a_part_of_a_trace_is_said_to_be_one() -> None:
    trace = random_trace(1, TRACKS[:1], 10)
    busy = trace.cycles[trace.kind == 0].sum()
    account = {"track": TRACKS[0], "busy_cycles": int(busy), "stall_cycles": {"any": int(trace.cycles.sum() - busy)}}
    assert timeline(made_up(trace, units=[account])).data["note"] is None
    more = timeline(made_up(trace, units=[account], links=[{**account, "track": TRACKS[1]}])).data["note"]
    assert more.startswith("Only a part was traced: 1 of 2 tracks, cycles ")
    empty = replace(random_trace(1, TRACKS[:1], 0), tracks=())
    note = timeline(replace(made_up(None, units=[account]), trace=empty)).data["note"]
    assert note == "The trace is empty: nothing happened in its window, or on its tracks."


def test_units_that_never_did_anything_are_there() -> None:
    trace = random_trace(1, TRACKS[:1], 10)
    idle = {"track": "chip.tile0.tensor", "busy_cycles": 0, "stall_cycles": {"flag": 0}, "idle_cycles": 9}
    left_out = {**idle, "track": "chip.tile1.tensor", "busy_cycles": 9}
    section = timeline(made_up(trace, units=[idle, left_out]))
    assert section.data["tracks"] == (TRACKS[0], "chip.tile0.tensor")
    assert len(section.columns["first"]) == 2 * len(trace.kinds) + 1
    assert section.columns["first"][-1] == section.columns["first"][len(trace.kinds)] == trace.cycles.size


def test_lanes_are_layers_or_of_several_inferences_these() -> None:
    trace = random_trace(1, TRACKS[:1], 10)
    layer = {"name": "a", "kind": "convolution", "start_cycle": 3, "cycles": 7, "bound_by": "macs"}
    layer |= {"macs": 0, "mac_busy_cycles": 7}
    never = {**layer, "start_cycle": None, "cycles": 0}
    lanes = timeline(made_up(trace, layers=[never, layer])).data["lanes"]
    assert [tuple(lane[key] for key in ("number", "name", "start", "cycles")) for lane in lanes] == [("1", "a", 3, 7)]
    assert lanes[0]["words"] == "layer 1, convolution, bound by MAC array: a"
    requests = [{"network": "n", "start_cycle": 5 * k, "end_cycle": 5 * k + 9} for k in range(2)]
    lanes = timeline(made_up(trace, layers=[layer], inferences=2, requests=requests)).data["lanes"]
    assert [tuple(lane[key] for key in ("number", "name", "start", "cycles")) for lane in lanes] == [
        ("0", "n", 0, 9),
        ("1", "n", 5, 9),
    ]
