"""Small .tflite files for tests of what readers refuse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import flatbuffers
import numpy as np
import tflite
from numpy.typing import NDArray

CODES = {np.dtype(kind): code for kind, code in (("f4", 0), ("f2", 1), ("i4", 2), ("u1", 3), ("i2", 7), ("i1", 9))}
OPTIONS = {
    "FULLY_CONNECTED": "FullyConnectedOptions",
    "MAX_POOL_2D": "Pool2DOptions",
}


@dataclass
class TfliteTensor:
    """``data`` if it is a constant; a scale, if it is quantised; ``type_code`` if it is of no type of NumPy's."""

    name: str
    shape: Sequence[int]
    dtype: type = np.int8
    scale: float = 0.1
    data: NDArray[np.generic] | None = None
    type_code: int | None = None


@dataclass
class TfliteNode:
    """``kind`` is one of the built-in ones or, with ``custom``, any name."""

    kind: str
    inputs: Sequence[int]
    outputs: Sequence[int]
    custom: bool = False


def write(
    path: Path,
    tensors: Sequence[TfliteTensor],
    nodes: Sequence[TfliteNode],
    inputs: Sequence[int],
    outputs: Sequence[int],
    subgraphs: int = 1,
) -> Path:
    """Write a model, whose subgraphs are all the same."""
    b = flatbuffers.Builder(1024)
    buffers = [b""] + [b"" if tensor.data is None else tensor.data.tobytes() for tensor in tensors]
    datas = [b.CreateByteVector(data) if data else 0 for data in buffers]
    buffer_tables = [_table(b, "Buffer", Data=data) for data in datas]
    tensor_tables = [_tensor(b, tensor, k + 1) for k, tensor in enumerate(tensors)]
    codes = [_code(b, node) for node in nodes]
    node_tables = [_node(b, node, k) for k, node in enumerate(nodes)]
    ends = {"Inputs": _indices(b, inputs), "Outputs": _indices(b, outputs)}
    lists = {"Tensors": _vector(b, tensor_tables), "Operators": _vector(b, node_tables)}
    graph = _table(b, "SubGraph", **lists, **ends)
    parts = {"OperatorCodes": codes, "Subgraphs": [graph] * subgraphs, "Buffers": buffer_tables}
    vectors = {name: _vector(b, tables) for name, tables in parts.items()}
    b.Finish(_table(b, "Model", Version=3, **vectors), b"TFL3")
    path.write_bytes(bytes(b.Output()))
    return path


def _table(b: flatbuffers.Builder, kind: str, **fields: float) -> int:
    getattr(tflite, f"{kind}Start")(b)
    for name, value in fields.items():
        if value:
            getattr(tflite, f"{kind}Add{name}")(b, value)
    return int(getattr(tflite, f"{kind}End")(b))


def _vector(b: flatbuffers.Builder, offsets: Sequence[int]) -> int:
    b.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        b.PrependUOffsetTRelative(offset)
    return int(b.EndVector())


def _indices(b: flatbuffers.Builder, values: Sequence[int]) -> int:
    return int(b.CreateNumpyVector(np.array(values, np.int32)))


def _tensor(b: flatbuffers.Builder, tensor: TfliteTensor, buffer: int) -> int:
    dtype = np.dtype(tensor.dtype)
    known = 0
    if dtype.kind != "f":
        scale = b.CreateNumpyVector(np.array([tensor.scale], np.float32))
        zero = b.CreateNumpyVector(np.zeros(1, np.int64))
        known = _table(b, "QuantizationParameters", Scale=scale, ZeroPoint=zero)
    name, shape = b.CreateString(tensor.name), _indices(b, tensor.shape)
    code = CODES[dtype] if tensor.type_code is None else tensor.type_code
    return _table(
        b,
        "Tensor",
        Shape=shape,
        Type=code,
        Name=name,
        Quantization=known,
        Buffer=buffer if tensor.data is not None else 0,
    )


def _code(b: flatbuffers.Builder, node: TfliteNode) -> int:
    custom = b.CreateString(node.kind) if node.custom else 0
    code = 32 if node.custom else getattr(tflite.BuiltinOperator, node.kind)
    return _table(b, "OperatorCode", DeprecatedBuiltinCode=min(code, 127), BuiltinCode=code, CustomCode=custom)


def _node(b: flatbuffers.Builder, node: TfliteNode, number: int) -> int:
    found = OPTIONS.get(node.kind)
    options = _table(b, found) if found else 0
    ends = {"Inputs": _indices(b, node.inputs), "Outputs": _indices(b, node.outputs)}
    kind = getattr(tflite.BuiltinOptions, found) if found else 0
    return _table(b, "Operator", OpcodeIndex=number, BuiltinOptions=options, BuiltinOptionsType=kind, **ends)
