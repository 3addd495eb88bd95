"""Runs that the tests of reports share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.report.runs import traced
from tilesim.report.document import SavedRun


@pytest.fixture(scope="session")
def digits_run() -> SavedRun:
    """``digits`` on edge-2x2."""
    return traced("digits", "edge-2x2")


@pytest.fixture(scope="session")
def keywords_run(models: Path) -> SavedRun:
    """Keyword spotting on edge-4x4: more masters on the ring than have a colour."""
    return traced(models / "mlperf_kws_dscnn" / "model.tflite", "edge-4x4")
