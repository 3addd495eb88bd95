"""The guide's table of cycles by tiles is what scripts/make_scaling.py makes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tilesim
from tests.scripts import ROOT, script

PAGE = (ROOT / "tilesim" / "guide" / "chips.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_table_in_the_guide_is_up_to_date(models: Path) -> None:
    """If only the numbers are new: ``scripts/make_scaling.py`` brings the page up to date."""
    assert script("make_scaling").rewritten(PAGE, models).splitlines() == PAGE.splitlines()


def test_a_cell_and_its_place(tmp_path: Path) -> None:
    made = script("make_scaling")
    network = tilesim.load_network("pocket")
    run = tilesim.simulate(tilesim.compile(network, tilesim.load_topology("edge-1x1")), np.zeros((1, 4, 4, 4), np.int8))
    first = {**run.statistics, "cycles": 1200, "latency_us": 2.4}
    chip = {**first["chip"], "grid": {"rows": 2, "columns": 2}}
    quick = {**first, "cycles": 400, "latency_us": 0.8, "units": 4 * first["units"], "chip": chip}
    assert made._cell(first, quick) == "400 (3.00 x, 75%)"
    assert made._cell(first, None) == made._cell(None, None) == "does not fit"
    assert made._statistics(network, tilesim.load_topology("edge-1x1", {"narrow_memory.size_bytes": 256})) is None
    made.table = lambda _: "| new |\n"
    assert made.rewritten("a\n<!-- scaling -->\nold\n<!-- /scaling -->\nb", tmp_path) == (
        "a\n<!-- scaling -->\n| new |\n<!-- /scaling -->\nb"
    )
    assert made.PLACE.search(PAGE)
