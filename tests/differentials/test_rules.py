"""The rules of TensorFlow Lite's kernels, each held by a model that shows it: another rule would give other bits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from scripts.differentials.case import Case
from scripts.differentials.formats import make, reference
from scripts.differentials.verdict import difference, golden, loaded
from tilesim.arithmetic.add import HEADROOM_BITS, add_scaling_fixed, opposite
from tilesim.arithmetic.requantise import quantise_multiplier
from tilesim.network.graph import Network, Node, Operator
from tilesim.network.readers.fixed_point import multipliers, wide_factors
from tilesim.network.readers.tflite_file import parse

F32 = np.float32
Scales = list[Any]
"""Those of a node's inputs, then of its output; float64, as the file has them."""
Otherwise = Callable[[Any, Scales], Operator]


def with_factor(real: Callable[..., Any]) -> Otherwise:
    """The layer with another factor: of the scales of input, weights and output."""

    def otherwise(op: Any, scales: Scales) -> Operator:
        x, w, y = scales[0], np.atleast_1d(scales[1]), scales[-1]
        channels = op.multiplier.size
        find = wide_factors if op.rule == "wide" else multipliers
        multiplier, shift = find(np.asarray(real(x, w, y), np.float64), channels)
        return replace(op, multiplier=multiplier, shift=shift)

    return otherwise


def with_rule(rule: str) -> Otherwise:
    return lambda op, _scales: replace(op, rule=rule)


def with_fixed_point(op: Any, scales: Scales) -> Operator:
    """A fully connected layer with 32 bits of its factor."""
    real = np.asarray(scales[0] * np.atleast_1d(scales[1]) / scales[-1])
    multiplier, shift = multipliers(real, op.multiplier.size)
    return replace(op, rule="single", multiplier=multiplier, shift=shift)


def with_ratio(ratio: Callable[..., Any]) -> Otherwise:
    """An element-wise rescaling with another ratio of its scales."""

    def otherwise(op: Any, scales: Scales) -> Operator:
        multiplier, shift = quantise_multiplier(float(ratio(scales[0], scales[-1])))
        return replace(op, multiplier=multiplier, shift=shift)

    return otherwise


def with_product(real: Callable[..., Any]) -> Otherwise:
    def otherwise(op: Any, scales: Scales) -> Operator:
        return replace(op, scaling=(*op.scaling[:3], *quantise_multiplier(float(real(*scales)))))

    return otherwise


def with_float32_scales(op: Any, scales: Scales) -> Operator:
    """A sum or difference whose output's factor is a float32."""
    twice = F32(2) * max(F32(scales[0]), F32(scales[1]))
    factor = quantise_multiplier(float(twice / (F32(1 << HEADROOM_BITS[op.rule]) * F32(scales[2]))))
    return replace(op, scaling=(*op.scaling[:7], *factor))


def with_common_scale(op: Any, scales: Scales) -> Operator:
    """Scales that are powers of two by the rule for all others."""
    sign = op.scaling[2]
    scaling = add_scaling_fixed((scales[0], scales[1], scales[2]), (0, 0, 0), "double16")
    return replace(op, rule="double16", scaling=scaling if sign > 0 else opposite("double16", scaling))


def with_float32_mean(op: Any, scales: Scales) -> Operator:
    """A mean whose factor comes from a float32."""
    float32, float64 = (
        quantise_multiplier(float(r)) for r in (F32(scales[0]) / F32(scales[-1]), scales[0] / scales[-1])
    )
    return replace(op, multiplier=op.multiplier * float32[0] // float64[0])


def with_matrix_factor(real: Callable[..., Any]) -> Otherwise:
    """A product of matrices with another factor, of the scales of both and of the output."""

    def otherwise(op: Any, scales: Scales) -> Operator:
        multiplier, shift = quantise_multiplier(float(real(*scales)))
        return replace(op, multiplier=multiplier, shift=shift)

    return otherwise


def with_other_places(op: Any, _scales: Scales) -> Operator:
    """A map resized in reals instead of fixed point, or the other way round."""
    return replace(op, rule="real" if op.rule == "fixed" else "fixed")


def with_slopes(part: str) -> Otherwise:
    """Slopes above or below 0 whose factors are float64."""

    def otherwise(op: Any, scales: Scales) -> Operator:
        x, slope, y = scales
        return replace(op, **{part: quantise_multiplier(float(x / y if part == "above" else x * slope / y))})

    return otherwise


FLOAT32_PRODUCT = with_factor(lambda x, w, y: (x * w).astype(F32).astype(np.float64) / y)
FLOAT64 = with_factor(lambda x, w, y: x * w / y)
FLOAT64_RATIO = with_ratio(lambda x, y: x / y)

SHOWN: list[tuple[str, int, Otherwise]] = [
    ("conv_2d", 31, with_rule("single")),
    ("conv_2d", 42, FLOAT32_PRODUCT),
    ("conv_2d_per_channel", 90, FLOAT32_PRODUCT),
    ("conv_2d_uint8", 62, FLOAT64),
    ("depthwise_conv_2d", 89, FLOAT32_PRODUCT),
    ("depthwise_conv_2d_per_channel", 33, FLOAT32_PRODUCT),
    ("depthwise_conv_2d_uint8", 65, FLOAT64),
    ("fully_connected", 35, FLOAT32_PRODUCT),
    ("fully_connected", 309, with_fixed_point),
    ("fully_connected_per_channel", 51, FLOAT32_PRODUCT),
    ("fully_connected_per_channel", 206, with_fixed_point),
    ("fully_connected_uint8", 15, FLOAT32_PRODUCT),
    ("fully_connected_uint8", 210, with_fixed_point),
    ("add", 91, with_float32_scales),
    ("mul", 638, with_product(lambda a, b, y: a * b / y)),
    ("mean", 283, with_float32_mean),
    ("relu", 380, FLOAT64_RATIO),
    ("relu6", 423, FLOAT64_RATIO),
    ("relu_n1_to_1", 379, FLOAT64_RATIO),
    ("requantize", 0, with_ratio(lambda x, y: F32(x) / F32(y))),
    ("conv_2d_int16", 6, FLOAT32_PRODUCT),
    ("conv_2d_int16", 17, with_rule("single")),
    ("conv_2d_int16_per_channel", 41, FLOAT32_PRODUCT),
    ("depthwise_conv_2d_int16", 4, with_rule("single")),
    ("fully_connected_int16", 44, FLOAT32_PRODUCT),
    ("fully_connected_int16", 44, with_fixed_point),
    ("transpose_conv", 12, with_rule("single")),
    ("transpose_conv_int16", 2, with_rule("single")),
    ("add_int16", 33, with_float32_scales),
    ("add_int16_shifted", 1, with_common_scale),
    ("sub", 712, with_float32_scales),
    ("sub_int16", 133, with_float32_scales),
    ("sub_int16_shifted", 2, with_common_scale),
    ("mul_int16", 54, with_product(lambda a, b, y: a * b / y)),
    ("requantize_int16", 168, with_ratio(lambda x, y: F32(x) / F32(y))),
    ("softmax", 453, with_rule("plain")),
    ("batch_matmul", 2, with_rule("single")),
    ("batch_matmul", 117, with_matrix_factor(lambda a, b, y: F32(a) * F32(b) / F32(y))),
    ("batch_matmul", 1269, with_matrix_factor(lambda a, b, y: a * b / y)),
    ("prelu", 20, with_rule("single")),
    ("prelu", 488, with_slopes("above")),
    ("prelu", 1241, with_slopes("below")),
    ("relu_0_to_1", 406, FLOAT64_RATIO),
    *(("resize_bilinear", seed, with_other_places) for seed in range(3)),
]
"""Of each rule a model, and what else it might be."""


def otherwise(case: Case, rule: Otherwise) -> Network:
    """The network with its first node by another rule."""
    network = loaded(case)
    node, file = network.nodes[0], parse(case.model)
    first = file.operators[0]
    scales = [np.float64(file.tensors[index].scales).squeeze() for index in (*first.inputs, *first.outputs)]
    changed = Node(node.name, rule(node.operator, scales), node.inputs, node.output)
    return replace(network, nodes=(changed, *network.nodes[1:]))


@pytest.mark.parametrize(("family", "seed", "rule"), SHOWN)
def test_another_rule_would_give_other_bits(family: str, seed: int, rule: Otherwise) -> None:
    case = make(f"tflite/{family}", seed)
    wanted = reference(case)
    assert difference(golden(loaded(case), case), wanted) == ""
    assert difference(golden(otherwise(case, rule), case), wanted) != ""
