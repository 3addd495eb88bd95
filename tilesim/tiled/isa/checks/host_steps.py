"""Static checks of what a program leaves to the host."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from math import prod

import numpy as np

from tilesim.machines.checks import MOST_HOST_BYTES
from tilesim.machines.host_steps import HostConstant, HostStep, operator_of
from tilesim.printable import shown
from tilesim.tiled.isa.model.program import AT_HOST, HostTensor, Program


def step_faults(program: Program) -> Iterator[str]:
    """Steps that could not be done: of tensors that are not there, by operators that there are not; and what nobody
    makes.
    """
    for constant in program.constants:
        yield from (f"constant {shown(constant.name)}: {fault}" for fault in _constant_faults(constant))
    known = {tensor.index for tensor in (*program.inputs, *program.leaving) if tensor.rows or tensor.element != AT_HOST}
    known |= {tensor.index for tensor in program.inputs} | {constant.index for constant in program.constants}
    for place, step in enumerate(program.steps):
        where = f"step[{place}] {shown(step.label)}"
        yield from (f"{where}: {fault}" for fault in _faults(step, known, len(program.layers)))
        known.add(step.makes)
    made = Counter(step.makes for step in program.steps)
    yield from (f"step: the tensor {index} must be made once, not {n} times" for index, n in made.items() if n > 1)
    yield from _unmade(program, made)
    steps = {step.makes: step for step in program.steps}
    ours: list[tuple[str, HostTensor]] = [("given", tensor) for tensor in program.given]
    ours += [("output", tensor) for tensor in program.outputs if not tensor.rows]
    for way, tensor in ours:
        if tensor.index in steps:
            yield from (f"{way} {shown(tensor.name)}: {fault}" for fault in _unlike(tensor, steps[tensor.index]))


def _unlike(tensor: HostTensor, step: HostStep) -> Iterator[str]:
    """How a tensor differs from what a step makes."""
    if (tensor.dtype, prod(tensor.shape)) != (step.dtype, prod(step.shape)):
        yield f"must be {step.dtype} of {step.shape}, which its step makes, not {tensor.dtype} of {tensor.shape}"


def _unmade(program: Program, made: Collection[int]) -> Iterator[str]:
    for way, tensors in (("output", program.outputs), ("given", program.given)):
        for tensor in tensors:
            if tensor.index not in made and (way == "given" or not tensor.rows):
                there = way == "output" and any(tensor.index == other.index for other in program.inputs)
                if not there:
                    yield f"{way} {shown(tensor.name)}: must come from the tiles or be made by a step"
    twice = [index for index, n in Counter(tensor.index for tensor in program.given).items() if n > 1]
    yield from (f"given: the tensor {index} must be given once" for index in twice)
    behind = [tensor.behind for tensor in program.given]
    if behind != sorted(behind) or not all(0 <= count <= len(program.inputs) for count in behind):
        yield f"given: behind must rise from 0 to at most {len(program.inputs)}, the inputs, not {behind}"


def _faults(step: HostStep, known: Collection[int], layers: int) -> Iterator[str]:
    if not step.reads:
        yield "reads must name at least one tensor"
    for index in step.reads:
        if index not in known:
            yield f"reads must name tensors that the host has by then, not {index}"
    if not 0 <= step.layer < layers:
        yield f"layer must be below the number of layers {layers}, not {step.layer}"
    try:
        operator_of(step)
    except ValueError as error:
        yield str(error)
    yield from _array_faults(step.dtype, step.shape)
    if not 0 <= step.read_bytes <= MOST_HOST_BYTES * max(1, len(step.reads)):
        yield f"read_bytes must be those of what it reads, not {step.read_bytes}"


def _array_faults(dtype: str, shape: tuple[int, ...]) -> Iterator[str]:
    try:
        item = np.dtype(dtype)
    except TypeError:
        item = np.dtype(object)
    if item.kind not in "biuf":
        yield f"dtype must be one of numbers, not {shown(dtype)}"
    elif min(shape, default=1) < 1 or prod(shape) * item.itemsize > MOST_HOST_BYTES:
        yield f"shape must be sizes of at least 1 and {MOST_HOST_BYTES} bytes in all at most, not {shape}"


def _constant_faults(constant: HostConstant) -> Iterator[str]:
    faults = [*_array_faults(constant.dtype, constant.shape)]
    yield from faults
    if not faults and prod(constant.shape) * np.dtype(constant.dtype).itemsize != constant.data.size:
        yield f"bytes must be those of {constant.dtype} of {constant.shape}, not {constant.data.size}"
