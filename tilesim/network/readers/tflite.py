"""Reader of TensorFlow Lite models.

Arithmetic is that of TensorFlow Lite's reference kernels: see the rule of each operator in
:mod:`tilesim.network.readers.tflite_operators`.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import tflite

from tilesim.budgets import LARGEST_MODEL_BYTES
from tilesim.errors import ModelError
from tilesim.files import read_bytes
from tilesim.network.graph import Array, Network, Node, Quantisation, Tensor
from tilesim.network.readers import name_of
from tilesim.network.readers.builder import (
    ACTIVATION_DTYPES,
    MAX_ELEMENTS,
    NetworkBuilder,
    must_be_bearable,
    quantisation,
)
from tilesim.network.readers.fault import ModelFault, collect, gather, in_file, no_model, wrong_type
from tilesim.network.readers.tflite_file import FileGraph, FileOperator, FileTensor, names_of, parse
from tilesim.network.readers.tflite_operators import READERS
from tilesim.network.readers.tflite_tails import without_tail

DTYPES = {0: np.float32, 2: np.int32, 3: np.uint8, 4: np.int64, 7: np.int16, 9: np.int8}
"""NumPy's types for the schema's codes."""


def read(path: Path) -> Network:
    """The network in a .tflite file; tensor indices are the file's own.

    Raises:
        ModelError: every fault found, each naming the file and the node or tensor.
    """
    content = read_bytes(path, LARGEST_MODEL_BYTES, no_model)
    try:
        return _network(name_of(path), parse(content))
    except ModelError as error:
        raise in_file(path, error) from error


OPTIONAL = frozenset((kind, 2) for kind in ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")) | {
    ("TRANSPOSE_CONV", 3)
}
"""Inputs that may be absent, -1: operators and positions."""


def _network(name: str, graph: FileGraph) -> Network:
    _check_size(graph)
    graph, notes = without_tail(graph)
    faults = [*graph.faults, *_end_faults(graph)]
    builder = NetworkBuilder(_tensors(graph, faults), len(graph.tensors))
    # inputs and constants are ready before any node has run
    ready = {*_constant_bytes(graph), *(i for i in graph.inputs if i in range(len(graph.tensors)))}
    made = set(graph.inputs)
    for op in graph.operators:
        wrong = _wiring_faults(op, ready, graph.tensors)
        if not wrong and builder.tensors.keys() >= {*op.inputs, *op.outputs} - {-1}:  # else those were reported already
            gather(wrong, [op], partial(_add, builder, graph.outputs))
        collect(faults, f"node {op.index} ({op.kind})", ModelError(wrong), op.kind, _name(graph, op))
        made.update(op.outputs)
        ready.update(i for i in op.outputs if 0 <= i < len(graph.tensors))
    faults += [f"output {i}: must be an input, or made by a node" for i in graph.outputs if i not in made]
    if faults:
        raise ModelError(faults)
    return replace(builder.network(name, graph.inputs, graph.outputs), notes=notes)


def _name(graph: FileGraph, op: FileOperator) -> str:
    """What a node is called: as its first output."""
    named = (graph.tensors[i] for i in op.outputs[:1] if 0 <= i < len(graph.tensors))
    return next((tensor.name for tensor in named if tensor is not None), "")


def _constant_bytes(graph: FileGraph) -> dict[int, int]:
    """Of the tensors that are constants."""
    held = ((index, tensor.data) for index, tensor in enumerate(graph.tensors) if tensor is not None)
    return {index: data.size for index, data in held if data is not None}


def _check_size(graph: FileGraph) -> None:
    read = [*graph.outputs, *(i for op in graph.operators for i in op.inputs)]
    sizes = _constant_bytes(graph)
    must_be_bearable(sum(sizes.get(i, 0) for i in read))


def _end_faults(graph: FileGraph) -> list[str]:
    count = len(graph.tensors)
    faults = [f"an input must be a tensor from 0 to {count - 1}, not {i}" for i in graph.inputs if not 0 <= i < count]
    constants = _constant_bytes(graph)
    faults += [f"input {i}: must be a tensor without data" for i in graph.inputs if i in constants]
    if len(set(graph.inputs)) != len(graph.inputs):
        faults.append("the inputs must all be different")
    if not graph.inputs or not graph.outputs:
        faults.append(f"must have inputs and outputs, not {len(graph.inputs)} and {len(graph.outputs)}")
    return faults


def _wiring_faults(op: FileOperator, ready: set[int], tensors: Sequence[FileTensor | None]) -> list[str]:
    """Whether the operator is known, its inputs are ``ready``, and its outputs are some of ``tensors`` that are not;
    of those that are faulty nothing is said.
    """
    faults: list[str] = [] if op.kind in READERS else [ModelFault("the operator is not supported", "operator", op.kind)]
    faults += [
        f"must read a tensor that is ready, not {i}"
        for position, i in enumerate(op.inputs)
        if i not in ready
        and not (i == -1 and (op.kind, position) in OPTIONAL)
        and not (0 <= i < len(tensors) and tensors[i] is None)
    ]
    fresh = {i for i in op.outputs if 0 <= i < len(tensors)} - ready
    if not op.outputs or len(fresh) != len(op.outputs):
        faults.append(f"must write tensors that nothing has written, not {list(op.outputs)}")
    return faults


def _tensors(graph: FileGraph, faults: list[str]) -> dict[int, Tensor]:
    """The tensors that the graph uses; one that is faulty is left out and its faults kept."""
    used = {*graph.inputs, *graph.outputs, *(i for op in graph.operators for i in (*op.inputs, *op.outputs))}
    tensors = {}
    for index in sorted(used.intersection(range(len(graph.tensors)))):
        if (source := graph.tensors[index]) is None:
            continue
        try:
            tensors[index] = _tensor(index, source)
        except ModelError as error:
            collect(faults, f"tensor {index} ({source.title})", error, name=source.name)
    return tensors


def _tensor(index: int, source: FileTensor) -> Tensor:
    if source.type_code not in DTYPES:
        supported = ", ".join(np.dtype(dtype).name for dtype in DTYPES.values())
        actual = names_of(tflite.TensorType).get(source.type_code, f"code {source.type_code}")
        raise wrong_type(f"its type must be one of {supported}", actual.lower())
    dtype = np.dtype(DTYPES[source.type_code])
    if prod(source.shape) > MAX_ELEMENTS:
        raise ModelError(f"must have at most {MAX_ELEMENTS} elements, not shape {list(source.shape)}")
    data = None if source.data is None else _constant(source, source.data, dtype)
    return Tensor(index, source.name, dtype, source.shape, _quantisation(source, dtype), data)


def _constant(source: FileTensor, data: Array, dtype: np.dtype[Any]) -> Array:
    needed = prod(source.shape) * dtype.itemsize
    if data.size != needed:
        raise ModelError(f"its data must have {needed} bytes, not {data.size}")
    return np.frombuffer(data.tobytes(), dtype).reshape(source.shape)


def _quantisation(source: FileTensor, dtype: np.dtype[Any]) -> Quantisation | None:
    if not source.scales.size or dtype.kind == "f":
        return None
    if source.scales.size > 1:
        axis = source.quantised_axis
        if not 0 <= axis < len(source.shape) or source.shape[axis] != source.scales.size:
            raise ModelError(f"{source.scales.size} scales must match axis {axis} of {source.shape}")
    if source.zero_points.size not in {0, 1, source.scales.size}:
        raise ModelError(f"must have as many zero points as scales, not {source.zero_points.size}")
    return quantisation(source.scales, source.zero_points, dtype)


def _add(builder: NetworkBuilder, wanted: Container[int], op: FileOperator) -> None:
    """Add the node that an operator becomes, or one for each of its outputs. What is made of constants is one, too,
    unless it is ``wanted`` as an output of the network.
    """
    _refuse_hybrid(builder, op)
    built = READERS[op.kind](builder, op)
    parts = built if isinstance(built, tuple) else (built,)
    if len(parts) != len(op.outputs):
        raise ModelError(f"must write {len(parts)} tensors, not {len(op.outputs)}")
    for part, index in zip(parts, op.outputs, strict=True):
        output = builder.tensors[index]
        if part.shape != output.shape:
            raise ModelError(f"makes shape {list(part.shape)}, but {output.title} has {list(output.shape)}")
        if index not in wanted and builder.folded(index, part):
            continue
        if not part.shape:
            raise ModelError(f"{output.title} must have at least 1 axis, unless it is a constant")
        builder.nodes.append(Node(output.name, part.operator, part.inputs, index))


def _refuse_hybrid(builder: NetworkBuilder, op: FileOperator) -> None:
    """Refuse weights of bytes for activations that are reals, which runtimes quantise as they come."""
    tensors = [builder.tensors[i] for i in op.inputs if i >= 0]
    reals = tensors[:1] and tensors[0].dtype == np.float32 and tensors[0].data is None
    if reals and any(t.data is not None and t.dtype in ACTIVATION_DTYPES for t in tensors):
        sentence = f"{tensors[0].title} must be int8 or uint8 like its weights (this form is hybrid), not float32"
        raise ModelError(ModelFault(sentence, "type", "hybrid"))
