"""Batches of inferences: how many a layer takes at once so that its weights are worth their fetch, and in what order
layers take them.

Where a machine fetches the weights of one layer after the other, a layer that runs several inferences in a row fetches
its own once. What it makes of them waits in the buffer, though, until the next layer takes it: a :class:`Plan` trades
weight traffic for buffer footprint.

Source: JP 7561916 B2.
"""

from tilesim.batching.graph import LayerGraph, graph_of
from tilesim.batching.plan import MOST_INFERENCES, Plan, Room, batch_size, is_of, plan
from tilesim.batching.schedules import SCHEDULES, Schedule, ScheduleStep

__all__ = [
    "MOST_INFERENCES",
    "SCHEDULES",
    "LayerGraph",
    "Plan",
    "Room",
    "Schedule",
    "ScheduleStep",
    "batch_size",
    "graph_of",
    "is_of",
    "plan",
]
