"""What run.json says of a chip of tiles, for its floorplan."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.report.saved import made_up, random_trace
from tilesim.report.analysis.floorplan import (
    MEMORY_PORTS,
    MOST_TILES,
    Grid,
    bytes_a_cycle,
    grid_of,
    is_complete,
    masters,
    memory_accesses,
    placed_findings,
    ring_nodes,
    unit_accounts,
)
from tilesim.report.document import SavedRun
from tilesim.report.tracks import master_hue, masters_of
from tilesim.statistics import RunStatistics

LINK = {"track": "chip.ring.link0", "busy_cycles": 3, "stall_cycles": {"credit": 2}, "idle_cycles": 5, "bytes": 48}
UNIT = {"track": "chip.tile0.tensor", "busy_cycles": 1, "stall_cycles": {"flag": 4, "port": 2}, "idle_cycles": 3}


def chip(**keys: Any) -> RunStatistics:
    return made_up(None, chip=keys, links=[LINK], units=[UNIT], clock_hz=500_000_000).statistics


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"grid": "2x2"},
        {"grid": {"rows": 2}},
        {"grid": {"rows": 2, "columns": 0}},
        {"grid": {"rows": True, "columns": 2}},
        {"grid": {"rows": MOST_TILES, "columns": 2}},
    ],
)
def test_what_has_no_grid_has_no_floorplan(keys: dict[str, Any]) -> None:
    assert grid_of(chip(**keys)) is None


def test_the_ring_passes_the_source_the_tiles_the_classifier_and_the_sink() -> None:
    grid = grid_of(chip(grid={"rows": 1, "columns": 2}))
    assert grid == Grid(1, 2)
    assert ring_nodes(grid) == ["source", "tile 0", "tile 1", "classifier", "sink"]
    assert grid_of(made_up(None, chip={"grid": {"rows": 1, "columns": 2}}).statistics) is None, "without a ring"


def test_links_carry_at_most_what_the_chip_says(digits_run: SavedRun) -> None:
    most = bytes_a_cycle(digits_run.statistics)
    assert most == {"ring": 256, "mesh": 4, "instruction_bus": 16, "host": 8}
    for link in digits_run.statistics["links"]:
        bus = link["track"].split(".")[1]
        assert link["bytes"] <= most[bus] * link["busy_cycles"]
    assert bytes_a_cycle(chip(mesh=3)) == {}


@pytest.mark.parametrize(
    ("to_chip", "from_chip", "most"), [(0, 0, 8), (442, 55, 0.884), (0, 55, 8), (55, 10_000, 20), (442, 0, 8)]
)
def test_the_host_s_link_carries_what_it_has_a_second_by_the_clock(to_chip: int, from_chip: int, most: float) -> None:
    """Of two ways the faster; a way without a rate has its bytes a cycle."""
    rates = {"to_chip_bytes_per_second": to_chip * 10**6, "from_chip_bytes_per_second": from_chip * 10**6}
    assert bytes_a_cycle(chip(host={"bytes_per_cycle": 8, **rates})) == {"host": most}


def test_accesses_to_memories_are_those_of_the_tiles_units(digits_run: SavedRun) -> None:
    found = memory_accesses(digits_run.statistics, Grid(2, 2))
    energy = digits_run.statistics["energy"]
    assert found is not None
    assert energy
    assert dict(zip(MEMORY_PORTS, found.sum(axis=0).tolist(), strict=True)) == {
        port: energy["actions"][port]["count"] for port in MEMORY_PORTS
    }
    assert memory_accesses(made_up(None).statistics, Grid(2, 2)) is None


def test_accounts_are_those_of_run_json() -> None:
    accounts = unit_accounts(chip())
    assert accounts.tracks == ("chip.tile0.tensor", "chip.ring.link0")
    assert accounts.kinds == ("busy", "stall:flag", "stall:port", "stall:credit")
    assert accounts.cycles.T.tolist() == [[1, 4, 2, 0], [3, 0, 0, 2]]
    assert accounts.bytes.tolist() == [-1, 48]
    assert unit_accounts(made_up(None).statistics).cycles.shape == (1, 0)


def test_a_trace_is_complete_that_has_all_cycles_of_all_units(digits_run: SavedRun) -> None:
    trace = digits_run.trace
    assert trace
    assert is_complete(digits_run.statistics, trace)
    less = replace(trace, cycles=np.maximum(1, trace.cycles - 1))
    assert not is_complete(digits_run.statistics, less)
    assert not is_complete(chip(), random_trace(0, ("chip.tile1.tensor",), 3))


def finding(**keys: Any) -> dict[str, Any]:
    return {"kind": "meeting", "section": "run", "cycle": 7, "stop": "tile 1", "instructions": ["a", "b"],
            "transfers": [0, 0], "masters": ["tile 1", "source"], "nodes": [["tile 1"], ["source", "tile 0"]],
            **keys}  # fmt: skip


def test_findings_are_at_their_stops_and_masters_in_the_order_of_the_ring() -> None:
    floating = {"kind": "floating packet", "stop": "sink", "instruction": "c", "transfer": 0, "master": "tile 0",
                "row": 1, "bitmap": 4, "to": ["tile 2"]}  # fmt: skip
    touched = {"kind": "touched", "section": "run", "cycle": 3}
    statistics = made_up(None, findings=[finding(), floating, touched, finding(stop="tile 9")]).statistics
    met, floats = placed_findings(statistics, Grid(1, 2))
    assert (met.stop, met.cycle, met.masters, met.occupied) == (2, 7, ("tile 1", "source"), ((2,), (0, 1)))
    assert met.sentence.startswith("in cycle 7 a packet of b from source")
    assert (floats.stop, floats.cycle, floats.masters, floats.instructions) == (4, -1, ("tile 0",), ("c",))


def test_masters_have_the_colours_that_they_have_everywhere(digits_run: SavedRun) -> None:
    numbers = masters_of(digits_run.statistics)
    hues = masters(digits_run.statistics, Grid(2, 2))
    assert [*hues] == ["source", "tile 0", "tile 1", "tile 2", "tile 3", "classifier"]
    assert hues["source"] == master_hue(numbers["infeed"])
    assert hues["tile 2"] == master_hue(numbers["tile 2"])
    assert len(set(hues.values())) == 6
