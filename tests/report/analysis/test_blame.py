"""Who keeps whom waiting: every stalled cycle of run.json is somebody's, once."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.analysis.test_contention import LINKS, SENDERS, statistics
from tests.report.runs import traced
from tests.report.saved import random_trace
from tilesim import api
from tilesim.report.analysis.blame import ITSELF, UNKNOWN, UNRECORDED, Blame, blame, blamed, stalls
from tilesim.report.analysis.contention import senders_of
from tilesim.report.document import SavedRun
from tilesim.report.tracks import accounts_of
from tilesim.shipped import shipped

TRACKS = (*LINKS, *SENDERS[:4], "chip.tile0.mac_array", "chip.tile1.tensor")


def by_victim(found: Blame) -> Counter[tuple[str, str]]:
    """Cycles by track and reason."""
    sums: Counter[tuple[str, str]] = Counter()
    for victim, kind, cycles in zip(found.victim, found.kind, found.cycles, strict=True):
        sums[found.tracks[victim], found.kinds[kind].removeprefix("stall:")] += int(cycles)
    return sums


def in_run_json(run: Any) -> Counter[tuple[str, str]]:
    return +Counter(
        {
            (unit["track"], reason): cycles
            for unit in accounts_of(run)
            for reason, cycles in unit["stall_cycles"].items()
        }
    )


def by_resource(found: Blame) -> Counter[str]:
    sums: Counter[str] = Counter()
    for resource, cycles in zip(found.resource, found.cycles, strict=True):
        sums[found.resources[resource]] += int(cycles)
    return sums


def of_culprit(found: Blame, culprit: int) -> int:
    return int(found.cycles[found.culprit == culprit].sum())


@pytest.fixture(scope="session")
def systolic_run() -> SavedRun:
    return traced("digits", "systolic-4")


@pytest.fixture(scope="session")
def overlapping_run() -> SavedRun:
    """Two masters whose transfers meet."""
    program = api.load_program(shipped("workloads") / "dual-master" / "overlap.tasm")
    run = api.simulate(program, [], trace=True, rules="observe")
    return SavedRun(Path("overlap"), run.statistics, run.trace)


@pytest.mark.parametrize("name", ["digits_run", "keywords_run", "systolic_run"])
def test_of_a_real_run_it_adds_up_to_run_json(name: str, request: pytest.FixtureRequest) -> None:
    run: SavedRun = request.getfixturevalue(name)
    found = blame(run.statistics, run.trace)
    assert by_victim(found) == in_run_json(run.statistics)
    assert sum(by_resource(found).values()) == sum(in_run_json(run.statistics).values())
    assert of_culprit(found, UNRECORDED) == 0
    assert of_culprit(found, UNKNOWN) <= 0.01 * found.cycles.sum()


@pytest.mark.parametrize("name", ["digits_run", "systolic_run"])
def test_its_longest_stalls_are_in_the_trace(name: str, request: pytest.FixtureRequest) -> None:
    run: SavedRun = request.getfixturevalue(name)
    assert run.trace is not None
    found, each = blame(run.statistics, run.trace), stalls(run.statistics, run.trace)
    starts = {
        (each.tracks[victim], run.trace.kinds[kind], int(start)): int(cycles)
        for victim, kind, start, cycles in zip(each.victim, each.kind, each.start, each.cycles, strict=True)
    }
    for victim, kind, start, cycles in zip(
        found.victim, found.kind, found.longest_start, found.longest_cycles, strict=True
    ):
        assert starts[found.tracks[victim], found.kinds[kind], int(start)] == cycles


@given(st.integers(0, 2**32), st.integers(0, 15), st.integers(1, len(TRACKS)), st.integers(0, 9))
def test_every_stalled_cycle_is_somebodys(seed: int, spans: int, tracks: int, start: int) -> None:
    trace = random_trace(seed, tuple(sorted(TRACKS[:tracks])), spans)
    run = statistics(trace)
    found = blame(run, trace)
    assert by_victim(found) == in_run_json(run)
    keys = list(zip(found.victim.tolist(), found.culprit.tolist(), found.kind.tolist(), strict=True))
    assert len(keys) == len(set(keys))
    assert of_culprit(found, UNRECORDED) == 0
    part = replace(trace, start=start)  # what lies before the run is nobody's, and what lies behind it was not recorded
    assert by_victim(blame(run, part)) == in_run_json(run)


@given(st.integers(0, 2**32), st.integers(1, 12))
def test_a_culprit_is_who_was_at_work_in_the_span_that_let_it_end(seed: int, spans: int) -> None:
    trace = random_trace(seed, tuple(sorted(TRACKS)), spans)
    run = statistics(trace)
    found, senders = stalls(run, trace), senders_of(run, trace)["ring"]
    for victim, culprit, by in zip(found.victim, found.culprit, found.released_by, strict=True):
        if by < 0:
            assert culprit in {UNKNOWN, ITSELF}
            continue
        track = trace.tracks[trace.track[by]]
        sender = senders[trace.what[by]]
        expected = sender if ".ring.link" in track and sender in TRACKS else track
        assert (culprit == ITSELF) == (expected == found.tracks[victim])
        assert culprit == ITSELF or found.tracks[culprit] == expected


def test_without_a_trace_nobody_is_named(digits_run: SavedRun) -> None:
    found = blame(digits_run.statistics, None)
    assert by_victim(found) == in_run_json(digits_run.statistics)
    assert set(found.culprit.tolist()) == {UNRECORDED}


def test_what_a_partial_trace_lacks_is_not_recorded(digits_run: SavedRun) -> None:
    assert digits_run.trace is not None
    some = np.flatnonzero(digits_run.trace.start_cycle < digits_run.trace.start + 500)
    columns = {
        name: getattr(digits_run.trace, name)[some]
        for name in ("track", "start_cycle", "cycles", "kind", "what", "bytes")
    }
    part = replace(digits_run.trace, **columns, released_by=np.full(len(some), -1, np.int32))
    found = blame(digits_run.statistics, part)
    assert by_victim(found) == in_run_json(digits_run.statistics)
    assert 0 < of_culprit(found, UNRECORDED) < found.cycles.sum()


def test_a_row_is_waited_for_by_the_master_that_sends_it(overlapping_run: SavedRun) -> None:
    found = blame(overlapping_run.statistics, overlapping_run.trace)
    waits = {
        (found.tracks[victim], found.tracks[culprit])
        for victim, culprit, resource in zip(found.victim, found.culprit, found.resource, strict=True)
        if found.resources[resource] == "ring" and "consumer" in found.tracks[victim] and culprit >= 0
    }
    assert {master.split(".")[1] for _, master in waits} == {"tile0", "tile1"}
    assert {master.rpartition(".")[2] for _, master in waits} == {"ring_producer"}


def test_what_there_is_to_wait_for_has_words(keywords_run: SavedRun, systolic_run: SavedRun) -> None:
    tiled = by_resource(blame(keywords_run.statistics, keywords_run.trace))
    assert {"ring", "mesh", "flags", "host", "no more work", "wide port", "wide or narrow read port"} <= {*tiled}
    systolic = by_resource(blame(systolic_run.statistics, systolic_run.trace))
    assert {"issue queues", "weight FIFO", "unified buffer or accumulators"} <= {*systolic}


def test_an_instruction_is_blamed_for_the_stalls_that_it_ends(digits_run: SavedRun) -> None:
    assert digits_run.trace is not None
    each = stalls(digits_run.statistics, digits_run.trace)
    found = blamed(digits_run.trace, each)
    others = (each.released_by >= 0) & (each.culprit >= 0)
    assert sum(one.cycles for one in found) == each.cycles[others].sum()
    assert [one.cycles for one in found] == sorted((one.cycles for one in found), reverse=True)
    first = found[0]
    ours = others & (digits_run.trace.what[each.released_by] == digits_run.trace.whats.index(first.label))
    assert (first.cycles, first.victims) == (each.cycles[ours].sum(), len(np.unique(each.victim[ours])))
