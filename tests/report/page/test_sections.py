"""The sections' data: what the pictures show, and what they say when there is nothing to show."""

from __future__ import annotations

import json
from dataclasses import replace

from tests.report.saved import made_up, random_trace
from tilesim.report.document import SavedRun
from tilesim.report.page.contention import UNRECORDED, contention
from tilesim.report.page.layers import NO_LAYERS, layer_table
from tilesim.report.page.roofline import NONE, roofline
from tilesim.report.sections import report


def test_links_over_time_go_as_columns(digits_run: SavedRun) -> None:
    section = contention(digits_run)
    links, bins = len(section.data["links"]), len(section.columns["edges"]) - 1
    assert (links, bins) == (22, 200)
    assert section.columns["carried"].shape == (links * bins,)
    assert section.columns["by_master"].shape == (len(section.data["masters"]) * links * bins,)
    assert section.data["note"] == ""


def test_without_a_trace_the_units_still_say_why_they_wait(digits_run: SavedRun) -> None:
    section = contention(replace(digits_run, trace=None))
    assert section.data["note"] == UNRECORDED
    assert "links" not in section.data
    arrays = next(unit for unit in section.data["units"] if unit["words"] == "MAC arrays")
    assert arrays["cycles"]["busy"] == sum(
        unit["busy_cycles"] for unit in digits_run.statistics["units"] if unit["track"].endswith("mac_array")
    )


def test_a_trace_of_a_part_says_how_much_it_lacks() -> None:
    trace = random_trace(0, ("chip.ring.link0",), 5)
    busy = int(trace.cycles[trace.kind == trace.kinds.index("busy")].sum())
    link = {"track": "chip.ring.link0", "busy_cycles": busy + 9, "stall_cycles": {}, "idle_cycles": 0, "bytes": 0}
    section = contention(made_up(trace, links=[link]))
    assert section.data["note"].endswith(f"lacks 9 of the {busy + 9} cycles in which links carried something.")


def test_layers_and_rooflines_go_as_json(digits_run: SavedRun) -> None:
    table, roofs = layer_table(digits_run), roofline(digits_run)
    assert len(table.data["layers"]) == len(digits_run.statistics["layers"])
    assert json.loads(json.dumps(table.data))["run"]["cycles"] == digits_run.statistics["cycles"]
    assert {len(line["dots"]) for line in json.loads(json.dumps(roofs.data))["rooflines"]} == {5}


def test_a_program_without_layers_says_so() -> None:
    run = made_up(None)
    assert layer_table(run).data["note"] == NO_LAYERS
    assert roofline(run).data["note"] == NONE
    assert NO_LAYERS in report(run)
