"""The banner's data: what the run noticed, in whose colours, and where to look."""

from __future__ import annotations

import json
from typing import Any

from tests.report.saved import made_up
from tilesim.findings import Finding
from tilesim.report.page.findings import findings

MEETING: Finding = {
    "kind": "meeting",
    "section": "run",
    "cycle": 20,
    "stop": "tile 1",
    "instructions": ["first", "other"],
    "transfers": [0, 0],
    "masters": ["tile 0", "tile 1"],
    "nodes": [["tile 0", "tile 1"], ["tile 1", "tile 2"]],
}
MIXED: Finding = {
    "kind": "mixed payload",
    "stop": "tile 1",
    "instruction": "take",
    "rows": [{"instruction": "first", "transfer": 0, "master": "tile 0", "rows": [1]}],
}
UNITS = [{"track": f"chip.tile{k}.ring_producer"} for k in range(2)]


def data(*found: Finding, **statistics: Any) -> dict[str, Any]:
    section = findings(made_up(None, findings=[*found], units=UNITS, **statistics))
    assert section is not None
    shown: dict[str, Any] = json.loads(json.dumps(section.data))
    return shown


def test_a_meeting_has_both_masters_colours_and_its_cycle() -> None:
    [shown] = data(MEETING)["findings"]
    assert [master["hue"] for master in shown["masters"]] == ["master:0", "master:1"]
    assert shown["cycle"] == 20
    assert shown["tracks"][:2] == ["chip.tile0.ring_producer", "chip.tile1.ring_producer"]


def test_what_the_load_noticed_was_before_the_run() -> None:
    [shown] = data({**MEETING, "section": "load"}, load_cycles=100)["findings"]
    assert shown["cycle"] == -80


def test_what_has_no_cycle_leads_to_its_instruction() -> None:
    [shown] = data(MIXED)["findings"]
    assert (shown["cycle"], shown["instruction"]) == (None, "take")


def test_findings_are_counted_by_kind() -> None:
    assert data(MEETING, MIXED, MEETING)["counts"] == "2 meetings of two transfers, 1 instruction that took mixed rows"
    assert data({"kind": "new"})["counts"] == "1 new"


def test_the_end_of_a_run_is_told_once() -> None:
    report = ["the run program hangs after 24 cycles:", "a waits for b", "in cycle 20 a packet of other from tile 1"]
    shown = data(MIXED, end={"kind": "hang", "section": "load", "cycle": 24, "report": report})
    assert shown["end"]["heading"] == "The run hung after 24 cycles of the load program"
    assert shown["end"]["lines"] == report[1:]


def test_there_is_none_where_nothing_was_noticed() -> None:
    assert findings(made_up(None, findings=[])) is None
    assert findings(made_up(None)) is None
