"""Findings as marks of the timeline: in which cycle, on whose tracks, in whose colours."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilesim
from tests.report.saved import made_up
from tilesim.findings import Finding, sentence
from tilesim.report.page.timeline import timeline
from tilesim.report.page.timeline_findings import MOST_MARKS, marks
from tilesim.report.words import end_words
from tilesim.sim.trace.trace import Trace

PROGRAMS = Path(__file__).parents[3] / "workloads" / "dual-master"
TRACKS = ("chip.ring.link1", "chip.tile0.ring_producer", "chip.tile1.ring_consumer", "chip.tile1.ring_producer")
MEETING: Finding = {
    "kind": "meeting", "section": "run", "cycle": 7, "stop": "tile 1", "instructions": ["a.send", "b.send"],
    "transfers": [0, 0], "masters": ["tile 0", "tile 1"], "nodes": [["tile 0", "tile 1"], ["tile 1"]],
}  # fmt: skip
MIXED: dict[str, Any] = {
    "kind": "mixed payload", "instruction": "a.receive", "stop": "tile 1",
    "rows": [
        {"instruction": "a.send", "transfer": 0, "master": "tile 0", "rows": [0]},
        {"instruction": "b.send", "transfer": 0, "master": "tile 1", "rows": [1]},
    ],
}  # fmt: skip
FLOATING: dict[str, Any] = {
    "kind": "floating packet", "instruction": "b.send", "transfer": 0, "master": "tile 1", "row": 0, "bitmap": 4,
    "stop": "tile 1", "to": ["tile 1"],
}  # fmt: skip
TOUCHED: dict[str, Any] = {
    "kind": "touched", "section": "load", "cycle": 2, "instructions": ["a.receive", "b.send"], "tile": 1,
    "memory": "wide", "bytes": [0, 16], "count": 3, "accesses": ["wrote", "read"], "until": 5,
}  # fmt: skip
HUES = {"tile 0": 4, "tile 1": 5}


def trace(start: int = 10) -> Trace:
    """``a.send`` and ``b.send`` over link 1, the first into ``a.receive``."""
    columns = {
        "track": [0, 0, 1, 2, 3],
        "start_cycle": [start + cycle for cycle in (5, 7, 4, 6, 3)],
        "cycles": [1, 1, 3, 3, 5],
        "what": [0, 1, 0, 2, 1],
    }
    arrays: dict[str, Any] = {name: np.array(values, np.int64) for name, values in columns.items()}
    for name in ("track", "what"):
        arrays[name] = arrays[name].astype(np.int32)
    none = np.zeros(5, np.int32)
    return Trace(
        tracks=TRACKS, kinds=("busy",), whats=("a.send", "b.send", "a.receive"), layers=(), kind=none,
        bytes=none.astype(np.int64), released_by=none - 1, layer_of=none[:3] - 1, start=start, **arrays,
    )  # fmt: skip


def of(*findings: Any, **statistics: Any) -> list[dict[str, Any]]:
    return marks(made_up(trace(), findings=list(findings), **statistics).statistics, trace(), HUES)


def test_a_meeting_is_on_both_units_and_on_the_link_where_it_was_seen() -> None:
    (mark,) = of(MEETING)
    assert (mark["kind"], mark["cycle"], mark["words"]) == ("meeting", 7, sentence(MEETING))
    assert (mark["masters"], mark["hues"]) == (["tile 0", "tile 1"], [4, 5])
    assert mark["tracks"] == [(1, 4), (3, 5), (0, -1)]


def test_findings_without_a_cycle_are_where_their_instruction_was_last_seen() -> None:
    mixed, floating = of(MIXED, FLOATING)
    assert (mixed["kind"], mixed["cycle"], mixed["hues"]) == ("floating packet", 7, [5])
    assert (floating["kind"], floating["cycle"], floating["hues"]) == ("mixed payload", 8, [4, 5])
    assert floating["tracks"] == [(2, 4)]
    (unknown,) = of({**FLOATING, "instruction": "nobody"})
    assert (unknown["cycle"], unknown["tracks"]) == (made_up(trace()).statistics["cycles"], [])


def test_findings_of_the_load_have_negative_cycles() -> None:
    (mark,) = of(TOUCHED)
    assert (mark["cycle"], mark["hues"], mark["tracks"]) == (2 - 10, [], [(2, -1), (3, -1)])


def test_the_end_of_a_run_that_stood_is_a_mark() -> None:
    end = {"kind": "hang", "section": "run", "cycle": 9, "report": ["nothing happens any more.", "a waits for b."]}
    first, last = of(MEETING, end=end)
    assert (first["cycle"], last["cycle"], last["kind"]) == (7, 9, "hang")
    assert last["words"].startswith("the run ")


def test_so_many_marks_and_no_more() -> None:
    assert len(of(*[MEETING] * (MOST_MARKS + 3))) == MOST_MARKS


@pytest.mark.parametrize("finding", [{"kind": "meeting"}, {"kind": "strange"}, {"kind": "mixed payload", "rows": []}])
def test_findings_that_lack_something_are_marked_all_the_same(finding: Any) -> None:
    (mark,) = of(finding)
    assert finding["kind"] in mark["words"]


def test_what_the_ring_of_two_masters_noticed() -> None:
    run = tilesim.simulate(tilesim.load_program(PROGRAMS / "overlap.tasm"), rules="observe", trace=True)
    assert run.trace is not None
    saved = replace(made_up(run.trace), statistics=run.statistics)
    data = timeline(saved).data
    (mark,) = data["findings"]
    tracks = {data["tracks"][track]: hue for track, hue in mark["tracks"]}
    assert (mark["cycle"], [*tracks]) == (
        20,
        ["chip.tile0.ring_producer", "chip.tile1.ring_producer", "chip.ring.link2"],
    )
    assert [*tracks.values()] == [*mark["hues"], -1]


def test_a_meeting_that_ended_the_run_is_one_mark() -> None:
    end: Any = {"kind": "collision", "section": "run", "cycle": 7, "report": ["they met"]}
    (mark,) = of(MEETING, end=end)
    assert mark["words"] == f"{sentence(MEETING)}; the run {end_words(end)}"
    assert (mark["kind"], mark["cycle"]) == ("meeting", 7)
    later = of(MEETING, end={**end, "cycle": 9})
    assert [(mark["kind"], mark["cycle"]) for mark in later] == [("meeting", 7), ("collision", 9)]
