"""Who is on which link when: every sum is run.json's."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.saved import random_trace
from tilesim import api
from tilesim.report.analysis.contention import OTHERS, SHOWN_MASTERS, UNKNOWN, accounts, occupancy
from tilesim.report.document import SavedRun
from tilesim.report.tracks import master_words
from tilesim.shipped import shipped
from tilesim.sim.trace.trace import Trace

LINKS = ("chip.mesh.tile0.east", "chip.ring.link0", "chip.ring.link1")
SENDERS = ("chip.infeed", *(f"chip.tile{k}.ring_producer" for k in range(9)))


def account(trace: Trace, track: str) -> dict[str, Any]:
    """What run.json would say of a track."""
    of = [k for k in range(len(trace.cycles)) if trace.tracks[trace.track[k]] == track]
    spent: Counter[str] = Counter()
    for k in of:
        spent[trace.kinds[trace.kind[k]]] += int(trace.cycles[k])
    busy = spent.pop("busy", 0)
    stalls = {kind.removeprefix("stall:"): cycles for kind, cycles in spent.items()}
    return {"track": track, "busy_cycles": busy, "stall_cycles": stalls, "idle_cycles": 0}


def statistics(trace: Trace) -> dict[str, Any]:
    each = {track: account(trace, track) for track in trace.tracks}
    links = [each[track] for track in trace.tracks if track in LINKS]
    units = [each[track] for track in trace.tracks if track not in LINKS]
    end = int((trace.start_cycle + trace.cycles).max(initial=1))
    return {"machine": "tiled", "cycles": end - trace.start, "links": links, "units": units}


@given(st.integers(0, 2**32), st.integers(0, 15), st.integers(1, 40), st.integers(1, len(SENDERS)))
def test_bins_and_masters_sum_to_what_the_links_carried(seed: int, spans: int, bins: int, senders: int) -> None:
    trace = random_trace(seed, (*LINKS, *SENDERS[:senders]), spans)
    run = statistics(trace)
    found = occupancy(run, trace, bins)
    assert found.complete
    assert dict(zip(found.links, found.carried.sum(axis=1), strict=True)) == {
        link["track"]: link["busy_cycles"] for link in run["links"]
    }
    waits = [sum(link["stall_cycles"].values()) for link in run["links"]]
    assert found.waiting.sum(axis=1).tolist() == waits
    on_ring = np.array([bus == "ring" for bus in found.buses])
    np.testing.assert_array_equal(found.by_master.sum(axis=0), found.carried * on_ring[:, None])
    assert len(found.masters) <= SHOWN_MASTERS + 1
    assert (found.carried + found.waiting <= np.diff(found.edges)).all()


def trace_of(*spans: tuple[str, int, int, str]) -> Trace:
    """Busy spans: track, start, cycles and instruction."""
    tracks, whats = (tuple(sorted({span[k] for span in spans})) for k in (0, 3))
    spans = tuple(sorted(spans))
    n = len(spans)
    return replace(
        random_trace(0, tracks, 0),
        whats=whats,
        layer_of=np.full(len(whats), -1, np.int32),
        track=np.array([tracks.index(span[0]) for span in spans], np.int32),
        start_cycle=np.array([span[1] for span in spans]),
        cycles=np.array([span[2] for span in spans]),
        what=np.array([whats.index(span[3]) for span in spans], np.int32),
        kind=np.zeros(n, np.int32),
        bytes=np.zeros(n, np.int64),
        released_by=np.full(n, -1, np.int32),
    )


def test_a_row_belongs_to_the_node_that_sent_its_instruction() -> None:
    trace = trace_of(
        ("chip.infeed", 0, 2, "input"),
        ("chip.tile1.ring_producer", 1, 3, "copy"),
        ("chip.ring.link0", 1, 2, "input"),
        ("chip.ring.link1", 2, 3, "copy"),
        ("chip.ring.link1", 6, 1, "input"),
        ("chip.host.infeed", 0, 7, "input"),
    )
    found = occupancy(statistics(trace), trace, bins=1)
    assert found.masters == ("chip.infeed", "chip.tile1.ring_producer")
    ring = [found.links.index(f"chip.ring.link{k}") for k in range(2)]
    assert found.by_master[:, ring, 0].tolist() == [[2, 1], [0, 3]]
    assert found.hues == ("master:0", "master:1")


def test_nobody_can_tell_who_sent_what_several_or_no_recorded_units_sent() -> None:
    trace = trace_of(
        ("chip.tile0.ring_producer", 0, 2, "all"),
        ("chip.tile1.ring_producer", 0, 2, "all"),
        ("chip.ring.link0", 1, 4, "all"),
        ("chip.ring.link1", 2, 1, "unseen"),
    )
    found = occupancy(statistics(trace), trace, bins=2)
    assert found.masters == (UNKNOWN,)
    assert found.hues == ("master:other",)
    assert found.by_master.sum() == 5


def test_a_trace_of_a_part_of_the_run_says_so() -> None:
    trace = trace_of(("chip.ring.link0", 0, 4, "row"))
    run = statistics(trace)
    run["links"][0]["busy_cycles"] = 6
    assert not occupancy(run, trace).complete


@pytest.mark.parametrize("name", ["digits_run", "keywords_run"])
def test_of_a_real_run_each_link_has_its_cycles(name: str, request: pytest.FixtureRequest) -> None:
    run: SavedRun = request.getfixturevalue(name)
    assert run.trace is not None
    found = occupancy(run.statistics, run.trace)
    assert found.complete
    assert set(found.buses) == {"ring", "mesh", "instruction bus", "host"}
    ring = [link["busy_cycles"] for link in run.statistics["links"] if ".ring." in link["track"]]
    assert found.by_master.sum() == sum(ring)
    assert UNKNOWN not in found.masters


def test_more_masters_than_colours_share_the_last(keywords_run: SavedRun) -> None:
    assert keywords_run.trace is not None
    found = occupancy(keywords_run.statistics, keywords_run.trace)
    assert len(found.masters) == SHOWN_MASTERS + 1
    assert (found.masters[0], found.masters[-1]) == ("chip.infeed", OTHERS)
    assert (found.hues[0], found.hues[-1]) == ("master:0", "master:other")
    shown = found.by_master.sum(axis=(1, 2))[:-1].tolist()
    assert shown == sorted(shown, reverse=True)


def test_two_masters_at_once_are_told_apart() -> None:
    run = api.simulate(api.load_program(shipped("workloads") / "dual-master" / "legal.tasm"), [], trace=True)
    assert run.trace is not None
    found = occupancy(run.statistics, run.trace)
    assert [master_words(master) for master in found.masters] == ["tile 0", "tile 4", "tile 3"]
    together = [bin_ for bin_ in range(run.cycles) if (found.by_master[:2, :, bin_].sum(axis=1) > 0).all()]
    assert together == [22]
    links = {master: set(np.flatnonzero(found.by_master[master].sum(axis=1))) for master in range(2)}
    assert not links[0] & links[1]


def test_the_accounts_of_a_kind_are_those_of_its_units(digits_run: SavedRun) -> None:
    run = digits_run.statistics
    found = accounts(run)
    units = [each for _, members in found for each in members]
    assert len(units) == len(run["units"]) + len(run["links"])
    for together, members in found:
        assert +Counter(together.cycles) == sum((Counter(member.cycles) for member in members), Counter())
        assert together.total == len(members) * run["cycles"]
