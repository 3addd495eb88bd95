"""Small ONNX models for tests, in both quantised forms, and what ONNX Runtime makes of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

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

    def save(self, path: Path, shape: list[int], out_shape: list[int], in_type: int, out_type: int) -> Path:
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
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.qdqisint8allowed", "1")  # else x86 computes int8 pair graphs in float32
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, {"x": x})[0])
