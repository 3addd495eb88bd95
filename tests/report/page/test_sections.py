"""The sections' data: what the pictures show, and what they say when there is nothing to show."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.report.batched import batched
from tests.report.made import saved
from tests.report.saved import made_up, random_trace
from tilesim.report.comparison import compared
from tilesim.report.document import SavedRun
from tilesim.report.page.compare import sections as compared_sections
from tilesim.report.page.contention import UNRECORDED, contention
from tilesim.report.page.matrix import UNTRACED, matrix
from tilesim.report.page.sections import (
    NO_LAYERS,
    NO_MACS,
    NO_ROOFS,
    batches,
    layer_table,
    overview,
    report,
    roofline,
    sections,
)
from tilesim.report.tracks import accounts_of


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
    assert roofline(run).data["note"] == NO_MACS
    assert NO_LAYERS in report(run)


def test_a_machine_without_roofs_is_named() -> None:
    run = made_up(None, machine="abacus", macs=7)
    assert roofline(run).data["note"] == NO_ROOFS.format("abacus")


def test_figures_are_those_of_the_run() -> None:
    run = made_up(None, cycles=12_345, latency_us=24.69, load_cycles=678, macs=1_000, mac_utilisation=0.25)
    found = {figure["name"]: (figure["value"], figure["meaning"]) for figure in overview(run).data["figures"]}
    assert {name: value for name, (value, _) in found.items()} == {
        "cycles": "12,345",
        "latency": "24.7 us",
        "loading": "678",
        "MACs in use": "25.0%",
    }
    assert found["MACs in use"][1].startswith("1,000 useful ones")


def test_of_several_inferences_the_latency_is_the_first_ones() -> None:
    [_, latency, *_] = overview(made_up(None, latency_us=2.0, inferences=8, clock_hz=700_000_000)).data["figures"]
    assert latency == {"name": "latency", "value": "2 us", "meaning": "the first of 8 inferences at 700 MHz"}


def test_the_largest_cost_is_in_words() -> None:
    units = [{"track": "chip.tile0.mac_array", "busy_cycles": 25, "stall_cycles": {"port": 75}, "idle_cycles": 0}]
    run = made_up(None, cycles=100, units=units, breakdown={"macs": 25, "port": 75})
    figure = overview(run).data["figures"][-1]
    assert (figure["name"], figure["value"]) == ("largest cost", "75%")
    assert figure["meaning"].endswith("waiting for a memory port")


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
    found = compared(runs)
    assert [run["batching"]["schedule"] for run in found["runs"]] == ["demand", "lcm"]
    assert found["runs"][1]["batching"]["footprint"][-1] == [runs[1].statistics["cycles"], 0]
    section = next(section for section in compared_sections(found) if section.name == "compare_batching")
    assert [run["figures"][1]["value"] for run in section.data["runs"]] == ["45", "6"]
    plain = compared_sections(compared([saved("a"), saved("b")]))
    assert "compare_batching" not in [section.name for section in plain]


def test_the_matrix_names_units_and_adds_up(digits_run: SavedRun) -> None:
    section = matrix(digits_run)
    waits = sum(sum(unit["stall_cycles"].values()) for unit in accounts_of(digits_run.statistics))
    assert section.columns["cycles"].sum() == waits
    assert section.data["note"] == ""
    assert len(section.data["tracks"]) == len(section.data["role_of"]) == len(section.data["place_of"])
    assert section.columns["victim"].max() < len(section.data["tracks"])
    infeed = section.data["tracks"].index("chip.infeed")
    assert infeed in section.columns["sender.ring"]


def test_a_matrix_says_what_a_trace_lacks(digits_run: SavedRun) -> None:
    assert matrix(replace(digits_run, trace=None)).data["note"] == UNTRACED
    trace = random_trace(0, ("chip.ring.link0",), 0)
    link = {"track": "chip.ring.link0", "busy_cycles": 0, "stall_cycles": {"credit": 7}, "idle_cycles": 0, "bytes": 0}
    note = matrix(replace(made_up(None, links=[link]), trace=trace)).data["note"]
    assert note == "The trace is of a part of the run: 7 of the 7 stalled cycles were not recorded."


def test_a_run_that_is_on_no_chip_says_so_above_all() -> None:
    page = report(made_up(None, instant=["a.send"]))
    assert "as tilesim simulated them; a.send took no time: so it is on no chip</p>" in page
