"""Plans as plain values, for JSON and for tables."""

from __future__ import annotations

from fractions import Fraction
from typing import TypedDict

from tilesim.batching.flow import peak_queues
from tilesim.batching.graph import LayerGraph
from tilesim.batching.plan import Plan, batch_size


class PlannedLayer(TypedDict):
    """A layer with weights."""

    layer: int
    """Its place in the network."""
    name: str
    """What the model calls it: by its node in ONNX, if that has a name of its own, else by its output."""
    after: list[int]
    """The layers with weights whose results it takes."""
    reuse: int
    """How often an inference uses each weight."""
    weight_bytes: int
    """Bytes of its weights, in whole tiles."""
    batch: int
    """Its batch."""
    batch_power_of_two: int
    """Its batch, rounded up to a power of two."""


Queue = TypedDict("Queue", {"from": int, "to": int, "peak": int})
"""How many inferences wait at most between two layers."""


class PlannedStep(TypedDict):
    """Inferences of a layer that run in a row."""

    layer: int
    """The layer's place in the network."""
    first: int
    """The first inference."""
    count: int
    """How many."""
    buffer_bytes: int
    """Bytes of the unified buffer that then hold what waits between layers."""


class PlanDocument(TypedDict):
    """A plan of batches."""

    schedule: str
    """In what order layers take their batches."""
    inferences: int
    """How many inferences it is for."""
    batches: list[int]
    """The batch of each layer with weights."""
    group: int | None
    """How many inferences go through all layers before the next ones do; None if the schedule has no groups."""
    weight_set_loads: int
    """How often weights of a layer are fetched."""
    weight_bytes: int
    """Bytes of these."""
    peak_buffer_bytes: int
    """The most bytes that wait between layers."""
    fits: bool
    """Whether the unified buffer holds them."""
    fitted: str | None
    """How batches were made smaller to fit; None if they were not."""
    queues: list[Queue]
    """What waits between layers."""
    steps: list[PlannedStep]
    """The steps in order."""


class WeightSupply(TypedDict):
    """How weights come to an array."""

    rows: int
    """Rows of the array."""
    columns: int
    """Columns of the array."""
    tile_bytes: int
    """Bytes of a tile of weights."""
    clock_hz: int
    """Cycles a second of the array."""
    memory_clock_hz: int
    """Cycles a second of weight memory."""
    channels: int
    """Channels of weight memory."""
    channel_bytes: int
    """Bytes that each brings a cycle of the memory."""


class WeightReuse(WeightSupply):
    """How often a weight is to be used, and what that comes from."""

    value: float
    """Uses of each weight while the next ones come."""
    given: bool
    """Whether the user gave it."""
    chip_value: float
    """What the chip asks for: cycles in which weight memory brings a tile of weights."""


class BatchingDocument(TypedDict):
    """What ``tilesim batch`` prints."""

    network: str
    """Name of the network."""
    topology: str
    """Name of the chip."""
    inferences: int
    """How many inferences there are."""
    power_of_two: bool
    """Whether batches are rounded up to powers of two."""
    room_bytes: int
    """Bytes of the unified buffer for what waits between layers."""
    weight_reuse: WeightReuse
    """How often a weight is to be used."""
    layers: list[PlannedLayer]
    """The layers with weights."""
    schedules: list[PlanDocument]
    """A plan for each schedule."""


def layers_document(graph: LayerGraph, value: Fraction) -> list[PlannedLayer]:
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


def plan_document(graph: LayerGraph, plan: Plan, capacity_bytes: int) -> PlanDocument:
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
        "steps": [
            {"layer": step.layer, "first": step.first, "count": step.count, "buffer_bytes": size}
            for step, size in zip(plan.steps, plan.buffer_bytes, strict=True)
        ],
    }
