"""Faults in the words of the command line."""

from __future__ import annotations

import pytest

from tilesim.cli.spelling import in_options


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("override grid.rows=0: must be at least 1", "--set grid.rows=0: must be at least 1"),
        ("chip: partition must be left out: it has one unit", "chip: --partition must be left out: it has one unit"),
        ("chip: batches must be left out: no", "chip: batches must be left out: no"),
        ("x: no such topology; the override grid=RxC gives a", "x: no such topology; --set grid=RxC gives a"),
        ("model.tflite: override must be a name", "model.tflite: override must be a name"),
    ],
)
def test_arguments_become_options(fault: str, said: str) -> None:
    assert in_options(fault) == said
