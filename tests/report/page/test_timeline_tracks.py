"""What the timeline knows of its tracks: groups, roles, shares, who sets whom to work, counters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tilesim
from tilesim.report.document import SavedRun
from tilesim.report.page.timeline_tracks import path_shares, tracks_data, waits


@pytest.fixture(scope="module")
def run() -> SavedRun:
    """A traced run of ``pocket``."""
    chip = tilesim.load_topology("pocket-2x1")
    made = tilesim.simulate(tilesim.compile(tilesim.load_network("pocket"), chip), trace=True)
    return SavedRun(Path("pocket"), made.statistics, made.trace)


@pytest.fixture(scope="module")
def data(run: SavedRun) -> dict[str, Any]:
    assert run.trace is not None
    return tracks_data(run, run.trace.tracks)


def test_groups_hold_every_track_once_and_say_which_are_mac_arrays(run: SavedRun, data: dict[str, Any]) -> None:
    assert run.trace is not None
    places = [place for group in data["groups"] for place in group["tracks"]]
    assert sorted(places) == list(range(len(run.trace.tracks)))
    (arrays,) = (group for group in data["groups"] if group["arrays"])
    assert (arrays["title"], arrays["names"]) == ("MAC arrays", ("tile 0", "tile 1"))
    assert data["groups"][0] is arrays


def test_shares_of_the_path_are_at_most_the_run_and_waits_are_those_of_run_json(run: SavedRun) -> None:
    shares, waiting, cycles = path_shares(run), waits(run.statistics), run.statistics["cycles"]
    assert 0.9 < sum(shares.values()) <= 1
    for unit in run.statistics["units"]:
        stalls = sum(n for reason, n in unit["stall_cycles"].items() if reason != "work")
        assert waiting[unit["track"]] == pytest.approx(stalls / cycles)


def test_who_sets_a_link_to_work_is_the_one_before_it(run: SavedRun, data: dict[str, Any]) -> None:
    assert run.trace is not None
    place = {track: k for k, track in enumerate(run.trace.tracks)}
    starters = [run.trace.tracks[k] for k in data["started_by"][place["chip.ring.link2"]]]
    assert "chip.ring.link1" in starters
    assert len(data["started_by"]) == len(run.trace.tracks)


def test_counters_are_of_mac_arrays_and_of_buses_that_carried_something(run: SavedRun, data: dict[str, Any]) -> None:
    assert run.trace is not None
    titles = [counter["title"] for counter in data["counters"]]
    carried = {bus: of["carried"] for bus, of in run.statistics["bytes"].items() if of["carried"]}
    assert titles[0] == "MAC arrays busy"
    assert [title.lower().replace(" ", "_") for title in titles[1:]] == sorted(carried, key=lambda bus: -carried[bus])
    for counter in data["counters"][1:]:
        assert counter["unit"] == "B/cycle"
        prefix = f"chip.{counter['title'].lower().replace(' ', '_')}"
        assert all(run.trace.tracks[track].startswith(prefix) for track in counter["tracks"])
