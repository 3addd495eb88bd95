"""The critical path: steps without a gap, which add up to the run; known paths by construction."""

from __future__ import annotations

import pathlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.saved import made_up, random_trace
from tilesim import api
from tilesim.machines.host import random_inputs
from tilesim.report.analysis.critical_path import (
    NOT_RECORDED,
    ON_ITS_WAY,
    CriticalPath,
    critical_path,
    layer_shares,
    roles_of,
    shares,
)
from tilesim.report.document import SavedRun
from tilesim.sim.trace.recorder import Recorder, Recording, Waker
from tilesim.sim.trace.trace import Trace

TRACKS = (
    "chip.controller",
    "chip.host.infeed",
    "chip.instruction_bus.stop0",
    "chip.instruction_bus.stop1",
    "chip.ring.link0",
    "chip.ring.link1",
    "chip.tile0.mac_array",
    "chip.tile0.ring_consumer",
    "chip.tile0.ring_producer",
    "chip.tile0.tensor",
    "chip.tile1.mac_array",
)
Spans = list[tuple[str, int, int, str, str]]
"""A track, a start, cycles, a kind and an instruction each."""


def trace(spans: Spans, released: Sequence[tuple[str, int, str, str]] = (), start: int = 0) -> Trace:
    """``released``: a track, the cycle in which its stall ends, and who let it end with which instruction."""
    recorder = Recorder()
    recorder.begin(start)
    for track, first, cycles, kind, what in spans:
        recorder.record(f"chip.{track}", first, cycles, kind, what, 0)
    for track, cycle, by, instruction in released:
        recorder.wake_up(f"chip.{track}", cycle, Waker(f"chip.{by}", instruction))
    return recorder.trace(("conv",), {what: 0 for *_, what in spans if what.startswith("conv")})


def path_of(found: Trace, **statistics: Any) -> CriticalPath:
    return critical_path(made_up(found, **statistics).statistics, found)


def steps(path: CriticalPath) -> list[tuple[str, int, int, str]]:
    """A track without the chip, the first cycle and that after the last, and what it did, each."""
    return [
        (path.tracks[track].removeprefix("chip.") if track >= 0 else "", start, start + cycles, path.kinds[kind])
        for track, start, cycles, kind in zip(
            path.track.tolist(), path.start.tolist(), path.cycles.tolist(), path.kind.tolist(), strict=True
        )
    ]


def must_add_up(path: CriticalPath, cycles: int) -> None:
    ends = path.start + path.cycles
    assert (path.cycles > 0).all()
    assert path.start[:1].tolist() == [0][:cycles]
    assert (path.start[1:] == ends[:-1]).all()
    assert path.cycles.sum() == cycles


# ---- any trace


@given(
    st.integers(0, 2**32),
    st.integers(1, len(TRACKS)),
    st.integers(0, 30),
    st.integers(0, 40),
    st.integers(0, 9),
)
def test_steps_follow_each_other_and_add_up(seed: int, tracks: int, spans: int, start: int, beyond: int) -> None:
    found = random_trace(seed, TRACKS[-tracks:], spans, start)
    ends = found.start_cycle + found.cycles - start
    cycles = max(int(ends.max(initial=0)) + beyond - 4, 1)
    path = path_of(found, cycles=cycles)
    must_add_up(path, cycles)
    statistics = made_up(found, cycles=cycles).statistics
    assert sum(share.cycles for share in shares(statistics, path)) == cycles
    assert sum(layer_shares(path).values()) == cycles


@given(st.integers(0, 2**32), st.integers(0, 150), st.integers(0, 150))
def test_shares_of_ranges_add_up_to_the_range(seed: int, one: int, other: int) -> None:
    found = random_trace(seed, TRACKS, 12)
    run = made_up(found)
    path, cycles = critical_path(run.statistics, found), run.statistics["cycles"]
    first, end = sorted((min(one, cycles), min(other, cycles)))
    found_shares = shares(run.statistics, path, range(first, end))
    assert sum(share.cycles for share in found_shares) == end - first
    assert [share.cycles for share in found_shares] == sorted((s.cycles for s in found_shares), reverse=True)


@given(st.integers(0, 2**32))
def test_a_step_of_a_span_lies_in_it(seed: int) -> None:
    found = random_trace(seed, TRACKS, 20)
    path = path_of(found)
    own = path.span >= 0
    span, start = path.span[own], path.start[own]
    assert (found.track[span] == path.track[own]).all()
    assert (found.kind[span] == path.kind[own]).all()
    assert (found.start_cycle[span] <= start).all()
    assert (start + path.cycles[own] <= found.start_cycle[span] + found.cycles[span]).all()
    assert {path.kinds[kind] for kind in path.kind[~own].tolist()} <= {ON_ITS_WAY, NOT_RECORDED}


# ---- paths that are known


def test_a_stall_goes_on_where_it_was_released() -> None:
    found = trace(
        [
            ("tile0.ring_producer", 0, 10, "busy", "send"),
            ("tile0.mac_array", 0, 4, "busy", "conv"),
            ("tile0.mac_array", 4, 6, "stall:flag", "conv"),
            ("tile0.mac_array", 10, 5, "busy", "conv"),
        ],
        [("tile0.mac_array", 10, "tile0.ring_producer", "send")],
    )
    assert steps(path_of(found)) == [("tile0.ring_producer", 0, 10, "busy"), ("tile0.mac_array", 10, 15, "busy")]


def test_what_is_left_of_a_stall_when_it_was_released_before_is_the_stall() -> None:
    found = trace(
        [
            ("tile0.ring_producer", 0, 8, "busy", "send"),
            ("tile0.mac_array", 0, 4, "busy", "conv"),
            ("tile0.mac_array", 4, 6, "stall:flag", "conv"),
            ("tile0.mac_array", 10, 5, "busy", "conv"),
        ],
        [("tile0.mac_array", 10, "tile0.ring_producer", "send")],
    )
    assert steps(path_of(found)) == [
        ("tile0.ring_producer", 0, 8, "busy"),
        ("tile0.mac_array", 8, 10, "stall:flag"),
        ("tile0.mac_array", 10, 15, "busy"),
    ]


def test_what_had_been_sent_before_the_stall_began_was_on_its_way() -> None:
    found = trace(
        [
            ("ring.link0", 0, 2, "busy", "send"),
            ("tile0.ring_consumer", 3, 1, "busy", "receive"),
            ("tile0.ring_consumer", 4, 6, "stall:fifo", "receive"),
            ("tile0.ring_consumer", 10, 1, "busy", "receive"),
        ],
        [("tile0.ring_consumer", 10, "ring.link0", "send")],
    )
    assert steps(path_of(found)) == [
        ("ring.link0", 0, 2, "busy"),
        ("ring.link0", 2, 4, ON_ITS_WAY),
        ("tile0.ring_consumer", 4, 10, "stall:fifo"),
        ("tile0.ring_consumer", 10, 11, "busy"),
    ]


def test_a_stall_of_which_nobody_knows_who_ended_it_is_a_step() -> None:
    found = trace([("tile0.mac_array", 0, 4, "stall:port", "conv"), ("tile0.mac_array", 4, 5, "busy", "conv")])
    path = path_of(found)
    assert steps(path) == [("tile0.mac_array", 0, 4, "stall:port"), ("tile0.mac_array", 4, 9, "busy")]
    assert layer_shares(path) == {0: 9}


def test_an_idle_unit_was_set_to_work_by_the_stop_that_delivered_the_instruction() -> None:
    found = trace(
        [
            ("controller", 0, 2, "busy", "conv0"),
            ("instruction_bus.stop0", 1, 2, "busy", "conv0"),
            ("instruction_bus.stop1", 2, 2, "busy", "conv0"),
            ("tile1.mac_array", 4, 6, "busy", "conv0"),
        ]
    )
    assert steps(path_of(found)) == [
        ("controller", 0, 1, "busy"),
        ("instruction_bus.stop0", 1, 2, "busy"),
        ("instruction_bus.stop1", 2, 4, "busy"),
        ("tile1.mac_array", 4, 10, "busy"),
    ]


def test_the_mac_array_stands_for_tensor_control_as_far_as_it_tells_more() -> None:
    found = trace(
        [
            ("tile0.tensor", 0, 10, "busy", "conv"),
            ("tile0.mac_array", 2, 7, "busy", "conv"),
            ("tile0.mac_array", 9, 1, "stall:fifo", "conv"),
            ("tile0.ring_producer", 0, 10, "stall:flag", "send"),
            ("tile0.ring_producer", 10, 3, "busy", "send"),
        ],
        [("tile0.ring_producer", 10, "tile0.tensor", "conv")],
    )
    assert steps(path_of(found)) == [
        ("tile0.mac_array", 0, 2, NOT_RECORDED),
        ("tile0.mac_array", 2, 9, "busy"),
        ("tile0.mac_array", 9, 10, "stall:fifo"),
        ("tile0.ring_producer", 10, 13, "busy"),
    ]


def test_a_releaser_that_stalled_until_then_goes_on_where_it_was_released() -> None:
    found = trace(
        [
            ("tile0.mac_array", 0, 2, "busy", "conv"),
            ("tile0.mac_array", 2, 6, "stall:flag", "conv"),
            ("tile0.mac_array", 8, 1, "busy", "conv"),
            ("ring.link0", 0, 8, "busy", "send"),
            ("tile0.ring_producer", 1, 7, "stall:fifo", "send2"),
            ("tile0.ring_producer", 8, 4, "busy", "send2"),
        ],
        [("tile0.ring_producer", 8, "tile0.mac_array", "conv"), ("tile0.mac_array", 8, "ring.link0", "send")],
    )
    assert steps(path_of(found)) == [("ring.link0", 0, 8, "busy"), ("tile0.ring_producer", 8, 12, "busy")]


def test_a_row_that_stood_before_its_consumer_waited_for_that() -> None:
    found = trace(
        [
            ("ring.link0", 0, 1, "busy", "send"),
            ("tile0.ring_consumer", 3, 4, "stall:flag", "receive"),
            ("tile0.ring_consumer", 7, 1, "busy", "receive"),
            ("tile0.mac_array", 0, 7, "busy", "conv"),
            ("ring.link1", 7, 2, "busy", "send"),
        ],
        [("tile0.ring_consumer", 7, "tile0.mac_array", "conv")],
    )
    assert steps(path_of(found)) == [("tile0.mac_array", 0, 7, "busy"), ("ring.link1", 7, 9, "busy")]


def test_a_full_buffer_is_freed_by_the_unit_that_its_instruction_is_for() -> None:
    found = trace(
        [
            ("tile0.mac_array", 0, 9, "busy", "conv0"),
            ("tile0.mac_array", 9, 3, "busy", "conv1"),
            ("instruction_bus.stop0", 2, 7, "stall:fifo", "conv2"),
            ("instruction_bus.stop0", 9, 4, "busy", "conv2"),
            ("tile0.mac_array", 13, 3, "busy", "conv2"),
        ]
    )
    assert steps(path_of(found)) == [
        ("tile0.mac_array", 0, 9, "busy"),
        ("instruction_bus.stop0", 9, 13, "busy"),
        ("tile0.mac_array", 13, 16, "busy"),
    ]


def test_the_load_before_the_run_is_no_part_of_it() -> None:
    found = trace([("host.infeed", 0, 30, "busy", "load"), ("host.infeed", 30, 5, "busy", "send")], start=20)
    assert steps(path_of(found, cycles=15)) == [("host.infeed", 0, 10, "busy"), ("host.infeed", 10, 15, "busy")]


def test_what_no_span_tells_is_not_recorded() -> None:
    late = trace([("host.infeed", 5, 3, "busy", "send")])
    assert steps(path_of(late, cycles=12)) == [
        ("host.infeed", 0, 5, NOT_RECORDED),
        ("host.infeed", 5, 8, "busy"),
        ("host.infeed", 8, 12, NOT_RECORDED),
    ]
    nothing = path_of(trace([]), cycles=7)
    assert steps(nothing) == [("", 0, 7, NOT_RECORDED)]
    assert [tuple(share) for share in shares(made_up(None).statistics, nothing)] == [("no unit", NOT_RECORDED, 7)]


def test_two_stalls_that_each_ended_the_other_come_to_an_end() -> None:
    found = trace(
        [
            ("tile0.mac_array", 0, 1, "busy", "a"),
            ("tile0.mac_array", 1, 4, "stall:flag", "a"),
            ("tile0.mac_array", 5, 1, "busy", "a"),
            ("tile0.ring_producer", 0, 1, "busy", "b"),
            ("tile0.ring_producer", 1, 4, "stall:flag", "b"),
            ("tile0.ring_producer", 5, 2, "busy", "b"),
        ],
        [("tile0.mac_array", 5, "tile0.ring_producer", "b"), ("tile0.ring_producer", 5, "tile0.mac_array", "a")],
    )
    must_add_up(path_of(found), 7)


def test_a_unit_that_was_released_by_the_one_it_tells_more_of_comes_to_an_end() -> None:
    found = trace(
        [
            ("tile0.tensor", 0, 9, "busy", "conv"),
            ("tile0.mac_array", 0, 6, "stall:flag", "conv"),
            ("tile0.mac_array", 6, 3, "busy", "conv"),
        ],
        [("tile0.mac_array", 6, "tile0.tensor", "conv")],
    )
    assert steps(path_of(found)) == [("tile0.tensor", 0, 6, "busy"), ("tile0.mac_array", 6, 9, "busy")]


# ---- real runs


def run(model: str, chip: str, recording: Recording | bool = True, **override: object) -> SavedRun:
    program = api.compile(api.load_network(model), api.load_topology(chip, override))
    made = api.simulate(program, random_inputs(program.inputs), trace=recording)
    return SavedRun(pathlib.Path("nowhere"), made.statistics, made.trace)


def cycles_by_role(of: SavedRun) -> dict[str, int]:
    assert of.trace is not None
    path = critical_path(of.statistics, of.trace)
    must_add_up(path, of.statistics["cycles"])
    found: dict[str, int] = {}
    for share in shares(of.statistics, path):
        found[share.units] = found.get(share.units, 0) + share.cycles
    return found


@pytest.mark.parametrize(
    ("model", "chip"), [("pocket", "pocket-2x1"), ("digits", "edge-2x2"), ("digits", "systolic-32")]
)
def test_shares_of_a_real_run_add_up_to_its_cycles_and_nothing_is_left_unexplained(model: str, chip: str) -> None:
    of = run(model, chip)
    assert of.trace is not None
    path = critical_path(of.statistics, of.trace)
    must_add_up(path, of.statistics["cycles"])
    assert not [share for share in shares(of.statistics, path) if share.kind == NOT_RECORDED]
    assert set(roles_of(of.statistics, path)) == {-1, *range(len(of.trace.tracks))}


def test_a_slower_host_takes_more_of_the_path() -> None:
    usual = cycles_by_role(run("digits", "edge-2x2"))
    slow = cycles_by_role(run("digits", "edge-2x2", **{"host.bytes_per_cycle": 1, "host.latency_cycles": 200}))
    assert slow.get("host infeed", 0) + slow.get("host outfeed", 0) > 10 * usual["host outfeed"]


def test_longer_hops_of_the_ring_take_more_of_the_path() -> None:
    def of_ring(hop_cycles: int) -> int:
        found = cycles_by_role(run("pocket", "pocket-2x1", **{"ring.hop_cycles": hop_cycles}))
        return sum(cycles for units, cycles in found.items() if units.startswith("ring "))

    assert of_ring(20) >= of_ring(1) + 5 * 19


def test_what_a_window_or_some_tracks_leave_out_is_not_recorded() -> None:
    whole = run("digits", "edge-2x2")
    window = cycles_by_kind(run("digits", "edge-2x2", Recording(range(500, 900))))
    assert window[NOT_RECORDED] == whole.statistics["cycles"] - 400
    some = cycles_by_kind(run("digits", "edge-2x2", Recording(tracks=("chip.tile0.*",))))
    assert 0 < some[NOT_RECORDED] < whole.statistics["cycles"]


def cycles_by_kind(of: SavedRun) -> dict[str, int]:
    assert of.trace is not None
    path = critical_path(of.statistics, of.trace)
    must_add_up(path, of.statistics["cycles"])
    return {
        kind: int(path.cycles[path.kind == place].sum())
        for place, kind in enumerate(path.kinds)
        if np.any(path.kind == place)
    }
