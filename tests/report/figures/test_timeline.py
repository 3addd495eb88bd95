"""Shares of bins: together the cycles of run.json."""

import numpy as np

from tilesim.report.document import SavedRun
from tilesim.report.figures.timeline import shares


def test_each_kind_has_its_cycles(digits_run: SavedRun) -> None:
    assert digits_run.trace is not None
    run = digits_run.statistics
    found = shares(run, digits_run.trace, 100)
    for unit in run["units"]:
        if unit["track"] in found.rows:
            row = found.cycles[found.rows.index(unit["track"])].sum(axis=1)
            spent = {"busy": unit["busy_cycles"], **{f"stall:{name}": n for name, n in unit["stall_cycles"].items()}}
            assert {kind: n for kind, n in zip(found.kinds, row.tolist(), strict=True) if n} == spent
    links = [link for link in run["links"] if ".mesh." in link["track"] and link["busy_cycles"]]
    row = found.rows.index("mesh links")
    assert found.units[row] == len(links)
    assert found.cycles[row, found.kinds.index("busy")].sum() == sum(link["busy_cycles"] for link in links)


def test_shares_are_of_all_units_of_a_row(digits_run: SavedRun) -> None:
    assert digits_run.trace is not None
    found = shares(digits_run.statistics, digits_run.trace, 37)
    assert found.fractions.sum(axis=1).max() <= 1 + 1e-12
    room = np.diff(found.edges) * found.units[:, None]
    np.testing.assert_allclose(found.fractions * room[:, None], found.cycles)


def test_mac_arrays_come_first_each_in_its_own_row(digits_run: SavedRun) -> None:
    assert digits_run.trace is not None
    found = shares(digits_run.statistics, digits_run.trace, 10)
    assert list(found.rows[:4]) == [f"chip.tile{k}.mac_array" for k in range(4)]
    assert "tensor controls" in found.rows
    assert found.kinds[0] == "busy"
