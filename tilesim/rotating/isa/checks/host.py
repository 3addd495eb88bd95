"""Static checks of what a program says beside its array's instructions: host tensors, data, labels, layers, places."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np

from tilesim.arithmetic.classify import FUNCTIONS, elements_made
from tilesim.machines.checks import (
    MOST_HOST_BYTES,
    PLACE_DTYPES,
    RANGES,
    conversion_faults,
    host_function_faults,
    shape_faults,
    twice,
)
from tilesim.rotating.isa.checks.layouts import layout_faults
from tilesim.rotating.isa.checks.moves import MOST_SCRATCHES
from tilesim.rotating.isa.model.instructions import Instruction, Ram, ReadHostMemory, WriteHostMemory
from tilesim.rotating.isa.model.program import HostTensor, Program, TensorPlace
from tilesim.rotating.topology import Topology

BITS = {"int8": 8, "uint8": 8, "int16": 16}


def tensor_faults(program: Program) -> Iterator[str]:
    """What is wrong with inputs, outputs, data, labels and the places of tensors."""
    for way, tensors in (("input", program.inputs), ("output", program.outputs)):
        for tensor in tensors:
            for sentence in _host_faults(tensor, program.topology):
                yield f"{way} {tensor.name!r}: {sentence}"
    yield from _data_faults(program)
    for label in twice(op.label for op in (*program.load, *program.run) if op.label):
        yield f"{label}: a label must belong to one instruction"
    for place in program.tensors:
        for sentence in _place_faults(place, program.topology):
            yield f"tensor {place.name!r}: {sentence}"


def move_faults(op: Instruction, section: str, program: Program) -> Iterator[str]:
    """Rows that DMA moves outside of a RAM, or of what the host has."""
    if isinstance(op, ReadHostMemory):
        topology = program.topology
        size, ram = (
            (topology.data_ram.rows, "the data RAM")
            if op.ram is Ram.DATA
            else (topology.weight_ram.rows, "the weight RAM")
        )
        yield from _inside("row", op.row, op.rows, size, ram)
        yield from _host_rows(op.source, op, program)
        if section == "load" and op.source == "input":
            yield "source must be data or scratch in load, which has no input, not input"
    elif isinstance(op, WriteHostMemory):
        yield from _inside("row", op.row, op.rows, program.topology.data_ram.rows, "the data RAM")
        yield from _host_rows(op.destination, op, program)
        if section == "load" and op.destination == "output":
            yield "destination must be scratch in load, which has no output, not output"


def output_faults(program: Program) -> Iterator[str]:
    """Rows of outputs that are written several times, or not at all."""
    times = [np.zeros(tensor.layout.rows + 1, np.int64) for tensor in program.outputs]
    for op in program.run:
        if isinstance(op, WriteHostMemory) and op.destination == "output":
            times[op.tensor][op.offset] += 1
            times[op.tensor][op.offset + op.rows] -= 1
    for tensor, changes in zip(program.outputs, times, strict=True):
        written = np.cumsum(changes[:-1])
        wrong = np.flatnonzero(written != 1)
        if wrong.size:
            row = int(wrong[0])
            yield f"output {tensor.name!r}: each row must be written once, and row {row} is {_times(int(written[row]))}"


def _times(count: int) -> str:
    return f"written {count} times" if count else "never written"


def _host_rows(kind: str, op: ReadHostMemory | WriteHostMemory, program: Program) -> Iterator[str]:
    """The rows of a host tensor, of which a scratch has as many as it needs."""
    row_bytes = program.topology.row_bytes
    if kind == "scratch":
        if op.tensor >= MOST_SCRATCHES:
            yield f"tensor must be below {MOST_SCRATCHES} for scratch, not {op.tensor}"
        yield from _inside("offset", op.offset, op.rows, MOST_HOST_BYTES // row_bytes, f"scratch {op.tensor}")
        return
    tensors = {"input": program.inputs, "output": program.outputs}
    sizes = [tensor.layout.rows for tensor in tensors.get(kind, ())]
    if kind == "data":
        sizes = [segment.data.size // row_bytes for segment in program.data]
    if op.tensor >= len(sizes):
        yield f"tensor must be one of {len(sizes)} of {kind}, not {kind} {op.tensor}"
    else:
        yield from _inside("offset", op.offset, op.rows, sizes[op.tensor], f"{kind} {op.tensor}")


def _inside(name: str, first: int, rows: int, size: int, memory: str) -> Iterator[str]:
    if first + rows > size:
        yield f"{name} must keep rows {first} to {first + rows - 1} inside {memory}, which has {size}"


def _data_faults(program: Program) -> Iterator[str]:
    for name in twice(segment.name for segment in program.data):
        yield f"data: the name {name!r} must belong to one segment"
    row_bytes = program.topology.row_bytes
    for segment in program.data:
        if segment.data.ndim != 1 or segment.data.dtype != np.uint8:
            yield f"data {segment.name!r}: must be bytes one after the other"
        elif segment.data.size % row_bytes:
            yield f"data {segment.name!r}: must be whole rows of {row_bytes} bytes, not {segment.data.size} bytes"


def _host_faults(tensor: HostTensor, topology: Topology) -> Iterator[str]:
    elements = [name for name, bits in BITS.items() if bits <= topology.units.word_bits]
    if tensor.element not in elements:
        yield f"element must be one of {', '.join(elements)}, not {tensor.element!r}"
        return
    # the entries of a look-up may be of another type
    made = tensor.element if not tensor.lookup else tensor.dtype if tensor.dtype in RANGES else "int16"
    dtypes = PLACE_DTYPES if _is_places(tensor) else list(BITS) if tensor.lookup else [tensor.element]
    yield from conversion_faults(tensor, dtypes, RANGES[made])
    if tensor.lookup and BITS[tensor.element] != 8:
        yield f"element must be int8 or uint8 for a lookup, not {tensor.element}"
    if tensor.index < 0:
        yield f"index must be 0 or more, not {tensor.index}"
    wrong = list(host_function_faults(tensor, tensor.layout.depth))
    yield from wrong
    depth = tensor.layout.depth
    if tensor.function and not wrong:
        depth = elements_made(tensor.function, depth, tensor.scaling)
    yield from _map_faults(tensor, topology, depth)


def _is_places(tensor: HostTensor) -> bool:
    return tensor.function in FUNCTIONS and FUNCTIONS[tensor.function].places


def _map_faults(tensor: HostTensor | TensorPlace, topology: Topology, depth: int) -> Iterator[str]:
    """A shape, and the layout of as many elements, of which ``depth`` are made of a pixel's."""
    faults = [*shape_faults(tensor.shape, tensor.axes), *layout_faults(tensor.layout, topology)]
    yield from faults
    layout = tensor.layout
    held, needed = layout.height * layout.width * depth, prod(tensor.shape)
    if not faults and held != needed:
        yield f"layout must have {needed} elements, as shape has, not {held}"


def _place_faults(tensor: TensorPlace, topology: Topology) -> Iterator[str]:
    faults = list(_map_faults(tensor, topology, tensor.layout.depth))
    yield from faults
    if tensor.dtype not in BITS:
        yield f"dtype must be one of {', '.join(BITS)}, not {tensor.dtype!r}"
    if tensor.index < 0:
        yield f"index must be 0 or more, not {tensor.index}"
    if tensor.rows_written < 0:
        yield f"rows_written must be 0 or more, not {tensor.rows_written}"
    if tensor.row < 0:
        yield f"row must be 0 or more, not {tensor.row}"
    elif not faults:
        yield from _inside("row", tensor.row, tensor.layout.rows, topology.data_ram.rows, "the data RAM")
