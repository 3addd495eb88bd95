"""The section of batches: what the picture shows, and which pages have it."""

from __future__ import annotations

import json

import pytest

from tests.report.batched import batched
from tests.report.made import saved
from tests.report.saved import made_up
from tilesim.report.comparison import compared, document
from tilesim.report.page.batching import batches
from tilesim.report.page.compare import sections as compared_sections
from tilesim.report.sections import sections


def test_steps_go_as_columns() -> None:
    section = batches(batched("demand"))
    assert section.columns["layer"].tolist()[:6] == [0, 0, 1, 0, 0, 1]
    assert section.columns["count"].tolist()[-1] == 32
    assert len(section.columns["cycle"]) == len(section.columns["bytes"]) < 61
    shown = {figure["name"]: figure["value"] for figure in json.loads(json.dumps(section.data))["figures"]}
    assert shown["batches"] == "61"
    assert shown["weight sets"] == "45, 308.25 KiB"
    assert shown["largest footprint"] == "706.17 KiB"


@pytest.mark.parametrize("steps", [[], None])
def test_only_runs_in_batches_have_it(steps: list[object] | None) -> None:
    run = batched("lcm", steps=()) if steps is not None else made_up(None)
    names = [section.name for section in sections(run)]
    assert ("batching" in names) == (steps is not None)


def test_a_comparison_has_it_if_a_run_has() -> None:
    runs = [batched("demand"), batched("lcm")]
    found = document(compared(runs))
    assert [run["batching"]["schedule"] for run in found["runs"]] == ["demand", "lcm"]
    assert found["runs"][1]["batching"]["footprint"][-1] == [runs[1].statistics["cycles"], 0]
    section = next(section for section in compared_sections(found) if section.name == "compare_batching")
    assert [run["figures"][1]["value"] for run in section.data["runs"]] == ["45", "6"]
    plain = compared_sections(document(compared([saved("a"), saved("b")])))
    assert "compare_batching" not in [section.name for section in plain]
