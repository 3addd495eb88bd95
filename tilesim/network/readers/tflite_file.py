"""A .tflite file taken apart into plain values: the only code that touches its flatbuffer.

The Python flatbuffers package verifies nothing, so every count is bounded here before it is used, and whatever a
damaged offset makes the package raise becomes one :class:`~tilesim.errors.ModelError`.

Source: TensorFlow Lite schema, version 3.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from typing import Any

import numpy as np
import tflite
from numpy.typing import NDArray

from tilesim.budgets import LARGEST_NAMES_BYTES, MOST_MODEL_NUMBERS, MOST_OPERATORS, MOST_TENSORS
from tilesim.errors import ModelError
from tilesim.network.graph import titled
from tilesim.network.readers.fault import ModelFault, gather, gather_each, no_model

MAX_AXES = 8
MAX_NAME_BYTES = 4096

_DAMAGE = (struct.error, IndexError, TypeError, ValueError, OverflowError)
"""What flatbuffers and NumPy raise for an offset or length that leaves the file."""

_WINDOW = ("Padding", "StrideW", "StrideH", "FusedActivationFunction")
_POOL = ("Pool2DOptions", (*_WINDOW, "FilterWidth", "FilterHeight"))
_DILATIONS = ("DilationWFactor", "DilationHFactor")

OPTIONS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "ADD": ("AddOptions", ("FusedActivationFunction", "PotScaleInt16")),
    "ARG_MAX": ("ArgMaxOptions", ("OutputType",)),
    "AVERAGE_POOL_2D": _POOL,
    "BATCH_MATMUL": ("BatchMatMulOptions", ("AdjX", "AdjY")),
    "CONCATENATION": ("ConcatenationOptions", ("Axis", "FusedActivationFunction")),
    "CONV_2D": ("Conv2DOptions", (*_WINDOW, *_DILATIONS, "QuantizedBiasType")),
    "DEPTHWISE_CONV_2D": ("DepthwiseConv2DOptions", (*_WINDOW, *_DILATIONS)),
    "DEPTH_TO_SPACE": ("DepthToSpaceOptions", ("BlockSize",)),
    "FULLY_CONNECTED": (
        "FullyConnectedOptions",
        ("FusedActivationFunction", "WeightsFormat", "KeepNumDims", "QuantizedBiasType"),
    ),
    "GATHER": ("GatherOptions", ("Axis", "BatchDims")),
    "LEAKY_RELU": ("LeakyReluOptions", ("Alpha",)),
    "MAX_POOL_2D": _POOL,
    "MEAN": ("ReducerOptions", ("KeepDims",)),
    "MUL": ("MulOptions", ("FusedActivationFunction",)),
    "PACK": ("PackOptions", ("Axis",)),
    "RESIZE_BILINEAR": ("ResizeBilinearOptions", ("AlignCorners", "HalfPixelCenters")),
    "RESIZE_NEAREST_NEIGHBOR": ("ResizeNearestNeighborOptions", ("AlignCorners", "HalfPixelCenters")),
    "SOFTMAX": ("SoftmaxOptions", ("Beta",)),
    "SPACE_TO_DEPTH": ("SpaceToDepthOptions", ("BlockSize",)),
    "SPLIT": ("SplitOptions", ("NumSplits",)),
    "STRIDED_SLICE": (
        "StridedSliceOptions",
        ("BeginMask", "EndMask", "EllipsisMask", "NewAxisMask", "ShrinkAxisMask", "Offset"),
    ),
    "SUB": ("SubOptions", ("FusedActivationFunction", "PotScaleInt16")),
    "TRANSPOSE_CONV": (
        "TransposeConvOptions",
        ("Padding", "StrideW", "StrideH", "FusedActivationFunction", "QuantizedBiasType"),
    ),
    "UNPACK": ("UnpackOptions", ("Axis",)),
}
"""Of each operator that has options: their table in the schema, and the fields that are read."""


@dataclass(frozen=True)
class FileTensor:
    """A tensor as the file has it; ``data`` is the constant's bytes, or None."""

    name: str
    type_code: int
    shape: tuple[int, ...]
    scales: NDArray[np.float32]
    zero_points: NDArray[np.int64]
    quantised_axis: int
    data: NDArray[np.uint8] | None

    @property
    def title(self) -> str:
        """The name, cut for a sentence."""
        return titled(self.name)


@dataclass(frozen=True)
class FileOperator:
    """An operator as the file has it; an absent optional input is -1."""

    index: int
    kind: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Mapping[str, Any]


@dataclass(frozen=True)
class FileGraph:
    """The file's only subgraph; None stands for tensors that ``faults`` are about."""

    tensors: tuple[FileTensor | None, ...]
    operators: tuple[FileOperator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    faults: tuple[str, ...] = ()


class _TooMuch(Exception):
    """More than a model holds; ends the reading, which other faults do not."""


@dataclass
class _Budget:
    """How much may still be read: vectors may lie anywhere in a file, and any number of tables may share one."""

    numbers: int = MOST_MODEL_NUMBERS
    name_bytes: int = LARGEST_NAMES_BYTES

    def vector(self, field: Any, dtype: type[Any]) -> NDArray[Any]:
        """A vector's elements; the package says 0 for one that is absent."""
        values = np.zeros(0, dtype) if isinstance(field, int) else field
        self.numbers -= len(values)
        if self.numbers < 0:
            raise _TooMuch(f"its vectors must have at most {MOST_MODEL_NUMBERS} numbers in all")
        return np.array(values, dtype)

    def indices(self, field: Any) -> tuple[int, ...]:
        return tuple(self.vector(field, np.int32).tolist())

    def text(self, name: bytes | None) -> str:
        if name is None:
            return ""
        self.name_bytes -= len(name)
        if len(name) > MAX_NAME_BYTES or self.name_bytes < 0:
            most = f"{MAX_NAME_BYTES} bytes, and all of them {LARGEST_NAMES_BYTES}"
            raise _TooMuch(f"the file is damaged: a name must have at most {most}")
        return name.decode("utf-8")


def parse(data: bytes) -> FileGraph:
    """Take a file's bytes apart.

    Raises:
        ModelError: not a TensorFlow Lite file, a damaged one, or one with more in it than a model has.
    """
    if data[4:8] != b"TFL3":
        raise no_model("must be a TensorFlow Lite file with identifier TFL3 at byte 4")
    try:
        return _graph(tflite.Model.GetRootAs(data, 0), _Budget())
    except _TooMuch as error:
        raise ModelError(str(error)) from None
    except _DAMAGE as error:
        raise no_model(f"the file is damaged or cut short ({type(error).__name__}: {error})") from error


def _graph(model: Any, budget: _Budget) -> FileGraph:
    faults = [] if model.SubgraphsLength() == 1 else [f"must have 1 subgraph, not {model.SubgraphsLength()}"]
    if not model.SubgraphsLength():
        raise ModelError(faults)
    graph = model.Subgraphs(0)
    _items(model.BuffersLength(), MOST_TENSORS, "buffers")
    codes = _items(model.OperatorCodesLength(), MOST_OPERATORS, "operator codes")
    kinds = [_operator_name(model.OperatorCodes(i), budget) for i in codes]
    indices = _items(graph.TensorsLength(), MOST_TENSORS, "tensors")
    tensors = gather_each(faults, indices, partial(_tensor, model, graph, budget))
    indices = _items(graph.OperatorsLength(), MOST_OPERATORS, "operators")
    damage: list[str] = []
    operators = gather(damage, indices, partial(_operator, graph, kinds, budget))
    if damage:
        raise ModelError([*faults, *damage])
    ends = budget.indices(graph.InputsAsNumpy()), budget.indices(graph.OutputsAsNumpy())
    return FileGraph(tuple(tensors), tuple(operators), *ends, tuple(faults))


def _items(count: int, most: int, what: str) -> range:
    if count > most:
        raise _TooMuch(f"the file is damaged: it must have at most {most} {what}, not {count}")
    return range(count)


def _buffer(model: Any, tensor: Any, title: str) -> NDArray[np.uint8] | None:
    if tensor.Buffer() >= model.BuffersLength():
        raise ModelError(f"{title}: its buffer must be one of {model.BuffersLength()}, not {tensor.Buffer()}")
    buffer = model.Buffers(tensor.Buffer())
    if buffer.Offset() or buffer.Size():
        raise ModelError(f"{title}: its data must lie inside the flatbuffer; appended to it is not supported")
    data = buffer.DataAsNumpy()
    return None if isinstance(data, int) or not data.size else data


@cache
def names_of(enumeration: type) -> dict[int, str]:
    """The names in an enumeration of the schema by their codes."""
    return {code: name for name, code in vars(enumeration).items() if isinstance(code, int)}


def _operator_name(code: Any, budget: _Budget) -> str:
    # files older than schema 3a keep the code in a field of one byte
    value = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
    custom = budget.text(code.CustomCode())
    return (
        f"custom operator {custom}" if custom else names_of(tflite.BuiltinOperator).get(value, f"operator code {value}")
    )


def _tensor(model: Any, graph: Any, budget: _Budget, index: int) -> FileTensor:
    tensor = graph.Tensors(index)
    name = budget.text(tensor.Name()) or f"tensor {index}"
    title, shape = f"tensor {index} ({titled(name)})", budget.indices(tensor.ShapeAsNumpy())
    if len(shape) > MAX_AXES or min(shape, default=1) < 1:
        sentence = f"{title}: must have at most {MAX_AXES} axes, all at least 1, not shape {list(shape)}"
        raise ModelError(ModelFault(sentence, "shape", name=name))
    if tensor.Sparsity() is not None:
        raise ModelError(f"{title}: sparse tensors are not supported")
    details = tensor.Quantization()
    scales = budget.vector(details.ScaleAsNumpy() if details else 0, np.float32)
    zero_points = budget.vector(details.ZeroPointAsNumpy() if details else 0, np.int64)
    axis = details.QuantizedDimension() if details else 0
    return FileTensor(name, tensor.Type(), shape, scales, zero_points, axis, _buffer(model, tensor, title))


def _operator(graph: Any, kinds: list[str], budget: _Budget, index: int) -> FileOperator:
    operator = graph.Operators(index)
    if operator.OpcodeIndex() >= len(kinds):
        raise ModelError(f"node {index}: its operator code must be one of {len(kinds)}, not {operator.OpcodeIndex()}")
    kind = kinds[operator.OpcodeIndex()]
    inputs, outputs = budget.indices(operator.InputsAsNumpy()), budget.indices(operator.OutputsAsNumpy())
    return FileOperator(index, kind, inputs, outputs, _options(operator, f"node {index} ({kind})", kind))


def _options(operator: Any, where: str, kind: str) -> dict[str, Any]:
    if kind not in OPTIONS:
        return {}
    table_name, fields = OPTIONS[kind]
    union = operator.BuiltinOptions()
    if union is None or operator.BuiltinOptionsType() != getattr(tflite.BuiltinOptions, table_name):
        raise ModelError(f"{where}: must have {table_name}, not options of type {operator.BuiltinOptionsType()}")
    options = getattr(import_module(f"tflite.{table_name}"), table_name)()
    options.Init(union.Bytes, union.Pos)
    return {field: getattr(options, field)() for field in fields}
