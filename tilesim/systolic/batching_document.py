"""What ``run.json`` says of batches: the steps as they ran, and what they cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from tilesim.systolic.isa.instructions import Instruction, Queue, Sync
from tilesim.systolic.isa.program import Program
from tilesim.systolic.units.chip import Chip


def document(program: Program, chip: Chip, start: int, requests: Sequence[Mapping[str, int]]) -> dict[str, Any] | None:
    """The batching of a run that began in cycle ``start``; None if there was no plan.

    A step is what stands in the program behind the last instruction of the step before, up to its own last one. It
    begins when the matrix or the vector unit begins the first instruction of its layer, and ends when the last one has
    retired. ``weight_set_loads`` counts steps of layers with weights, those of one layer in a row
    once.
    """
    batching = program.batching
    if batching is None:
        return None
    weighted = [step.layer for step in batching.steps if batching.batches[step.layer]]
    return {
        "schedule": batching.schedule,
        "weight_reuse": batching.weight_reuse,
        "batches": list(batching.batches),
        "steps": _steps(program, chip, start),
        "weight_set_loads": sum(1 for _ in groupby(weighted)),
        "weight_bytes": chip.weight_memory.bytes,
        "peak_buffer_bytes": max((step.buffer_bytes for step in batching.steps), default=0),
        "latency_first_cycles": requests[0]["latency_cycles"],
        "latency_last_cycles": requests[-1]["latency_cycles"],
    }


def _computes(op: Instruction, layer: int) -> bool:
    return op.layer == layer and op.queue in {Queue.MATRIX, Queue.VECTOR} and not isinstance(op, Sync)


def _steps(program: Program, chip: Chip, start: int) -> list[dict[str, int]]:
    assert program.batching is not None
    begun, retired = chip.retirement.begun, chip.retirement.retired
    places = {op.label: k for k, op in enumerate(program.run)}
    found, first = [], 0
    for step in program.batching.steps:
        end = places.get(step.label, first - 1) + 1
        began = min((begun[op.label] for op in program.run[first:end] if _computes(op, step.layer)), default=start)
        found.append(
            {
                "layer": step.layer,
                "first": step.first,
                "count": step.count,
                "start_cycle": began - start,
                "end_cycle": retired.get(step.label, began) - start,
                "buffer_bytes": step.buffer_bytes,
            }
        )
        first = max(first, end)
    return found
