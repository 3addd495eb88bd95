"""Models of ONNX in both quantised forms, and ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, numpy_helper

from scripts.differentials import onnx_families
from scripts.differentials.case import Array, Case, Refusal

FAMILIES = onnx_families.FAMILIES
SUFFIX = ".onnx"


def reference(case: Case) -> list[Array]:
    """The outputs of ONNX Runtime. Raises Refusal."""
    try:
        return list(session(case.model).run(None, case.inputs))
    except Exception as error:
        raise Refusal(str(error)) from error


def session(model: bytes | Path) -> ort.InferenceSession:
    """ONNX Runtime on the processor in one thread, all of its optimiser on.

    The setting lets it fuse pairs of int8 on x86 too, where it would otherwise compute them in float32.
    """
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.add_session_config_entry("session.qdqisint8allowed", "1")
    content = model if isinstance(model, bytes) else model.read_bytes()
    return ort.InferenceSession(unsigned(content), options, providers=["CPUExecutionProvider"])


WEIGHTS = {
    "QLinearConv": (3, 5),
    "QLinearMatMul": (3, 5),
    "QGemm": (3, 5),
    "ConvInteger": (1, 3),
    "MatMulInteger": (1, 3),
    "DequantizeLinear": (0, 2),
}
"""Where weights and their zero points stand among the inputs of a node."""

ZERO = "zero point that was left out"


def unsigned(content: bytes) -> bytes:
    """A model of uint8 with weights of uint8 for those of int8: 128 more, and so are their zero points.

    On x86 without VNNI instructions the sums of uint8 by int8 saturate in 16 bits: a defect of that platform and no
    rule. Those of uint8 by uint8 do not, and are the same.
    """
    model = onnx.load_from_string(content)
    constants = {constant.name: constant for constant in model.graph.initializer}
    constants |= {node.output[0]: node.attribute[0].t for node in model.graph.node if node.op_type == "Constant"}
    if not _is_unsigned(model.graph, constants):
        return content
    constants[ZERO] = model.graph.initializer.add()
    constants[ZERO].CopyFrom(numpy_helper.from_array(np.array(0, np.int8), ZERO))
    for node in model.graph.node:
        _give_zero_point(node, constants)
    moved = {name for node in model.graph.node if node.op_type in WEIGHTS for name in _signed(node, constants)}
    for name in moved:
        constants[name].CopyFrom(
            numpy_helper.from_array(numpy_helper.to_array(constants[name]).view(np.uint8) ^ 128, name)
        )
    return bytes(model.SerializeToString())


def _give_zero_point(node: onnx.NodeProto, constants: Mapping[str, onnx.TensorProto]) -> None:
    """Sums of integers may leave out zero points, which are 0 then; one that is there can be moved."""
    if node.op_type not in ("ConvInteger", "MatMulInteger") or any(node.input[3:]):
        return
    if node.input[1] in constants and constants[node.input[1]].data_type == TensorProto.INT8:
        node.input[2:] = [*(node.input[2:3] or [""]), ZERO]


def _signed(node: onnx.NodeProto, constants: Mapping[str, onnx.TensorProto]) -> list[str]:
    """The weights of a node and their zero points, if both are constants of int8."""
    names = [node.input[place] for place in WEIGHTS[node.op_type] if place < len(node.input)]
    kinds = [constants[name].data_type for name in names if name in constants]
    return names if kinds == [TensorProto.INT8] * 2 else []


def _is_unsigned(graph: onnx.GraphProto, constants: Mapping[str, onnx.TensorProto]) -> bool:
    """Whether activations are uint8: its inputs, or what they are quantised to."""
    if any(node.op_type == "DynamicQuantizeLinear" for node in graph.node):
        return True
    zero_points = (node.input[2] for node in graph.node if node.op_type == "QuantizeLinear" and len(node.input) > 2)
    kinds = {constants[name].data_type for name in zero_points if name in constants}
    return TensorProto.UINT8 in kinds | {each.type.tensor_type.elem_type for each in graph.input}
