"""Sweeps from Python: rows for a table, in the order of the points."""

from __future__ import annotations

from pathlib import Path

import pytest

import tilesim
from tilesim.errors import InputError
from tilesim.explore.api import networks_of


def test_rows_come_in_the_order_of_the_points_and_stay_in_a_store(tmp_path: Path) -> None:
    vary = {"grid": ["2x1", "1x1"], "tile.lanes": "2^1..2^2,3"}
    store = tmp_path / "rows.sqlite"
    rows = tilesim.sweep("pocket", "pocket-2x1", vary, store=store, workers=1)
    points = [(row["grid.rows"], row["tile.lanes"], row["status"]) for row in rows]
    wanted = [(2, 2, "refused"), (2, 4, "ran"), (2, 3, "refused"), (1, 2, "refused"), (1, 4, "ran"), (1, 3, "refused")]
    assert points == wanted
    assert [row["cycles"] for row in rows if row["status"] == "ran"] == [225, 287]
    assert str(rows[2]["reason"]).endswith("tile.lanes must be a power of two, not 3")
    narrower = tilesim.sweep(
        ["pocket"], [Path("pocket-2x1")], vary, ["tile.lanes > 2", "cycles < 250"], store=str(store)
    )
    assert [(row["grid.rows"], row["tile.lanes"], row["cycles"]) for row in narrower] == [(2, 4, 225)]
    assert all(len(row) == len(rows[0]) for row in rows)


def test_conditions_on_keys_leave_points_out_before_they_run() -> None:
    where = "machine == 'tiled' and network == 'pocket' and grid.rows < 2 and not cache"
    [row] = tilesim.sweep("pocket", "pocket-2x1", {"grid": "1x1,2x1", "cache": "on,off"}, where, {"tile.lanes": 4})
    assert (row["grid.rows"], row["cache"], row["status"]) == (1, False, "ran")


def test_a_search_looks_at_some_points() -> None:
    vary = {"host.latency_cycles": "0..200", "cache": "on,off"}
    rows = tilesim.sweep("pocket", "pocket-2x1", vary, workers=1, search=5, minimise="cycles", seed=1)
    assert len({(row["host.latency_cycles"], row["cache"]) for row in rows}) == 5


def test_what_is_wrong_is_said_at_once() -> None:
    with pytest.raises(InputError) as error:
        tilesim.sweep("pocket", "pocket-2x1", {"tile.lane": 3, "cache": "maybe"}, "1 +")
    assert len(error.value.faults) == 3
    with pytest.raises(InputError) as error:
        tilesim.sweep(3, "pocket-2x1", {"tile.lanes": None})  # type: ignore[arg-type]
    assert [fault.partition(" must be ")[0] for fault in error.value.faults] == ["the models", "the vary"]
    with pytest.raises(InputError, match="the workers must be at least 1, not 0"):
        tilesim.sweep("pocket", "pocket-2x1", workers=0)
    with pytest.raises(InputError) as error:
        tilesim.sweep("pocket", "pocket-2x1", minimise=["cycle", "bound_by"], maximise="layers")
    assert [fault.partition(" must be ")[0] for fault in error.value.faults] == ["minimise", "minimise", "maximise"]
    with pytest.raises(InputError, match="maximise cycles: must be left out, as it is to be minimised"):
        tilesim.sweep("pocket", "pocket-2x1", minimise="cycles", maximise="cycles")
    vast = dict.fromkeys(
        ("host.latency_cycles", "host.bytes_per_cycle", "ring.hop_cycles", "tile.lanes", "mesh.credits"), "1..9999"
    )
    with pytest.raises(
        InputError, match="the space of a search must have at most 1,000,000,000,000,000,000 points, not"
    ):
        tilesim.sweep("pocket", "pocket-2x1", vast, search=3)
    with pytest.raises(InputError) as error:
        networks_of(["pocket", "none", "other"])
    assert len(error.value.faults) == 2


def test_a_condition_that_can_not_be_worked_out() -> None:
    with pytest.raises(
        InputError, match=r"^where '1 / .grid.rows - 1. < 3': 1 / 0 can't be worked out: division by zero"
    ):
        tilesim.sweep("pocket", "pocket-2x1", {"grid": "1x1"}, "1 / (grid.rows - 1) < 3")
