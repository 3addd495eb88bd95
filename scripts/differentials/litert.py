"""Models of TensorFlow Lite, and LiteRT with its reference kernels."""

from __future__ import annotations

from scripts.differentials import tflite_families
from scripts.differentials.case import Array, Case, Refusal

FAMILIES = tflite_families.FAMILIES
SUFFIX = ".tflite"


def reference(case: Case) -> list[Array]:
    """The outputs of LiteRT's reference kernels in one thread. Raises Refusal."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    try:
        interpreter = Interpreter(
            model_content=case.model, num_threads=1, experimental_op_resolver_type=OpResolverType.BUILTIN_REF
        )
        interpreter.allocate_tensors()
        for details in interpreter.get_input_details():
            interpreter.set_tensor(details["index"], case.inputs[details["name"]])
        interpreter.invoke()
    except (RuntimeError, ValueError) as error:
        raise Refusal(str(error)) from error
    return [interpreter.get_tensor(details["index"]) for details in interpreter.get_output_details()]
