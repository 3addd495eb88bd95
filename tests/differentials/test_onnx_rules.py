"""The rules of ONNX Runtime's operators, each held by a model that shows it: another rule would give other bits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pkgutil import resolve_name
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from scripts.differentials.formats import make, reference
from scripts.differentials.verdict import difference, golden, loaded
from tilesim.arithmetic.requantise import float_bits
from tilesim.network.operators import AveragePool, Rescale
from tilesim.network.readers import onnx_windows
from tilesim.network.readers.onnx_graph import Graph
from tilesim.network.readers.onnx_values import Dequantised, Pending, Target

pytest.importorskip("onnxruntime")

F32 = np.float32
READERS, ARITHMETIC = "tilesim.network.readers", "tilesim.arithmetic"
Scaling = tuple[int, ...]


def bits(value: Any) -> int:
    return int(float_bits(float(value))[0])


def factors(real: Callable[[Any, Any, Any], Any]) -> Callable[..., Any]:
    """Of sums, made in another way of the float64 scales of input, weights and output."""

    def scale_factors(x: Dequantised, w: Dequantised, target: Target, channels: int) -> tuple[NDArray[np.int32], Any]:
        scale = np.asarray(real(np.float64(x.scale), w.quantisation.scale, np.float64(target.scale)), F32)
        return np.broadcast_to(float_bits(scale), channels).copy(), np.zeros(channels, np.int32)

    return scale_factors


def sum_without_fusing(a: NDArray[Any], b: NDArray[Any], scaling: Scaling) -> NDArray[np.int32]:
    """Each product rounded as well."""
    ratio_a, ratio_b, constant = np.array(scaling, np.int32).view(F32)
    return np.rint((a * ratio_a).astype(F32) + ((b * ratio_b).astype(F32) + constant)).astype(np.int32)


def unfused_constant(scales: tuple[float, ...], zero_points: tuple[int, ...]) -> Scaling:
    """What the zero points come to, with each product rounded."""
    ratios = F32(scales[0]) / F32(scales[2]), F32(scales[1]) / F32(scales[2])
    a, b, y = (F32(zero_point) for zero_point in zero_points)
    return bits(ratios[0]), bits(ratios[1]), bits(y - (ratios[0] * a + ratios[1] * b))


def product_before_zero_point(a: NDArray[Any], b: NDArray[Any], scaling: Scaling) -> NDArray[np.int32]:
    """Rounded before the output's zero point is added."""
    products = (a.astype(F32) - F32(scaling[0])) * (b.astype(F32) - F32(scaling[1]))
    return np.rint(products * np.array(scaling[3], np.int32).view(F32)).astype(np.int32) + np.int32(scaling[2])


emit = Graph.emit


def always_fused(graph: Graph, name: str, pending: Pending, wanted: Target) -> None:
    build = pending.build
    emit(graph, name, replace(pending, build=lambda target: build(replace(target, fused=True))), wanted)


def by_one_factor(x: Dequantised, target: Target) -> Rescale:
    factor = bits(x.scale / target.scale)
    return Rescale(x.zero_point, target.zero_point, "float", factor, 0, target.clamp, target.dtype)


def float64_scaling(pool: AveragePool, count: int) -> Scaling:
    return bits(pool.scales[0] / pool.scales[1] / count), 0


average = onnx_windows._average


def in_reals(graph: Graph, x: Dequantised, window: Any, _rule: str, **more: Any) -> Pending:
    return average(graph, x, window, "real", **more)


def average_before_zero_point(taps: Any, scaling: Scaling) -> NDArray[np.int32]:
    zero_in, scale_in, count, scale_out, zero_out = scaling
    factor, divisor = np.array([scale_in, scale_out], np.int32).view(F32)
    total = sum((tap.astype(F32) - F32(zero_in)) * factor for tap in taps)
    return np.rint(total / F32(count) / divisor).astype(np.int32) + np.int32(zero_out)


def aligned(log: Callable[[float], float], whole: Callable[[Any], Any]) -> Callable[..., Any]:
    """Softmax with another logarithm, or with another number of steps."""

    def softmax(x: NDArray[Any], scale: float, out: float, zero_point: int, clamp: tuple[int, int]) -> NDArray[Any]:
        headroom = max(0.0, log(float(np.finfo(F32).max) / x.shape[-1]) - 5) / scale
        table = np.exp((headroom - np.arange(256)) * scale).astype(F32)
        wide = x.astype(np.int16)
        values = table[wide.max(axis=-1, keepdims=True) - wide]
        total = np.add.accumulate(values, axis=-1)[..., -1:]
        steps = values * F32(whole(F32(1) / F32(out))) / total
        return np.clip(np.rint(steps) + zero_point, *clamp).astype(x.dtype)

    return softmax


def rounded_log(real: float) -> float:
    return float(F32(np.log(real)))


def by_reciprocal(reals: NDArray[Any], scale: np.float32) -> NDArray[Any]:
    return np.asarray(np.rint(reals * (F32(1) / scale)))


@dataclass(frozen=True)
class Shown:
    """A model, and what is put in whose place to have another rule; ``item`` is the key of a table."""

    family: str
    seed: int
    place: str
    rule: Any = field(repr=False)
    item: str = ""


SHOWN = [
    Shown("integer-every_weight", 34, f"{READERS}.onnx_operands.scale_factors", factors(lambda x, w, y: x * w / y)),
    Shown(
        "pairs-every_weight", 19, f"{READERS}.onnx_operands.scale_factors",
        factors(lambda x, w, y: F32(x) * (w.astype(F32) / F32(y))),
    ),
    Shown("pairs-every_sum", 2, f"{ARITHMETIC}.add._RULES", sum_without_fusing, "float"),
    Shown("integer-every_sum", 72, f"{READERS}.onnx_operators.add_scaling_float", unfused_constant),
    Shown("pairs-every_sum", 4, f"{READERS}.onnx_graph.Graph.emit", always_fused),
    Shown("pairs-every_product", 57, f"{READERS}.onnx_graph.Graph.emit", always_fused),
    Shown("integer-every_product", 2, f"{ARITHMETIC}.multiply._RULES", product_before_zero_point, "float"),
    Shown("pairs-average_pool", 7, "tilesim.network.operators.average_pool.average", average_before_zero_point),
    Shown("pairs-average_pool", 131, f"{READERS}.onnx_windows._average", in_reals),
    Shown("integer-global_average_pool", 21, "tilesim.network.operators.AveragePool.scaling", float64_scaling),
    Shown("integer-softmax", 42, "tilesim.network.operators.softmax.RULES", aligned(np.log, np.floor), "aligned"),
    Shown("pairs-softmax", 1, "tilesim.network.operators.softmax.RULES", aligned(rounded_log, F32), "aligned"),
    Shown("pairs-rescale", 77, f"{READERS}.onnx_functions.rescaling", by_one_factor),
    Shown("integer-concat", 53, f"{ARITHMETIC}.table._ROUNDINGS", by_reciprocal, "even"),
    Shown("pairs-leaky_relu", 8, f"{ARITHMETIC}.table._ROUNDINGS", by_reciprocal, "even"),
]  # fmt: skip
"""Of each rule a model, and what else it might be."""


@pytest.mark.parametrize("shown", SHOWN, ids=lambda shown: f"{shown.family}-{shown.seed}")
def test_another_rule_would_give_other_bits(shown: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    case = make(f"onnx/{shown.family}", shown.seed)
    wanted = reference(case)
    assert difference(golden(loaded(case), case), wanted) == ""
    if shown.item:
        monkeypatch.setitem(resolve_name(shown.place), shown.item, shown.rule)
    else:
        monkeypatch.setattr(shown.place, shown.rule)
    assert difference(golden(loaded(case), case), wanted) != ""
