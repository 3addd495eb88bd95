"""The floorplan's data: what is where, and what is said where something is not known."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np

from tests.report.saved import made_up
from tilesim.report.document import SavedRun
from tilesim.report.page.build import PageSection, encoded
from tilesim.report.page.floorplan import NO_LAYERS, UNMAPPED, UNTRACED, floorplan
from tilesim.report.page.floorplan_play import MOST_CHANGES, MOST_TILES, played
from tilesim.sim.trace.signals import Signals


def drawn(run: SavedRun) -> PageSection:
    section = floorplan(run)
    assert section
    return section


def test_a_traced_run_needs_no_more_than_its_layers(digits_run: SavedRun) -> None:
    section = drawn(digits_run)
    data = json.loads(json.dumps(section.data))
    assert (data["rows"], data["columns"], data["note"], data["unmapped"]) == (2, 2, "", "")
    assert "accounts" not in data
    assert [*section.columns] == ["accesses"]
    assert data["layers"][0]["map"]["extent"] == [8, 8, 16]
    size = len(json.dumps(data)) + sum(len(encoded(column)[1]) for column in section.columns.values())
    assert size < 10_000


def test_without_a_trace_the_accounts_tell_of_the_whole_run(digits_run: SavedRun) -> None:
    section = drawn(replace(digits_run, trace=None))
    assert section.data["note"] == UNTRACED
    units = [*digits_run.statistics["units"], *digits_run.statistics["links"]]
    cycles = section.columns["account_cycles"].reshape(len(section.data["accounts"]), len(units))
    assert cycles[0].tolist() == [unit["busy_cycles"] for unit in units]
    assert section.columns["account_bytes"].size == len(units)


def test_a_trace_of_a_part_has_the_accounts_beside_it(digits_run: SavedRun) -> None:
    trace = digits_run.trace
    assert trace
    section = drawn(replace(digits_run, trace=replace(trace, cycles=np.maximum(1, trace.cycles // 2))))
    assert section.data["note"] == ""
    assert "account_cycles" in section.columns


def test_a_program_that_does_not_say_who_makes_what_is_said_to_be_older(digits_run: SavedRun) -> None:
    statistics: dict[str, Any] = json.loads(json.dumps(digits_run.statistics))
    for layer in statistics["partition"]["layers"]:
        del layer["map"]
    assert drawn(replace(digits_run, statistics=statistics)).data["unmapped"] == UNMAPPED
    statistics["partition"]["layers"] = []
    assert drawn(replace(digits_run, statistics=statistics)).data["unmapped"] == NO_LAYERS


def test_a_layer_that_is_not_there_is_left_out(digits_run: SavedRun) -> None:
    statistics: dict[str, Any] = json.loads(json.dumps(digits_run.statistics))
    statistics["partition"]["layers"][0]["layer"] = 99
    section = drawn(replace(digits_run, statistics=statistics))
    assert len(section.data["layers"]) == len(statistics["partition"]["layers"]) - 1


def test_chips_without_tiles_have_none() -> None:
    assert floorplan(made_up(None)) is None


def signals_of(changes: int) -> Signals:
    """A queue that changes in every cycle."""
    cycle = np.arange(changes, dtype=np.int64)
    signal = np.zeros(changes, np.int32)
    return Signals(("chip.infeed.fifo",), ("fill",), (), range(changes), signal, cycle, cycle % 7)


def test_a_log_goes_whole_or_its_first_cycles(digits_run: SavedRun) -> None:
    section = drawn(replace(digits_run, signals=signals_of(50)))
    assert section.data["log"]["window"] == [0, 50]
    assert section.columns["value"].tolist() == [cycle % 7 for cycle in range(50)]
    log, columns = played(signals_of(MOST_CHANGES + 5), 4)
    assert log
    assert log["window"] == [0, MOST_CHANGES]
    assert columns["cycle"].size == MOST_CHANGES


def test_there_is_nothing_to_play_of_many_tiles_or_without_a_window(digits_run: SavedRun) -> None:
    assert drawn(digits_run).data["log"] is None
    assert played(signals_of(50), MOST_TILES + 1) == (None, {})
    assert played(signals_of(0), 4) == (None, {})
