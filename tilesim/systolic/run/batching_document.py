"""What ``run.json`` says of batches: the steps as they ran, and what they cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilesim.statistics import BatchingStatistics, BatchStep, RequestStatistics
from tilesim.systolic.isa.model.instructions import Instruction, MatrixMultiply, Queue, Sync
from tilesim.systolic.isa.model.program import Program
from tilesim.systolic.units.chip import Chip


def document(
    program: Program, chip: Chip, start: int, requests: Sequence[RequestStatistics]
) -> BatchingStatistics | None:
    """The batching of a run that began in cycle ``start``; None if there was no plan.

    A step is what stands in the program behind the last instruction of the step before, up to its own last one. It
    begins when the matrix or the vector unit begins the first instruction of its layer, and ends when the last one has
    retired. ``weight_set_loads`` counts the steps that begin with a tile that was not in the array. If the schedule was
    chosen, ``predicted_cycles`` are those of all that it was chosen from.
    """
    batching = program.batching
    if batching is None:
        return None
    return {
        "schedule": batching.schedule,
        "predicted_cycles": {plan.schedule: plan.cycles for plan in batching.predicted} or None,
        "weight_reuse": batching.weight_reuse,
        "batches": list(batching.batches),
        "steps": _steps(program, chip, start),
        "weight_set_loads": sum(1 for ops in _by_step(program) if _fetches(ops)),
        "weight_bytes": chip.weight_memory.bytes,
        "peak_buffer_bytes": max((step.buffer_bytes for step in batching.steps), default=0),
        "latency_first_cycles": requests[0]["latency_cycles"],
        "latency_last_cycles": requests[-1]["latency_cycles"],
    }


def _by_step(program: Program) -> Iterator[Sequence[Instruction]]:
    """What stands in the program for each step, and belongs to its layer."""
    assert program.batching is not None
    places = {op.label: k for k, op in enumerate(program.run)}
    first = 0
    for step in program.batching.steps:
        end = places.get(step.label, first - 1) + 1
        yield [op for op in program.run[first:end] if _computes(op, step.layer)]
        first = max(first, end)


def _fetches(ops: Sequence[Instruction]) -> bool:
    return next((op.switch for op in ops if isinstance(op, MatrixMultiply)), False)


def _computes(op: Instruction, layer: int) -> bool:
    return op.layer == layer and op.queue in {Queue.MATRIX, Queue.VECTOR} and not isinstance(op, Sync)


def _steps(program: Program, chip: Chip, start: int) -> list[BatchStep]:
    assert program.batching is not None
    begun, retired = chip.retirement.begun, chip.retirement.retired
    steps: list[BatchStep] = []
    for step, ops in zip(program.batching.steps, _by_step(program), strict=True):
        began = min((begun[op.label] for op in ops), default=start)
        steps.append(
            {
                "layer": step.layer,
                "first": step.first,
                "count": step.count,
                "start_cycle": began - start,
                "end_cycle": retired.get(step.label, began) - start,
                "buffer_bytes": step.buffer_bytes,
            }
        )
    return steps
