"""Plans as plain values, for JSON and for tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from tilesim.batching.flow import peak_queues
from tilesim.batching.graph import LayerGraph
from tilesim.batching.plan import Plan
from tilesim.batching.schedules import BatchStep
from tilesim.batching.sizes import batch_size


def layers_document(graph: LayerGraph, value: Fraction) -> list[dict[str, Any]]:
    """The layers: how often an inference uses their weights, and the batches that follow."""
    return [
        {
            "layer": layer.node,
            "name": layer.name,
            "after": list(layer.predecessors),
            "reuse": layer.reuse,
            "weight_bytes": layer.weight_bytes,
            "batch": batch_size(value, layer.reuse),
            "batch_power_of_two": batch_size(value, layer.reuse, power_of_two=True),
        }
        for layer in graph.layers
    ]


def plan_document(graph: LayerGraph, plan: Plan, capacity_bytes: int) -> dict[str, Any]:
    """A plan: what it costs, the most inferences that wait between layers, and its steps."""
    return {
        "schedule": plan.schedule,
        "inferences": plan.inferences,
        "batches": list(plan.batches),
        "group": plan.group or None,
        "weight_set_loads": plan.loads,
        "weight_bytes": plan.weight_bytes,
        "peak_buffer_bytes": plan.peak_bytes,
        "fits": plan.peak_bytes <= capacity_bytes,
        "fitted": plan.fitted or None,
        "queues": [
            {"from": before, "to": after, "peak": peak}
            for (before, after), peak in peak_queues(graph, plan.steps).items()
        ],
        "steps": _steps(plan.steps, plan.buffer_bytes),
    }


def _steps(steps: Sequence[BatchStep], buffer_bytes: Sequence[int]) -> list[dict[str, int]]:
    return [{**asdict(step), "buffer_bytes": size} for step, size in zip(steps, buffer_bytes, strict=True)]
