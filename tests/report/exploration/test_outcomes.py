"""What came of the points: counts, reasons, bests."""

from __future__ import annotations

import numpy as np

from tests.report.exploration.rows import row, rows
from tilesim.report.exploration.measures import judged
from tilesim.report.exploration.outcomes import Reason, bests, counts, reasons, unlike_outputs
from tilesim.report.exploration.points import MEASURES, measured


def test_points_are_counted_by_what_came_of_them() -> None:
    found = [row(), row(status="refused"), row(status="refused")]
    assert counts(found) == {"ran": 1, "refused": 2, "failed": 0}


def test_reasons_that_differ_in_numbers_alone_are_one() -> None:
    found = [row(status=status) for status in ("refused", "ran", "refused", "failed", "refused")]
    for k, needed in ((0, "1.5 KiB"), (2, "77 B")):
        found[k]["reason"] = f"a tile needs {needed} more"
    found[4]["reason"] = "a tile has no lanes"
    assert reasons(found) == [
        Reason("refused", "a tile needs 1.5 KiB more", 2, 0),
        Reason("failed", found[3]["reason"], 1, 3),
        Reason("refused", "a tile has no lanes", 1, 4),
    ]


def test_the_best_of_each_network_by_each_measure() -> None:
    found = rows(300)
    by_name = {(best.network, best.measure.name): best for best in bests(found, judged(found))}
    assert {network for network, _ in by_name} == {"tiny", "kws", "vww"}
    for (network, _), best in by_name.items():
        ours = np.where([each["network"] == network for each in found], measured(found, best.measure), np.nan)
        extreme = np.nanmax(ours) if best.measure.more_is_better else np.nanmin(ours)
        assert (best.point, best.ties + 1) == (np.flatnonzero(ours == extreme)[0], (ours == extreme).sum())


def test_a_network_that_never_ran_has_no_best() -> None:
    assert list(bests([row(status="failed")], MEASURES)) == []


def test_outputs_that_differ_are_told() -> None:
    found = [row("same"), row("same"), row("other"), row("other"), row("refused", status="refused")]
    assert unlike_outputs(found) == []
    assert found[3]["measures"]
    found[3]["measures"]["outputs_sha256"] = "another"
    assert unlike_outputs(found) == ["other"]
