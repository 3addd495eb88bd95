"""The line that says how layers were spread over the tiles."""

from __future__ import annotations

from typing import Any

import pytest

from tilesim.report.partition import partition_words

KINDS = ("convolution", "add", "fullyconnected")


def words(asked: str, *choices: str, **candidates: int) -> str:
    """Of layers of three kinds, and the cycles of what was tried."""
    statistics: dict[str, Any] = {
        "layers": [{"kind": kind} for kind in KINDS],
        "partition": {
            "asked": asked,
            "layers": [{"layer": k, "choice": choice, "reason": ""} for k, choice in enumerate(choices)],
            "candidates": [{"name": name, "cycles": cycles} for name, cycles in candidates.items()],
        },
    }
    return partition_words(statistics)


@pytest.mark.parametrize("asked", ["", "spatial"])
def test_vectors_are_spread_by_outputs_without_asking(asked: str) -> None:
    assert words(asked, "spatial", "spatial", "channel") == ""
    assert words(asked, "channel", "spatial", "channel") == f"{asked}: 2 of 3 layers by channel"


def test_what_was_tried() -> None:
    assert words("channel", "spatial", "spatial", "spatial") == "channel: 0 of 3 layers by channel"
    choices = ("channel", "channel", "spatial")
    fastest = "auto: 2 of 3 layers by channel; fastest of 2 tried was"
    assert words("auto", *choices, spatial=100, channel=100) == f"{fastest} spatial"
    assert words("auto", *choices, spatial=200, channel=150) == f"{fastest} channel, by 25.0% over spatial"
    assert words("auto", *choices, spatial=-1, channel=150) == f"{fastest} channel"
