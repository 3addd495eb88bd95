"""Flatbuffers of TensorFlow Lite models as a hostile hand would write them: any number of entries are one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import flatbuffers
import numpy as np

RESHAPE, INT8 = 22, 9


@dataclass(frozen=True)
class Shared:
    """A model whose ``tensors`` are all the same table but for the last one, which has no data, and so its operators.

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
    kind: int = RESHAPE

    def written(self) -> bytes:
        b = flatbuffers.Builder(1 << 16)
        known = {"Scale": _numbers(b, [0.5] * self.scales, np.float32), "ZeroPoint": _numbers(b, [0], np.int64)}
        more = {
            "Name": b.CreateString(self.name),
            "Shape": _numbers(b, self.shape, np.int32),
            "Quantization": _table(b, "QuantizationParameters", **known),
        }
        held, empty = (_table(b, "Tensor", Type=INT8, Buffer=buffer, **more) for buffer in (1 if self.data else 0, 0))
        data = _numbers(b, np.frombuffer(self.data, np.uint8), np.uint8)
        buffers = _vector(b, [_table(b, "Buffer"), _table(b, "Buffer", Data=data)])
        ends = {"Inputs": _numbers(b, self.reads, np.int32), "Outputs": _numbers(b, self.writes, np.int32)}
        operator = _table(b, "Operator", OpcodeIndex=0, **ends)
        code = _table(b, "OperatorCode", DeprecatedBuiltinCode=self.kind, BuiltinCode=self.kind, Version=1)
        graph = {
            "Tensors": _vector(b, [held] * (self.tensors - 1) + [empty]),
            "Operators": _vector(b, [operator] * self.operators),
            "Inputs": _numbers(b, self.inputs, np.int32),
            "Outputs": _numbers(b, self.outputs, np.int32),
        }
        graphs, codes = _vector(b, [_table(b, "SubGraph", **graph)]), _vector(b, [code])
        b.Finish(_table(b, "Model", Version=3, OperatorCodes=codes, Subgraphs=graphs, Buffers=buffers), b"TFL3")
        return bytes(b.Output())


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
