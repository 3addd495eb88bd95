"""Small ONNX models for tests, in both quantised forms (``pairs``, ``integer``), and what ONNX Runtime says."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from scripts.differentials.onnx_runtime import session

TYPES = {np.dtype(np.int8): TensorProto.INT8, np.dtype(np.uint8): TensorProto.UINT8}


@dataclass
class ModelBuilder:
    """Nodes and constants of a graph from ``x`` to ``y``."""

    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: list[TensorProto] = field(default_factory=list)

    def constant(self, name: str, data: Any) -> str:
        self.constants.append(numpy_helper.from_array(np.asarray(data), name))
        return name

    def quantisation(self, name: str, scale: Any, zero_point: Any, dtype: Any) -> list[str]:
        """Names of a new scale and zero point."""
        scale = np.asarray(scale, np.float32)
        zero_points = np.full(scale.shape, zero_point, dtype)
        return [self.constant(f"{name}_scale", scale), self.constant(f"{name}_zero", zero_points)]

    def node(self, kind: str, inputs: list[str], output: str, domain: str = "", **attributes: Any) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [output], domain=domain, **attributes))
        return output

    def save(self, path: Path, shape: list[Any], out_shape: list[Any], in_type: int, out_type: int) -> Path:
        graph = helper.make_graph(
            self.nodes,
            "test",
            [helper.make_tensor_value_info("x", in_type, shape)],
            [helper.make_tensor_value_info("y", out_type, out_shape)],
            self.constants,
        )
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        onnx.save_model(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
        return path


def run_reference(path: Path, x: NDArray[Any]) -> NDArray[Any]:
    reference = session(path)
    return np.asarray(reference.run(None, {reference.get_inputs()[0].name: x})[0])


class Case:
    """One model of random numbers from ``x`` to ``y``, both of ``dtype``."""

    def __init__(self, seed: int, dtype: Any, tmp_path: Path) -> None:
        self.rng, self.dtype, self.path = np.random.default_rng(seed), np.dtype(dtype), tmp_path / "model.onnx"
        self.model = ModelBuilder()

    def integers(self, dtype: Any, shape: tuple[int, ...]) -> NDArray[Any]:
        limits = np.iinfo(dtype)
        return self.rng.integers(limits.min, limits.max + 1, shape).astype(dtype)

    def scale(self) -> np.float32:
        return np.float32(self.rng.uniform(0.001, 0.1))

    def quantisation(self, name: str, scale: Any, dtype: Any = None, zero_point: int | None = None) -> list[str]:
        dtype = self.dtype if dtype is None else dtype
        zero_point = int(self.integers(dtype, (1,))[0]) if zero_point is None else zero_point
        return self.model.quantisation(name, scale, zero_point, dtype)

    def write(self, shape: tuple[int, ...], out_shape: tuple[Any, ...]) -> NDArray[Any]:
        """Save the model; an input for it. Sizes of the output may be given as letters, which stand for any."""
        code = TYPES[self.dtype]
        self.model.save(self.path, list(shape), list(out_shape), code, code)
        return self.integers(self.dtype, shape)


def weighted(case: Case, form: str, kinds: tuple[str, str], w: NDArray[Any], scales: Any, **attributes: Any) -> None:
    """x, constants and the operator of either form: weights, their scales, a bias and an output of random scale."""
    x_scale, axis = case.scale(), 0 if w.ndim == 4 or attributes.get("transB") else 1
    outputs, inner = w.shape[axis], w.size // w.shape[axis]
    symmetric = 0 if w.dtype == np.int8 else None
    x, weights = case.quantisation("x", x_scale), case.quantisation("w", scales, w.dtype, symmetric)
    y = case.quantisation("y", np.float32(np.mean(x_scale * scales) * 40 * np.sqrt(inner)))
    case.model.constant("w", w)
    case.model.constant("b", case.rng.integers(-5000, 5000, outputs).astype(np.int32))
    bias = [] if "MatMul" in kinds[0] else ["b"]
    domain = "com.microsoft" if kinds[1] == "QGemm" else ""
    if form == "integer":
        order = ["x", *x, "w", *weights, *bias, *y] if kinds[1] == "QGemm" else ["x", *x, "w", *weights, *y, *bias]
        case.model.node(kinds[1], order, "y", domain, **attributes)
        return
    case.model.node("DequantizeLinear", ["x", *x], "xr")
    case.model.node("DequantizeLinear", ["w", *weights], "wr", axis=axis)
    if bias:
        own = case.quantisation("b", np.asarray(x_scale * scales, np.float32), np.int32, 0)
        case.model.node("DequantizeLinear", ["b", *own], "br", axis=0)
    case.model.node(kinds[0], ["xr", "wr", *(f"{name}r" for name in bias)], "yr", **attributes)
    case.model.node("QuantizeLinear", ["yr", *y], "y")


def unary(case: Case, form: str, kind: str, scales: tuple[Any, Any], **attributes: Any) -> None:
    x, y = case.quantisation("x", scales[0]), case.quantisation("y", scales[1])
    if form == "integer":
        case.model.node(f"QLinear{kind}", ["x", *x, *y], "y", "com.microsoft", **attributes)
        return
    case.model.node("DequantizeLinear", ["x", *x], "xr")
    attributes.pop("opset", None)
    last = case.model.node(kind, ["xr"], "yr", **attributes) if kind else "xr"
    case.model.node("QuantizeLinear", [last, *y], "y")


class Pairs(Case):
    """A graph of pairs, layer by layer; integer values are ``x``, then those that layers are called."""

    def __init__(self, seed: int, dtype: Any, tmp_path: Path) -> None:
        super().__init__(seed, dtype, tmp_path)
        scale = self.scale()
        self.known = {"x": (scale, self.quantisation("x", scale))}

    def layer(self, name: str, kind: str, *sources: str, activation: str = "", scale: float = 0.0, **more: Any) -> str:
        """A node with an activation, if any; ``weights`` of a shape come with a bias; scale 0 keeps the source's."""
        weights, reals = more.pop("weights", None), [self._reals(name, source) for source in sources]
        if weights is not None:
            reals += self._weights(name, self.known[sources[0]][0], weights)
        last = self.model.node(kind, reals, f"{name}_r", **more)
        if activation:
            last = self.model.node(activation, [last, *self._bounds(name, activation)], f"{name}_a")
        own = (np.float32(scale), self.quantisation(name, np.float32(scale))) if scale else self.known[sources[0]]
        self.known[name] = own
        return self.model.node("QuantizeLinear", [last, *own[1]], name)

    def _reals(self, name: str, source: str) -> str:
        return self.model.node("DequantizeLinear", [source, *self.known[source][1]], f"{source}_for_{name}")

    def _weights(self, name: str, x_scale: np.float32, shape: tuple[int, ...]) -> list[str]:
        scales = self.rng.uniform(0.005, 0.02, shape[0]).astype(np.float32)
        integers = self.rng.integers(-127, 128, shape).astype(np.int8), self.rng.integers(-3000, 3000, shape[0])
        names = []
        for part, data, scale in zip("wb", integers, (scales, x_scale * scales), strict=True):
            dtype = np.int8 if part == "w" else np.int32
            value = self.model.constant(f"{name}_{part}", data.astype(dtype))
            own = self.quantisation(value, scale, dtype, 0)
            names.append(self.model.node("DequantizeLinear", [value, *own], f"{value}_r", axis=0))
        return names

    def _bounds(self, name: str, activation: str) -> list[str]:
        if activation != "Clip":
            return []
        return [self.model.constant(f"{name}_{k}", np.float32(6 * k)) for k in range(2)]
