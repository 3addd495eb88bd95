"""Units that wait, as the page has them: sums by kind, and cycles of each as a column."""

from __future__ import annotations

import numpy as np

from tilesim.report.analysis.contention import accounts
from tilesim.report.document import SavedRun
from tilesim.report.page.contention import contention


def test_each_unit_has_its_cycles_in_a_row_of_a_column(digits_run: SavedRun) -> None:
    section = contention(digits_run)
    kinds = [kind["name"] for kind in section.data["kinds"]]
    rows = section.columns["members"].reshape(-1, len(kinds))
    units = section.data["units"]
    several = [unit for unit in units if unit["count"] > 1]
    assert len(rows) == sum(unit["count"] for unit in several) > 0
    ends = np.cumsum([unit["count"] for unit in several])[:-1]
    for unit, members in zip(several, np.split(rows, ends), strict=True):
        sums = dict(zip(kinds, members.sum(axis=0).tolist(), strict=True))
        cycles = {"idle": unit["idle"], **unit["cycles"]}
        assert sums == dict.fromkeys(kinds, 0) | cycles
    worked = [account for account, _ in accounts(digits_run.statistics) if account.cycles["idle"] < account.total]
    assert [unit["total"] for unit in units] == [account.total for account in worked]
