"""Writes .tflite files: tensors, operators and their options, through the schema's own flatbuffer code.

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

from scripts.differentials.case import Array
from tilesim.network.readers.tflite import DTYPES
from tilesim.network.readers.tflite_file import OPTIONS

CODES = {np.dtype(dtype): code for code, dtype in DTYPES.items()}


@dataclass(frozen=True)
class Written:
    """A tensor of the file: ``scales`` none, one, or one a channel along ``axis``; ``data`` of a constant."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    scales: tuple[float, ...] = ()
    zero_point: int = 0
    axis: int = 0
    data: Array | None = None


@dataclass
class File:
    """A file in the making."""

    tensors: list[Written] = field(default_factory=list)
    operators: list[tuple[str, Sequence[int], Sequence[int], dict[str, Any]]] = field(default_factory=list)

    def tensor(self, shape: Sequence[int], dtype: Any, scales: Sequence[float] = (), **more: Any) -> int:
        """Add a tensor; its index."""
        name = f"t{len(self.tensors)}"
        self.tensors.append(Written(name, tuple(shape), np.dtype(dtype), tuple(scales), **more))
        return len(self.tensors) - 1

    def operator(self, kind: str, inputs: Sequence[int], outputs: Sequence[int], **options: Any) -> None:
        """Add an operator; options are named as in the schema, and those not named are its defaults."""
        self.operators.append((kind, inputs, outputs, options))

    def written(self, inputs: Sequence[int], outputs: Sequence[int]) -> bytes:
        """The whole file."""
        builder = flatbuffers.Builder(1024)
        kinds = sorted({kind for kind, *_ in self.operators})
        constants = [tensor.data for tensor in self.tensors if tensor.data is not None]
        buffers = _vector(builder, [_buffer(builder, data) for data in (None, *constants)])
        codes = _vector(builder, [_code(builder, kind) for kind in kinds])
        graph = _table(
            builder,
            "SubGraph",
            Tensors=_vector(builder, self._tensors(builder)),
            Inputs=_numbers(builder, inputs, np.int32),
            Outputs=_numbers(builder, outputs, np.int32),
            Operators=_vector(builder, [_operator(builder, kinds, *each) for each in self.operators]),
        )
        graphs = _vector(builder, [graph])
        model = _table(builder, "Model", Version=3, OperatorCodes=codes, Subgraphs=graphs, Buffers=buffers)
        builder.Finish(model, b"TFL3")
        return bytes(builder.Output())

    def _tensors(self, builder: Any) -> list[int]:
        buffer, offsets = 0, []
        for tensor in self.tensors:
            buffer += tensor.data is not None
            offsets.append(_tensor(builder, tensor, 0 if tensor.data is None else buffer))
        return offsets


def _tensor(builder: Any, tensor: Written, buffer: int) -> int:
    more: dict[str, Any] = {}
    if tensor.scales:
        scales = _numbers(builder, tensor.scales, np.float32)
        zero_points = _numbers(builder, [tensor.zero_point] * len(tensor.scales), np.int64)
        known = {"Scale": scales, "ZeroPoint": zero_points, "QuantizedDimension": tensor.axis}
        more["Quantization"] = _table(builder, "QuantizationParameters", **known)
    shape, name = _numbers(builder, tensor.shape, np.int32), builder.CreateString(tensor.name)
    return _table(builder, "Tensor", Shape=shape, Type=CODES[tensor.dtype], Buffer=buffer, Name=name, **more)


def _buffer(builder: Any, data: Array | None) -> int:
    if data is None:
        return _table(builder, "Buffer")
    return _table(builder, "Buffer", Data=_numbers(builder, np.frombuffer(data.tobytes(), np.uint8), np.uint8))


def _code(builder: Any, kind: str) -> int:
    code = getattr(tflite.BuiltinOperator, kind)
    return _table(builder, "OperatorCode", DeprecatedBuiltinCode=min(code, 127), BuiltinCode=code, Version=1)


def _operator(
    builder: Any, kinds: list[str], kind: str, inputs: Sequence[int], outputs: Sequence[int], options: dict[str, Any]
) -> int:
    more: dict[str, Any] = {}
    name = {"RESHAPE": "ReshapeOptions"}.get(kind) or OPTIONS.get(kind, ("",))[0]
    if name:
        more = {"BuiltinOptionsType": getattr(tflite.BuiltinOptions, name)}
        vectors = {
            key: _numbers(builder, value, np.int32) for key, value in options.items() if isinstance(value, tuple)
        }
        more["BuiltinOptions"] = _table(builder, name, **options | vectors)
    ends = {"Inputs": _numbers(builder, inputs, np.int32), "Outputs": _numbers(builder, outputs, np.int32)}
    return _table(builder, "Operator", OpcodeIndex=kinds.index(kind), **ends, **more)


def _table(builder: Any, name: str, **fields: Any) -> int:
    """A table of the schema; values are numbers, or offsets of what was made before."""
    module = import_module(f"tflite.{name}")
    module.Start(builder)
    for key, value in fields.items():
        getattr(module, f"Add{key}")(builder, value)
    return int(module.End(builder))


def _vector(builder: Any, offsets: Sequence[int]) -> int:
    builder.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        builder.PrependUOffsetTRelative(offset)
    return int(builder.EndVector())


def _numbers(builder: Any, values: Any, dtype: Any) -> int:
    return int(builder.CreateNumpyVector(np.asarray(values, dtype)))
