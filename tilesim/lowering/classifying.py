"""What a classifier, or the host in its place, is told of the operators that it computes."""

from __future__ import annotations

from typing import TypeAlias

from tilesim.arithmetic.classify import SOFTMAX_FUNCTIONS, classify_scaling
from tilesim.network.operators import ArgMax, Softmax, TopK

CHOICES = (ArgMax, TopK)
"""What chooses among elements."""
CLASSIFYING = (Softmax, *CHOICES)
Classifying: TypeAlias = Softmax | ArgMax | TopK


def function_of(op: Classifying) -> tuple[str, tuple[int, ...]]:
    """The function that an operator is, and its scaling."""
    if isinstance(op, ArgMax):
        return "argmax", ()
    if isinstance(op, TopK):
        return "top_k_values" if op.places is None else "top_k_indices", (op.k,)
    function = SOFTMAX_FUNCTIONS[op.rule]
    return function, classify_scaling(function, (op.input_scale, op.output_scale), op.output_zero_point, op.clamp)
