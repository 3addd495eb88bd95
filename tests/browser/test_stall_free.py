"""Layers of a systolic run beside a stall-free count, in a real browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Open
from tilesim.cli import app
from tilesim.report.analysis.stall_free import rows


@pytest.fixture(scope="module")
def systolic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recorded run of the digits on an array, with its page."""
    folder: Path = tmp_path_factory.mktemp("systolic") / "run"
    app(["run", "digits", "-t", "systolic-32", "--trace", "--out", str(folder)], standalone_mode=False)
    app(["report", str(folder)], standalone_mode=False)
    return folder


def test_every_dense_layer_has_both_counts(open_page: Open, systolic: Path) -> None:
    page: Any = open_page(systolic / "report.html")
    found = list(rows(json.loads((systolic / "run.json").read_text(encoding="utf-8"))))
    assert len(found) == 4
    lines = page.locator("#stall_free tbody tr")
    assert [int(line.get_attribute("data-layer")) for line in lines.all()] == [row.index for row in found]
    for line, row in zip(lines.all(), found, strict=True):
        sums = [int(text.replace(",", "")) for text in line.locator("td.sum").all_text_contents()]
        assert sums == [row.stall_free, row.ours]


def test_units_stand_in_groups(open_page: Open, systolic: Path) -> None:
    page: Any = open_page(systolic / "report.html")
    words = page.locator("#timeline").text_content()
    for title in ("Host and sequencer", "Weights", "Array and vector unit", "DMA in"):
        assert title in words
