"""Batches of inferences over a run: what they kept in the unified buffer, and how often weights were fetched for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tilesim.printable import printable
from tilesim.report.words import short_name
from tilesim.statistics import BatchStep, LayerStatistics

SCHEDULES = {
    "none": "one inference after the other",
    "demand": "each layer as many as the next one asks for",
    "lcm": "each layer the least common multiple of all batches",
}
"""What each schedule means."""
DEFINITION = (
    "Footprint: bytes of all tensors that lie in the unified buffer, those that wait for their layer included; it "
    "changes when a batch begins. Weight sets: how often the weights of a layer were fetched; batches of one layer in "
    "a row share them, where not all layers have run the same inferences in between. Their bytes are those of whole "
    "tiles, which come again for each part of a batch where the accumulators do not hold the sums of all of it."
)


class BatchLane(NamedTuple):
    """A layer that takes batches."""

    number: int
    name: str
    short: str


def footprint(steps: Sequence[BatchStep]) -> list[tuple[int, int]]:
    """What lies in the buffer over time: wherever it changes, the cycle, and the bytes from then on; at last none."""
    points: list[tuple[int, int]] = []
    for step in sorted(steps, key=lambda step: step["start_cycle"]):
        if points and points[-1][0] == step["start_cycle"]:
            points.pop()
        if not points or points[-1][1] != step["buffer_bytes"]:
            points.append((step["start_cycle"], step["buffer_bytes"]))
    return [*points, (max(step["end_cycle"] for step in steps), 0)] if points else []


def batch_lanes(layers: Sequence[LayerStatistics], steps: Sequence[BatchStep]) -> list[BatchLane]:
    """Those of the ``layers`` that take batches, in the order of the network."""
    numbers = sorted({step["layer"] for step in steps})
    return [BatchLane(number, *_names(layers, number)) for number in numbers]


def _names(layers: Sequence[LayerStatistics], number: int) -> tuple[str, str]:
    name = printable(layers[number]["name"]) if number < len(layers) else f"layer {number}"
    return name, short_name(name)


def schedule_words(schedule: str) -> str:
    """A schedule, and what it means."""
    meaning = SCHEDULES.get(schedule)
    return f"{printable(schedule)}: {meaning}" if meaning else printable(schedule)
