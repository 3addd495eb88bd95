"""Small models, made on the spot: the bytes of .tflite and .onnx files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import flatbuffers
import numpy as np
import onnx
import tflite
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Array = NDArray[Any]
SCALE = 0.05
CODES = {"int8": tflite.TensorType.INT8, "int32": tflite.TensorType.INT32, "uint8": tflite.TensorType.UINT8}


def digest(size: int, dtype: str = "int8") -> Array:
    """Numbers that look random and are the same each time."""
    limits = np.iinfo(dtype) if dtype != "int32" else np.iinfo(np.int8)
    return np.random.default_rng(size).integers(limits.min, limits.max, size).astype(dtype)


@dataclass
class LiteModel:
    """Tensors, with the node that each operator is, of a .tflite file in the making."""

    builder: Any = field(default_factory=lambda: flatbuffers.Builder(4096))
    tensors: list[int] = field(default_factory=list)
    buffers: list[Array] = field(default_factory=lambda: [np.zeros(0, np.uint8)])
    operators: list[int] = field(default_factory=list)
    codes: list[str] = field(default_factory=list)

    def table(self, kind: str, **values: Any) -> int:
        """A table of the schema; fields are scalars or places of what was made before."""
        getattr(tflite, f"{kind}Start")(self.builder)
        for name, value in values.items():
            getattr(tflite, f"{kind}Add{name}")(self.builder, value)
        return int(getattr(tflite, f"{kind}End")(self.builder))

    def places(self, values: Sequence[int]) -> int:
        """A vector of what was made before."""
        self.builder.StartVector(4, len(values), 4)
        for value in reversed(values):
            self.builder.PrependUOffsetTRelative(value)
        return int(self.builder.EndVector())

    def numbers(self, values: Any, dtype: str = "int32") -> int:
        """A vector of numbers."""
        return int(self.builder.CreateNumpyVector(np.asarray(values, dtype)))

    def tensor(
        self, name: str, shape: Sequence[int], data: Array | None = None, scale: float = SCALE, zero_point: int = 0
    ) -> int:
        """The index of a new tensor, constant if there are ``data``, whose dtype it has then."""
        if data is not None:
            self.buffers.append(data.ravel().view(np.uint8))
        ends = self.numbers([scale], "float32"), self.numbers([zero_point], "int64")
        details = self.table("QuantizationParameters", Scale=ends[0], ZeroPoint=ends[1])
        title, sizes = self.builder.CreateString(name), self.numbers(shape)
        where = len(self.buffers) - 1 if data is not None else 0
        self.tensors.append(
            self.table(
                "Tensor",
                Shape=sizes,
                Type=CODES["int8" if data is None else str(data.dtype)],
                Buffer=where,
                Name=title,
                Quantization=details,
            )
        )
        return len(self.tensors) - 1

    def bias(self, name: str, size: int) -> int:
        """A constant of sums: its scale is the product of two others."""
        return self.tensor(name, (size,), digest(size, "int32"), float(np.float32(SCALE) * np.float32(SCALE)))

    def operator(self, kind: str, inputs: Sequence[int], output: int, options: str, **values: Any) -> int:
        """A node that makes ``output``."""
        if kind not in self.codes:
            self.codes.append(kind)
        made = self.table(options, **values)
        ends = self.numbers(inputs), self.numbers([output])
        self.operators.append(
            self.table(
                "Operator", OpcodeIndex=self.codes.index(kind), Inputs=ends[0], Outputs=ends[1],
                BuiltinOptionsType=getattr(tflite.BuiltinOptions, options), BuiltinOptions=made,
            )
        )  # fmt: skip
        return output

    def file(self, inputs: Sequence[int], outputs: Sequence[int]) -> bytes:
        """The whole file."""
        codes = [getattr(tflite.BuiltinOperator, kind) for kind in self.codes]
        kinds = self.places(
            [self.table("OperatorCode", DeprecatedBuiltinCode=code, BuiltinCode=code) for code in codes]
        )
        data = self.places([self.table("Buffer", Data=self.numbers(each, "uint8")) for each in self.buffers])
        ends = self.numbers(inputs), self.numbers(outputs)
        parts = self.places(self.tensors), self.places(self.operators)
        graph = self.table("SubGraph", Tensors=parts[0], Operators=parts[1], Inputs=ends[0], Outputs=ends[1])
        graphs = self.places([graph])
        self.builder.Finish(
            self.table("Model", Version=3, OperatorCodes=kinds, Subgraphs=graphs, Buffers=data), b"TFL3"
        )
        return bytes(self.builder.Output())


def lite_layers() -> bytes:
    """A convolution, a depthwise one, a sum, a pool and a fully connected layer on 4 x 4 pixels."""
    model = LiteModel()
    maps = [model.tensor(name, (1, 4, 4, 4)) for name in ("x", "conv", "depthwise", "sum")]
    weights = (
        model.tensor("conv/w", (4, 3, 3, 4), digest(144)),
        model.bias("conv/b", 4),
    )
    model.operator("CONV_2D", (maps[0], *weights), maps[1], "Conv2DOptions", StrideW=1, StrideH=1)
    weights = model.tensor("dw/w", (1, 3, 3, 4), digest(36)), model.bias("dw/b", 4)
    moves = {"StrideW": 1, "StrideH": 1, "DepthMultiplier": 1}
    model.operator("DEPTHWISE_CONV_2D", (maps[1], *weights), maps[2], "DepthwiseConv2DOptions", **moves)
    model.operator("ADD", (maps[1], maps[2]), maps[3], "AddOptions", FusedActivationFunction=1)
    pool, flat, y = model.tensor("pool", (1, 2, 2, 4)), model.tensor("flat", (1, 16)), model.tensor("y", (1, 5))
    window = {"Padding": 1, "StrideW": 2, "StrideH": 2, "FilterWidth": 2, "FilterHeight": 2}
    model.operator("MAX_POOL_2D", (maps[3],), pool, "Pool2DOptions", **window)
    sizes = model.tensor("shape", (2,), np.array([1, 16], np.int32))
    model.operator("RESHAPE", (pool, sizes), flat, "ReshapeOptions")
    weights = model.tensor("fc/w", (5, 16), digest(80)), model.bias("fc/b", 5)
    model.operator("FULLY_CONNECTED", (flat, *weights), y, "FullyConnectedOptions")
    return model.file([maps[0]], [y])


def lite_functions() -> bytes:
    """Operators that look values up, put maps together and cut them apart."""
    model = LiteModel()
    x, a, b = (model.tensor(name, (1, 4, 4, 4)) for name in ("x", "leaky", "product"))
    model.operator("LEAKY_RELU", (x,), a, "LeakyReluOptions", Alpha=0.1)
    model.operator("MUL", (x, a), b, "MulOptions")
    both, mean, y = (
        model.tensor("both", (1, 4, 4, 8)),
        model.tensor("mean", (1, 8)),
        model.tensor("y", (1, 8), scale=1 / 256, zero_point=-128),
    )
    model.operator("CONCATENATION", (a, b), both, "ConcatenationOptions", Axis=3)
    axes = model.tensor("axes", (2,), np.array([1, 2], np.int32))
    model.operator("MEAN", (both, axes), mean, "ReducerOptions")
    model.operator("SOFTMAX", (mean,), y, "SoftmaxOptions", Beta=1.0)
    return model.file([x], [y])


def crowd(count: int) -> bytes:
    """So many operators that share all their vectors."""
    model = LiteModel()
    x, y = model.tensor("x", (1, 4, 4, 4)), model.tensor("y", (1, 4, 4, 4))
    model.operator("ADD", (x, x), y, "AddOptions")
    model.operators *= count
    model.tensors += [model.tensors[0]] * count
    return model.file([x], [y])


def _constant(name: str, data: Any, dtype: Any) -> TensorProto:
    return numpy_helper.from_array(np.asarray(data, dtype), name)


def open_layers() -> bytes:
    """A convolution, a sum, a global average pool and a fully connected layer, in integers, as .onnx."""
    ends = ["s", "z"]
    nodes = [
        helper.make_node("QLinearConv", ["x", *ends, "w", *ends, *ends, "b"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("QLinearAdd", ["x", *ends, "c", *ends, *ends], ["a"], domain="com.microsoft"),
        helper.make_node("QLinearGlobalAveragePool", ["a", *ends, *ends], ["p"], domain="com.microsoft"),
        helper.make_node("Reshape", ["p", "shape"], ["r"]),
        helper.make_node("QGemm", ["r", *ends, "v", *ends, "d", *ends], ["y"], domain="com.microsoft", transB=1),
    ]
    constants = [
        *(_constant("s", 0.05, np.float32), _constant("z", 0, np.int8), _constant("shape", [1, 4], np.int64)),
        *(_constant("w", digest(144).reshape(4, 4, 3, 3), np.int8), _constant("b", digest(4), np.int32)),
        *(_constant("v", digest(20).reshape(5, 4), np.int8), _constant("d", digest(5), np.int32)),
    ]
    return _file(nodes, constants, (1, 4, 4, 4), (1, 5))


def open_pairs() -> bytes:
    """A convolution with an activation and a softmax between pairs of QuantizeLinear and DequantizeLinear."""
    ends = ["s", "z"]
    nodes = [
        helper.make_node("DequantizeLinear", ["x", *ends], ["xr"]),
        helper.make_node("DequantizeLinear", ["w", *ends], ["wr"]),
        helper.make_node("Conv", ["xr", "wr"], ["cr"], strides=[2, 2], pads=[0, 0, 1, 1], kernel_shape=[3, 3]),
        helper.make_node("Relu", ["cr"], ["ar"]),
        helper.make_node("QuantizeLinear", ["ar", *ends], ["c"]),
        helper.make_node("DequantizeLinear", ["c", *ends], ["dr"]),
        helper.make_node("MaxPool", ["dr"], ["pr"], kernel_shape=[2, 2]),
        helper.make_node("QuantizeLinear", ["pr", *ends], ["p"]),
        helper.make_node("Flatten", ["p"], ["y"]),
    ]
    constants = [
        *(_constant("s", 0.05, np.float32), _constant("z", 0, np.int8)),
        _constant("w", digest(108).reshape(3, 4, 3, 3), np.int8),
    ]
    return _file(nodes, constants, (1, 4, 4, 4), (1, 3))


def _file(nodes: Any, constants: Any, shape: tuple[int, ...], out_shape: tuple[int, ...]) -> bytes:
    ends = [helper.make_tensor_value_info(n, TensorProto.INT8, s) for n, s in (("x", shape), ("y", out_shape))]
    graph = helper.make_graph(nodes, "small", ends[:1], ends[1:], constants)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model: onnx.ModelProto = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    return bytes(model.SerializeToString())
