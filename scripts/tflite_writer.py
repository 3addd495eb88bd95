"""Writes .tflite files, sound ones and hostile ones, through the schema's own flatbuffer code.

Source: TensorFlow Lite schema, version 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import flatbuffers
import numpy as np
import tflite
from numpy.typing import NDArray

from tilesim.network.readers.tflite import DTYPES
from tilesim.network.readers.tflite_file import OPTIONS

CODES = {np.dtype(dtype): code for code, dtype in {**DTYPES, 1: np.float16}.items()}


UNREAD = {
    "RESHAPE": "ReshapeOptions",
    "SHAPE": "ShapeOptions",
    "SPLIT_V": "SplitVOptions",
    "SQUEEZE": "SqueezeOptions",
}
"""Options that runtimes want and readers do not."""


@dataclass(frozen=True)
class TfliteTensor:
    """A tensor of a file: ``scales`` none, one, or one a channel along ``axis``; ``data`` of a constant; ``type_code``
    if it is of no type of NumPy's.
    """

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    scales: tuple[float, ...] = ()
    zero_point: int = 0
    axis: int = 0
    data: NDArray[Any] | None = None
    type_code: int | None = None


@dataclass
class TfliteFile:
    """A file in the making."""

    tensors: list[TfliteTensor] = field(default_factory=list)
    operators: list[tuple[str, Sequence[int], Sequence[int], dict[str, Any]]] = field(default_factory=list)

    def tensor(self, shape: Sequence[int], dtype: Any, scales: Sequence[float] = (), **more: Any) -> int:
        """Add a tensor; its index."""
        more = {"name": f"t{len(self.tensors)}", **more}
        self.tensors.append(TfliteTensor(shape=tuple(shape), dtype=np.dtype(dtype), scales=tuple(scales), **more))
        return len(self.tensors) - 1

    def operator(self, kind: str, inputs: Sequence[int], outputs: Sequence[int], **options: Any) -> None:
        """Add an operator, a custom one if the schema has none of its kind; options are named as in the schema, and
        those not named are its defaults.
        """
        self.operators.append((kind, inputs, outputs, options))

    def written(self, inputs: Sequence[int], outputs: Sequence[int], subgraphs: int = 1) -> bytes:
        """The whole file, whose subgraphs are all the same."""
        builder = flatbuffers.Builder(1024)
        kinds = sorted({kind for kind, *_ in self.operators})
        constants = [tensor.data for tensor in self.tensors if tensor.data is not None]
        buffers = vector(builder, [_buffer(builder, data) for data in (None, *constants)])
        codes = vector(builder, [_code(builder, kind) for kind in kinds])
        graph = table(
            builder,
            "SubGraph",
            Tensors=vector(builder, self._tensors(builder)),
            Inputs=numbers(builder, inputs, np.int32),
            Outputs=numbers(builder, outputs, np.int32),
            Operators=vector(builder, [_operator(builder, kinds, *operator) for operator in self.operators]),
        )
        graphs = vector(builder, [graph] * subgraphs)
        model = table(builder, "Model", Version=3, OperatorCodes=codes, Subgraphs=graphs, Buffers=buffers)
        builder.Finish(model, b"TFL3")
        return bytes(builder.Output())

    def _tensors(self, builder: Any) -> list[int]:
        buffer, offsets = 0, []
        for tensor in self.tensors:
            buffer += tensor.data is not None
            offsets.append(_tensor(builder, tensor, 0 if tensor.data is None else buffer))
        return offsets


@dataclass(frozen=True)
class Shared:
    """A file as a hostile hand would write it: its ``tensors`` are all the same table, but for the last one, which has
    no data, and so are its operators.

    The first tensor's data are those of all but the last; ``inputs`` and ``outputs`` are the graph's, ``reads`` and
    ``writes`` an operator's.
    """

    tensors: int = 2
    operators: int = 1
    name: str = "t"
    shape: Sequence[int] = (1, 4)
    scales: int = 1
    data: bytes = b""
    reads: Sequence[int] = (0,)
    writes: Sequence[int] = (1,)
    inputs: Sequence[int] = (0,)
    outputs: Sequence[int] = (1,)
    kind: int = tflite.BuiltinOperator.RESHAPE

    def written(self) -> bytes:
        b = flatbuffers.Builder(1 << 16)
        known = {"Scale": numbers(b, [0.5] * self.scales, np.float32), "ZeroPoint": numbers(b, [0], np.int64)}
        more = {
            "Name": b.CreateString(self.name),
            "Shape": numbers(b, self.shape, np.int32),
            "Quantization": table(b, "QuantizationParameters", **known),
        }
        held, empty = (
            table(b, "Tensor", Type=tflite.TensorType.INT8, Buffer=buffer, **more)
            for buffer in (1 if self.data else 0, 0)
        )
        data = numbers(b, np.frombuffer(self.data, np.uint8), np.uint8)
        buffers = vector(b, [table(b, "Buffer"), table(b, "Buffer", Data=data)])
        ends = {"Inputs": numbers(b, self.reads, np.int32), "Outputs": numbers(b, self.writes, np.int32)}
        operator = table(b, "Operator", OpcodeIndex=0, **ends)
        code = table(b, "OperatorCode", DeprecatedBuiltinCode=self.kind, BuiltinCode=self.kind, Version=1)
        graph = {
            "Tensors": vector(b, [held] * (self.tensors - 1) + [empty]),
            "Operators": vector(b, [operator] * self.operators),
            "Inputs": numbers(b, self.inputs, np.int32),
            "Outputs": numbers(b, self.outputs, np.int32),
        }
        graphs, codes = vector(b, [table(b, "SubGraph", **graph)]), vector(b, [code])
        b.Finish(table(b, "Model", Version=3, OperatorCodes=codes, Subgraphs=graphs, Buffers=buffers), b"TFL3")
        return bytes(b.Output())


def _tensor(builder: Any, tensor: TfliteTensor, buffer: int) -> int:
    more: dict[str, Any] = {}
    if tensor.scales:
        scales = numbers(builder, tensor.scales, np.float32)
        zero_points = numbers(builder, [tensor.zero_point] * len(tensor.scales), np.int64)
        known = {"Scale": scales, "ZeroPoint": zero_points, "QuantizedDimension": tensor.axis}
        more["Quantization"] = table(builder, "QuantizationParameters", **known)
    code = CODES[tensor.dtype] if tensor.type_code is None else tensor.type_code
    shape, name = numbers(builder, tensor.shape, np.int32), builder.CreateString(tensor.name)
    return table(builder, "Tensor", Shape=shape, Type=code, Buffer=buffer, Name=name, **more)


def _buffer(builder: Any, data: NDArray[Any] | None) -> int:
    if data is None:
        return table(builder, "Buffer")
    return table(builder, "Buffer", Data=numbers(builder, np.frombuffer(data.tobytes(), np.uint8), np.uint8))


def _code(builder: Any, kind: str) -> int:
    more = {} if hasattr(tflite.BuiltinOperator, kind) else {"CustomCode": builder.CreateString(kind)}
    code = getattr(tflite.BuiltinOperator, kind, tflite.BuiltinOperator.CUSTOM)
    return table(builder, "OperatorCode", DeprecatedBuiltinCode=min(code, 127), BuiltinCode=code, Version=1, **more)


def _operator(
    builder: Any, kinds: list[str], kind: str, inputs: Sequence[int], outputs: Sequence[int], options: dict[str, Any]
) -> int:
    more: dict[str, Any] = {}
    name = UNREAD.get(kind) or OPTIONS.get(kind, ("",))[0]
    if name:
        more = {"BuiltinOptionsType": getattr(tflite.BuiltinOptions, name)}
        vectors = {key: numbers(builder, value, np.int32) for key, value in options.items() if isinstance(value, tuple)}
        more["BuiltinOptions"] = table(builder, name, **options | vectors)
    ends = {"Inputs": numbers(builder, inputs, np.int32), "Outputs": numbers(builder, outputs, np.int32)}
    return table(builder, "Operator", OpcodeIndex=kinds.index(kind), **ends, **more)


def table(builder: Any, name: str, **fields: Any) -> int:
    """A table of the schema; values are numbers, or offsets of what was made before."""
    module = import_module(f"tflite.{name}")
    module.Start(builder)
    for key, value in fields.items():
        getattr(module, f"Add{key}")(builder, value)
    return int(module.End(builder))


def vector(builder: Any, offsets: Sequence[int]) -> int:
    """A vector of what was made before."""
    builder.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        builder.PrependUOffsetTRelative(offset)
    return int(builder.EndVector())


def numbers(builder: Any, values: Any, dtype: Any) -> int:
    return int(builder.CreateNumpyVector(np.asarray(values, dtype)))
