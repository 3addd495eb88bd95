"""Models of ONNX in both quantised forms, and ONNX Runtime."""

from __future__ import annotations

from functools import cache

import numpy as np

from scripts.differentials import onnx_families
from scripts.differentials.case import Array, Case, Refusal
from scripts.differentials.onnx_forms import apply
from scripts.differentials.onnx_sketch import Sketch

FAMILIES = onnx_families.FAMILIES
SUFFIX = ".onnx"


def reference(case: Case) -> list[Array]:
    """The outputs of ONNX Runtime on the processor in one thread, all of its optimiser on. Raises Refusal.

    The setting lets it fuse pairs of int8 on x86 too, where it would otherwise compute them in float32. On x86 without
    VNNI instructions its sums of uint8 by int8 saturate in 16 bits: a defect of that platform and no rule, with which
    no comparison means anything.
    """
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.add_session_config_entry("session.qdqisint8allowed", "1")
    try:
        session = ort.InferenceSession(case.model, options, providers=["CPUExecutionProvider"])
        return list(session.run(None, case.inputs))
    except Exception as error:
        raise Refusal(str(error)) from error


@cache
def saturates() -> bool:
    """Whether ONNX Runtime's sums of uint8 by int8 saturate on this processor: then they are nobody's reference."""
    s = Sketch(np.random.default_rng(0), "integer", np.dtype(np.uint8))
    x, w, y = s.value("x", (1, 64), 1, 0), s.value("w", (64, 8), 1, 0, np.int8), s.value("y", (1, 8), 1 << 14, 0)
    s.inputs[x.name] = np.full(x.shape, 255, np.uint8)
    s.constant(w.name, np.full(w.shape, 127, np.int8))
    (sums,) = reference(Case("onnx/saturated", 0, SUFFIX, *s.drawn(apply(s, "MatMul", [x, w], y))))
    return bool((sums != round(64 * 255 * 127 / (1 << 14))).any())
