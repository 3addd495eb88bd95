"""Runs of the ``batching`` workload made up from its plans, as if a chip with a weight memory had run them."""

from __future__ import annotations

from functools import cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import tilesim
from tests.report.made import energy, layer
from tests.report.saved import made_up
from tilesim.batching import Plan, graph_of, plan
from tilesim.batching.schedules import Schedule
from tilesim.report.document import SavedRun

FETCH_CYCLES = 1349


@cache
def batched(schedule: Schedule, inferences: int = 32, **changes: Any) -> SavedRun:
    """A run in batches; ``changes`` replace what its ``batching`` says. A set of weights takes a fetch, a position a
    cycle.
    """
    graph = graph_of(tilesim.load_network("batching"))
    made = plan(graph, 1500, inferences, schedule, power_of_two=True)
    reuse = {each.node: each.reuse for each in graph.layers}
    fetched = [before is None or before.layer != step.layer for before, step in pairwise([None, *made.steps])]
    cycles = [
        step.count * reuse[step.layer] + new * FETCH_CYCLES for step, new in zip(made.steps, fetched, strict=True)
    ]
    batching = _batching(made, [0, *accumulate(cycles)])
    layers = [
        {
            **layer(each.name, **{"useful MACs": 9}),
            "start_cycle": 0,
            "mac_utilisation": 0.5,
            "mac_busy_cycles": 9,
            "bytes": {},
        }
        for each in graph.layers
    ]
    run = made_up(None, network="batching", topology="tpu-v1", machine="systolic", inferences=inferences,
                  cycles=sum(cycles), layers=layers, bound_by="useful MACs", breakdown={"useful MACs": sum(cycles)},
                  chip=tilesim.load_topology("tpu-v1").model_dump(mode="json"),
                  energy=energy(1.0) | {"layers": [{"actions": {}, "total_pj": 0.0}] * len(layers)},
                  batching={**batching, **changes})  # fmt: skip
    return SavedRun(Path(schedule), run.statistics, None)


def _batching(made: Plan, starts: list[int]) -> dict[str, Any]:
    steps = [
        {"layer": step.layer, "first": step.first, "count": step.count, "start_cycle": start, "end_cycle": end,
         "buffer_bytes": size}
        for step, size, (start, end) in zip(made.steps, made.buffer_bytes, pairwise(starts), strict=True)
    ]  # fmt: skip
    return {
        "schedule": made.schedule, "weight_reuse": float(made.weight_reuse), "batches": list(made.batches),
        "steps": steps, "weight_set_loads": made.loads, "weight_bytes": made.weight_bytes,
        "peak_buffer_bytes": made.peak_bytes, "latency_first_cycles": starts[-1], "latency_last_cycles": starts[-1],
    }  # fmt: skip
