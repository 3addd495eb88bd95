"""Two runs on one axis: every span of both is there, where it was, in cycles or in ticks of a common clock."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import lcm
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.saved import made_up, random_trace
from tilesim.report.document import SavedRun
from tilesim.report.page.build import PageSection
from tilesim.report.page.timeline_pair import UNLIKE_CLOCKS, timeline_pair
from tilesim.sim.trace.trace import Trace

TRACKS = ("chip.infeed", "chip.ring.link0", "chip.tile0.mac_array", "chip.tile0.tensor")
IDLE = {"track": "chip.tile1.tensor", "busy_cycles": 0, "stall_cycles": {}, "idle_cycles": 9}


def pair(first: SavedRun, second: SavedRun) -> PageSection:
    section = timeline_pair({"a": first, "b": second})
    assert section is not None
    return section


def spans(section: PageSection) -> Counter[tuple[Any, ...]]:
    """Track, kind, start, cycles, instruction and its layer of every span on the page."""
    data, columns = section.data, section.columns
    first, kinds = columns["first"], data["kinds"]
    found: Counter[tuple[Any, ...]] = Counter()
    for series in range(len(first) - 1):
        end, (track, kind) = data["origin"], divmod(series, len(kinds))
        for i in range(first[series], first[series + 1]):
            start = end + int(columns["gap"][i])
            end = start + int(columns["cycles"][i])
            what = int(columns["what"][i])
            layer = int(columns["layer_of"][what])
            name = data["layers"][layer]["name"] if layer >= 0 else None
            found[data["tracks"][track], kinds[kind]["kind"], start, end - start, data["whats"][what], name] += 1
    return found


def of_run(name: str, trace: Trace, factor: int) -> Counter[tuple[Any, ...]]:
    rows = zip(trace.track, trace.kind, trace.start_cycle, trace.cycles, trace.what, strict=True)
    return Counter(
        (
            *(f"{name} {trace.tracks[track]}", trace.kinds[kind]),
            *(int(start - trace.start) * factor, int(cycles) * factor, trace.whats[what]),
            trace.layers[trace.layer_of[what]] if trace.layer_of[what] >= 0 else None,
        )
        for track, kind, start, cycles, what in rows
    )


@given(st.integers(0, 2**32), st.integers(0, 9), st.sampled_from([(500, 500), (500, 700), (3, 4)]))
def test_every_span_of_both_is_where_it_was(seed: int, start: int, clocks: tuple[int, int]) -> None:
    first, second = random_trace(seed, TRACKS, 5, start), random_trace(seed + 1, TRACKS[1:], 7)
    second = replace(second, kinds=("stall:port", "busy", "stall:weights"))
    runs = [made_up(trace, clock_hz=clock) for trace, clock in zip((first, second), clocks, strict=True)]
    section = pair(*runs)
    factors = [lcm(*clocks) // clock for clock in clocks]
    assert spans(section) == of_run("a", first, factors[0]) + of_run("b", second, factors[1])
    assert section.data["ticks_hz"] == (0 if clocks[0] == clocks[1] else lcm(*clocks))
    ends = [run.statistics["cycles"] * factor for run, factor in zip(runs, factors, strict=True)]
    assert section.data["cycles"] == max(ends)


def test_groups_counters_and_roles_say_the_tracks_of_their_runs() -> None:
    runs = [made_up(random_trace(k, TRACKS[k:], 5), units=[IDLE]) for k in range(2)]
    data = pair(*runs).data
    assert sorted(place for group in data["groups"] for place in group["tracks"]) == list(range(len(data["tracks"])))
    for group in data["groups"]:
        assert {data["tracks"][place][0] for place in group["tracks"]} == {"ab"[group["run"]]}
        assert group["title"].startswith(f"{group['run'] + 1}: ")
    for track, role in zip(data["tracks"], data["role_of"], strict=True):
        assert data["roles"][role].startswith("1: " if track.startswith("a ") else "2: ")
    assert [track for track in data["tracks"] if "tile1" in track] == ["a chip.tile1.tensor", "b chip.tile1.tensor"]
    assert data["note"].startswith("1: a, 2: b.")


def test_findings_and_layers_of_both_are_marked() -> None:
    layer = {"name": "x", "kind": "convolution", "start_cycle": 3, "cycles": 7, "bound_by": "macs"}
    layer |= {"macs": 0, "mac_busy_cycles": 0}
    finding = {"kind": "strange", "section": "run", "cycle": 5}
    runs = [
        made_up(random_trace(1, TRACKS, 5), layers=[layer], findings=[finding], clock_hz=clock) for clock in (500, 250)
    ]
    data = pair(*runs).data
    assert [(lane["run"], lane["start"], lane["cycles"]) for lane in data["lanes"]] == [(0, 3, 7), (1, 6, 14)]
    assert [(mark["cycle"], mark["words"][:2]) for mark in data["findings"]] == [(5, "1:"), (10, "2:")]
    assert data["factors"] == [1] * 4 + [2] * 4


def test_clocks_without_a_common_measure_are_said() -> None:
    trace = random_trace(1, TRACKS, 5)
    late = replace(trace, start_cycle=trace.start_cycle + 2**40)
    data = pair(made_up(late, clock_hz=500_000_009), made_up(late, clock_hz=700_000_001)).data
    assert (data["ticks_hz"], set(data["factors"])) == (0, {1})
    assert UNLIKE_CLOCKS in data["note"]


@pytest.mark.parametrize("traced", [(True, False), (False, True), (False, False)])
def test_without_both_traces_there_is_none(traced: tuple[bool, bool]) -> None:
    first, second = (made_up(random_trace(1, TRACKS, 5) if each else None) for each in traced)
    assert timeline_pair({"a": first, "b": second}) is None
    assert timeline_pair({"a": first}) is None


def test_what_released_a_stall_is_of_the_same_run() -> None:
    section = pair(made_up(random_trace(1, TRACKS, 30)), made_up(random_trace(2, TRACKS, 30)))
    columns, kinds = section.columns, len(section.data["kinds"])
    series = np.searchsorted(columns["first"], np.arange(len(columns["gap"])), side="right") - 1
    run = (series // kinds) >= len(TRACKS)
    released = columns["released_by"]
    assert (released >= 0).sum() > 20
    assert (run[released[released >= 0]] == run[released >= 0]).all()
