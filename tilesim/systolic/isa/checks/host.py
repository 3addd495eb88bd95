"""Static checks of what a program says beside its instructions: host tensors, data, labels, layers, batches."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan, prod

from tilesim.machines.checks import RANGES, conversion_faults, shape_faults, twice
from tilesim.systolic.isa.checks.footprints import SIZES
from tilesim.systolic.isa.model.program import Batching, HostTensor, Program, TensorPlace

MOST_INFERENCES = 1 << 20
SCHEDULES = ("none", "demand", "lcm")


def tensor_faults(program: Program) -> Iterator[str]:
    """What is wrong with inputs, outputs, data, labels and the places of tensors."""
    if not 1 <= program.inferences <= MOST_INFERENCES:
        yield f"inferences must be 1 to {MOST_INFERENCES}, not {program.inferences}"
    for way, tensors in (("input", program.inputs), ("output", program.outputs)):
        for tensor in tensors:
            for sentence in _host_faults(tensor, program.inferences):
                yield f"{way} {tensor.name!r}: {sentence}"
    for name in twice(segment.name for segment in program.data):
        yield f"data: the name {name!r} must belong to one segment"
    labels = [op.label for op in (*program.load, *program.run) if op.label]
    for label in twice(labels):
        yield f"{label}: a label must belong to one instruction"
    run = {op.label for op in program.run if op.label}
    for tensor_place in program.tensors:
        for sentence in _place_faults(tensor_place, program, run):
            yield f"tensor {tensor_place.name!r}: {sentence}"


def _host_faults(tensor: HostTensor, inferences: int) -> Iterator[str]:
    if tensor.element not in SIZES:
        yield f"element must be one of {', '.join(SIZES)}, not {tensor.element!r}"
        return
    # the entries of a look-up may be of another type
    made = tensor.element if not tensor.lookup else tensor.dtype if tensor.dtype in RANGES else "int16"
    yield from conversion_faults(tensor, list(SIZES) if tensor.lookup else [tensor.element], RANGES[made])
    if tensor.lookup and SIZES[tensor.element] != 1:
        yield f"element must be int8 or uint8 for a lookup, not {tensor.element}"
    if not 0 <= tensor.inference < inferences:
        yield f"inference must be below {inferences}, not {tensor.inference}"
    if tensor.index < 0:
        yield f"index must be 0 or more, not {tensor.index}"
    yield from shape_faults(tensor.shape, tensor.axes)


def _place_faults(tensor: TensorPlace, program: Program, labels: set[str]) -> Iterator[str]:
    yield from shape_faults(tensor.shape, tensor.axes)
    if tensor.after not in labels:
        yield f"after must be the label of an instruction of the run, not {tensor.after!r}"
    if tensor.dtype not in SIZES:
        yield f"dtype must be one of {', '.join(SIZES)}, not {tensor.dtype!r}"
    else:
        end = tensor.address + prod(tensor.shape) * SIZES[tensor.dtype]
        size = program.topology.unified_buffer.size_bytes
        if not 0 <= tensor.address <= end <= size:
            reach = f"{tensor.address:#x} to {end:#x}"
            yield f"address must keep it inside the unified buffer, which has {size}, not {reach}"
    if not 0 <= tensor.inference < program.inferences:
        yield f"inference must be below {program.inferences}, not {tensor.inference}"


def batching_faults(program: Program) -> Iterator[str]:
    """What is wrong with how inferences are said to be put together."""
    if program.batching:
        for sentence in _batching(program.batching, program):
            yield f"batching: {sentence}"


def _batching(batching: Batching, program: Program) -> Iterator[str]:
    if batching.schedule not in SCHEDULES:
        yield f"schedule must be one of {', '.join(SCHEDULES)}, not {batching.schedule!r}"
    if isnan(batching.weight_reuse):
        yield "weight_reuse must be a number, not nan"
    if len(batching.batches) != len(program.layers) or min(batching.batches, default=0) < 0:
        yield f"batches must be a size of 0 or more for each of {len(program.layers)} layers, not {batching.batches}"
    for prediction in batching.predicted:
        if prediction.schedule not in SCHEDULES or prediction.cycles < 0:
            what = f"{prediction.cycles} of {prediction.schedule!r}"
            yield f"predicted must be 0 or more cycles of one of {', '.join(SCHEDULES)}, not {what}"
    labels = {op.label for op in program.run if op.label}
    for place, step in enumerate(batching.steps):
        if not 0 <= step.layer < len(program.layers):
            yield f"step {place}: layer must be below {len(program.layers)}, not {step.layer}"
        if step.first < 0 or step.count < 1 or step.first + step.count > program.inferences:
            last = step.first + step.count - 1
            yield f"step {place}: must be of inferences 0 to {program.inferences - 1}, not {step.first} to {last}"
        if step.label and step.label not in labels:
            yield f"step {place}: label must be that of an instruction of the run, not {step.label!r}"
