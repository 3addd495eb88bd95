"""Batches of inferences: how many a layer takes at once so that its weights are worth their fetch, and in what order
layers take them.

Where a machine fetches the weights of one layer after the other, a layer that runs several inferences in a row fetches
its own once. What it makes of them waits in the buffer, though, until the next layer takes it: a :class:`Plan` trades
weight traffic for buffer footprint.

Source: JP 7561916 B2.
"""

from tilesim.batching.flow import Moment, NodeRun, moments, peak_queues
from tilesim.batching.graph import GraphNode, LayerGraph, WeightedLayer, graph_of
from tilesim.batching.plan import Plan, Room, is_of, plan
from tilesim.batching.schedules import SCHEDULES, Schedule, ScheduleStep
from tilesim.batching.sizes import LayerBatch, batch_size, layer_batches, weight_reuse_value

__all__ = [
    "SCHEDULES",
    "GraphNode",
    "LayerBatch",
    "LayerGraph",
    "Moment",
    "NodeRun",
    "Plan",
    "Room",
    "Schedule",
    "ScheduleStep",
    "WeightedLayer",
    "batch_size",
    "graph_of",
    "is_of",
    "layer_batches",
    "moments",
    "peak_queues",
    "plan",
    "weight_reuse_value",
]
