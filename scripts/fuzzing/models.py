"""Small models, made on the spot: the bytes of .tflite and .onnx files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from scripts.tflite_writer import Shared, TfliteFile

Array = NDArray[Any]
SCALE = 0.05


def digest(size: int, dtype: str = "int8") -> Array:
    """Numbers that look random and are the same each time."""
    limits = np.iinfo(dtype) if dtype != "int32" else np.iinfo(np.int8)
    return np.random.default_rng(size).integers(limits.min, limits.max, size).astype(dtype)


class LiteModel(TfliteFile):
    """A .tflite file whose tensors are quantised alike."""

    def map(
        self, name: str, shape: Sequence[int], data: Array | None = None, scale: float = SCALE, zero_point: int = 0
    ) -> int:
        """The index of a new tensor, constant if there are ``data``, whose dtype it has then."""
        dtype = np.dtype(np.int8) if data is None else data.dtype
        return self.tensor(shape, dtype, [scale], name=name, data=data, zero_point=zero_point)

    def bias(self, name: str, size: int) -> int:
        """A constant of sums: its scale is the product of two others."""
        return self.map(name, (size,), digest(size, "int32"), float(np.float32(SCALE) * np.float32(SCALE)))


def lite_layers() -> bytes:
    """A convolution, a depthwise one, a sum, a pool and a fully connected layer on 4 x 4 pixels."""
    model = LiteModel()
    maps = [model.map(name, (1, 4, 4, 4)) for name in ("x", "conv", "depthwise", "sum")]
    weights = (
        model.map("conv/w", (4, 3, 3, 4), digest(144)),
        model.bias("conv/b", 4),
    )
    model.operator("CONV_2D", (maps[0], *weights), [maps[1]], StrideW=1, StrideH=1)
    weights = model.map("dw/w", (1, 3, 3, 4), digest(36)), model.bias("dw/b", 4)
    moves = {"StrideW": 1, "StrideH": 1, "DepthMultiplier": 1}
    model.operator("DEPTHWISE_CONV_2D", (maps[1], *weights), [maps[2]], **moves)
    model.operator("ADD", (maps[1], maps[2]), [maps[3]], FusedActivationFunction=1)
    pool, flat, y = model.map("pool", (1, 2, 2, 4)), model.map("flat", (1, 16)), model.map("y", (1, 5))
    window = {"Padding": 1, "StrideW": 2, "StrideH": 2, "FilterWidth": 2, "FilterHeight": 2}
    model.operator("MAX_POOL_2D", (maps[3],), [pool], **window)
    sizes = model.map("shape", (2,), np.array([1, 16], np.int32))
    model.operator("RESHAPE", (pool, sizes), [flat])
    weights = model.map("fc/w", (5, 16), digest(80)), model.bias("fc/b", 5)
    model.operator("FULLY_CONNECTED", (flat, *weights), [y])
    return model.written([maps[0]], [y])


def lite_functions() -> bytes:
    """Operators that look values up, put maps together and cut them apart."""
    model = LiteModel()
    x, a, b = (model.map(name, (1, 4, 4, 4)) for name in ("x", "leaky", "product"))
    model.operator("LEAKY_RELU", (x,), [a], Alpha=0.1)
    model.operator("MUL", (x, a), [b])
    both, mean, y = (
        model.map("both", (1, 4, 4, 8)),
        model.map("mean", (1, 8)),
        model.map("y", (1, 8), scale=1 / 256, zero_point=-128),
    )
    model.operator("CONCATENATION", (a, b), [both], Axis=3)
    axes = model.map("axes", (2,), np.array([1, 2], np.int32))
    model.operator("MEAN", (both, axes), [mean])
    model.operator("SOFTMAX", (mean,), [y], Beta=1.0)
    return model.written([x], [y])


def crowd(count: int) -> bytes:
    """So many operators that share all their vectors."""
    return Shared(2 + count, count, shape=(1, 4, 4, 4), writes=(count + 1,), outputs=(count + 1,)).written()


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
