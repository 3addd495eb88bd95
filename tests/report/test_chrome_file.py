"""The JSON for Chrome's viewer, read back."""

from __future__ import annotations

import io
import json
from collections import Counter
from typing import Any

import pytest

from tests.report.traced import NASTY, digits, small
from tilesim.report import chrome_file
from tilesim.report.slices import LONGEST
from tilesim.sim.trace.trace import Trace


def written(statistics: Any, trace: Trace) -> dict[str, Any]:
    file = io.BytesIO()
    chrome_file.write_chrome(statistics, trace, file, lambda _: None)
    document = json.loads(file.getvalue().decode("ascii"))
    assert isinstance(document, dict)
    return document


def cycles(microseconds: float) -> int:
    return round(microseconds * 1000)


def threads(events: list[dict[str, Any]]) -> dict[tuple[int, int], str]:
    """The whole path of each thread's name."""
    named = [event for event in events if event["ph"] == "M"]
    groups = {each["pid"]: each["args"]["name"] for each in named if each["name"] == "process_name"}
    return {
        (each["pid"], each["tid"]): f"{groups[each['pid']]}.{each['args']['name']}"
        for each in named
        if each["name"] == "thread_name"
    }


def test_a_small_run_event_by_event() -> None:
    document = written(*small())
    assert document["displayTimeUnit"] == "ns"
    assert document["otherData"]["run"].startswith("send on by hand: 20 cycles from cycle 10 on; 1 ns")
    paths = threads(document["traceEvents"])
    rows = [
        (each["ph"], paths[each["pid"], each["tid"]], each["name"], cycles(each["ts"]), cycles(each.get("dur", 0)))
        for each in document["traceEvents"]
        if each["ph"] not in "MC"
    ]
    assert rows == [
        ("X", "chip.section", "loading", 0, 8),
        ("X", "chip.section", "run", 10, 20),
        ("X", "chip.layers", "send", 12, 18),
        ("X", "chip.ring.link0", "send", 9, 4),
        ("s", "chip.ring.link0", "released", 9, 0),
        ("X", "chip.tile0.mac_array", "send", 12, 5),
        ("s", "chip.tile0.mac_array", "released", 12, 0),
        ("X", "chip.tile1.tensor", "stall:flag", 0, 10),
        ("f", "chip.tile1.tensor", "released", 10, 0),
        ("i", "chip.tile1.tensor", "released", 10, 0),
        ("X", "chip.tile1.tensor", "send (stall:flag)", 11, 9),
        ("f", "chip.tile1.tensor", "released", 20, 0),
        ("i", "chip.tile1.tensor", "released", 20, 0),
        ("X", "chip.tile1.tensor", "send", 20, 7),
    ]
    flows = {kind: [each["id"] for each in document["traceEvents"] if each["ph"] == kind] for kind in "sf"}
    assert flows["s"] == flows["f"]
    [sent] = [each["args"] for each in document["traceEvents"] if each.get("args", {}).get("bytes") == 64]
    assert sent == {"bytes": 64, "layer": "send"}
    counted = [each for each in document["traceEvents"] if each["ph"] == "C" and each["name"] == "MAC utilisation"]
    assert [(cycles(each["ts"]), each["args"]["%"]) for each in counted] == [(0, 0), (12, 100), (17, 0)]


def test_a_run_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    run = digits()
    assert run.trace is not None
    document = written(run.statistics, run.trace)
    paths, sums = threads(document["traceEvents"]), Counter[str]()
    spans = [each for each in document["traceEvents"] if "cat" in each and each["ph"] == "X"]
    for each in spans:
        sums[paths[each["pid"], each["tid"]]] += cycles(each["dur"])
    assert len(spans) == len(run.trace.track)
    expected = Counter[str]()
    for track, length in zip(run.trace.track.tolist(), run.trace.cycles.tolist(), strict=True):
        expected[run.trace.tracks[track]] += length
    assert sums == expected
    monkeypatch.setattr(chrome_file, "EVENTS", 7)
    assert written(run.statistics, run.trace) == document


def test_names_that_would_break_something_are_text() -> None:
    events = written(*small(NASTY))["traceEvents"]
    names = {each["name"] for each in events} | {each.get("args", {}).get("layer", "") for each in events}
    assert any(name.endswith("\\udc80end (stall:flag)") for name in names)
    assert all(name.isprintable() and len(name) <= LONGEST for name in names)
