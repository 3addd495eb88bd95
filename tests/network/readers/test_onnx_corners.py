"""What ONNX Runtime does in corners of small models, and what of it is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper

from scripts.differentials.case import Case
from scripts.differentials.onnx_runtime import reference
from scripts.differentials.onnx_sketch import Sketch, Value
from scripts.differentials.verdict import golden, loaded
from tilesim.errors import ModelError

pytest.importorskip("onnxruntime")

MAP = (1, 2, 8, 8)


@pytest.fixture
def s() -> Sketch:
    """Of pairs and int8."""
    return Sketch(np.random.default_rng(0), "pairs")


def case(s: Sketch, y: Value) -> Case:
    return Case("onnx/corner", 0, ".onnx", *s.drawn(y))


def agree(drawn: Case) -> None:
    np.testing.assert_array_equal(golden(loaded(drawn), drawn)[0], reference(drawn)[0])


def faults(drawn: Case) -> list[str]:
    with pytest.raises(ModelError) as caught:
        loaded(drawn)
    return [fault.split(".onnx: ", 1)[1] for fault in caught.value.faults]


def given(s: Sketch, shape: tuple[int, ...] = MAP, scale: float = 0.1, zero_point: int = 3) -> Value:
    x = s.value("x", shape, scale, zero_point)
    s.inputs[x.name] = s.rng.integers(-128, 128, shape).astype(np.int8)
    return x


def after(s: Sketch, kind: str, reals: str, **attributes: Any) -> str:
    return s.node(kind, [reals], s.name("r"), **attributes)


def leaky(s: Sketch, x: Value, scale: float, zero_point: int = 0) -> Value:
    return s.quantised(after(s, "LeakyRelu", s.reals(x), alpha=0.5), s.value("y", x.shape, scale, zero_point))


def weights(s: Sketch, shape: tuple[int, ...] = (4, 2, 3, 3), dtype: Any = np.int8) -> Value:
    w = s.value("w", shape, 0.02, 0, dtype)
    s.constant(w.name, s.rng.integers(0, 128, shape).astype(dtype))
    return w


@pytest.mark.parametrize("kind", ["Flatten", "Reshape"])
def test_an_activation_after_what_only_moves(kind: str, s: Sketch) -> None:
    x = given(s, (1, 6))
    more = [s.constant("shape", np.array([1, 6]))] if kind == "Reshape" else []
    moved = s.node(kind, [s.reals(x), *more], s.name("r"))
    agree(case(s, s.quantised(after(s, "Relu", moved), s.like(x, x.shape))))


def test_an_axis_from_the_end(s: Sketch) -> None:
    x = given(s, (1, 6, 1, 1))
    agree(case(s, s.quantised(after(s, "Flatten", s.reals(x), axis=-3), s.like(x, (1, 6)))))


@pytest.mark.parametrize("repeated", ["first", "second", "both"])
def test_sums_with_one_element_that_is_repeated(repeated: str, s: Sketch) -> None:
    """Scales of which the order of both products decides ties, for the first operand otherwise than for the second."""
    s.form = "integer"
    one, many = (1, 1), (1, 256)
    a = s.value("x", many if repeated == "second" else one, 130 / 64, -56)
    b = s.value("x", many if repeated == "first" else one, 150 / 64, -17)
    y = s.value("y", one if repeated == "both" else many, 260 / 64, -61)
    s.inputs = {a.name: np.full(a.shape, 121, np.int8), b.name: np.full(b.shape, -95, np.int8)}
    s.inputs[(b if repeated == "first" else a).name].flat = np.arange(-128, 128)[: 1 if repeated == "both" else 256]
    if repeated == "both":
        s.inputs[a.name][:] = 121
    s.node("QLinearAdd", [*a.parts, *b.parts, *y.parts[1:]], y.name)
    agree(case(s, y))


@pytest.mark.parametrize("kind", ["Add", "Mul"])
def test_reals_that_two_want_are_not_fused(kind: str, s: Sketch) -> None:
    a, b = given(s, scale=0.05), given(s, scale=0.07, zero_point=9)
    r = s.node(kind, [s.reals(a), s.reals(b)], s.name("r"))
    first, second = (s.quantised(r, s.value("y", MAP, scale, 3)) for scale in (0.1, 0.13))
    both = s.node("Add", [s.reals(first), s.reals(second)], s.name("r"))
    agree(case(s, s.quantised(both, s.value("y", MAP, 0.2, 5))))


@pytest.mark.parametrize("kind", ["Conv", "Gemm"])
def test_a_sum_is_one_of_integers_whatever_its_activation(kind: str, s: Sketch) -> None:
    """ONNX Runtime would add up reals in an order of its own: ours is its integer operator, clamped."""
    x = given(s) if kind == "Conv" else given(s, (1, 18))
    w = weights(s) if kind == "Conv" else weights(s, (18, 4))
    r = s.node(kind, [s.reals(x), s.reals(w)], s.name("r"))
    y = s.value("y", (1, 4, 6, 6) if kind == "Conv" else (1, 4), 0.9, 7)
    plain = case(s, s.quantised(r, y))
    s.nodes.pop()
    clamped = case(s, s.quantised(after(s, "Relu", r), y))
    np.testing.assert_array_equal(golden(loaded(clamped), clamped)[0], np.maximum(reference(plain)[0], 7))


def bias_of(scale: float, zero_point: int, s: Sketch) -> Value:
    x, w = given(s), weights(s)
    b = s.value("b", (4,), scale, zero_point, np.int32)
    s.constant(b.name, np.arange(4, dtype=np.int32) * 3000)
    r = s.node("Conv", [s.reals(x), s.reals(w), s.reals(b)], s.name("r"))
    return s.quantised(r, s.value("y", (1, 4, 6, 6), 0.9, 3))


def test_a_bias_of_nearly_the_products_scale(s: Sketch) -> None:
    agree(case(s, bias_of(0.1 * 0.02 * 1.005, 0, s)))


@pytest.mark.parametrize(("scale", "zero_point"), [(0.004, 0), (0.002, 7)])
def test_another_bias_is_refused(scale: float, zero_point: int, s: Sketch) -> None:
    (fault,) = faults(case(s, bias_of(scale, zero_point, s)))
    assert "must have zero point 0 and the scales of x1 times w2" in fault


def summed_beyond(s: Sketch) -> Value:
    a, b, y = given(s), given(s), s.value("y", MAP, 1e-9, 0)
    return s.quantised(s.node("Add", [s.reals(a), s.reals(b)], s.name("r")), y)


def multiplied_beyond(s: Sketch) -> Value:
    x, y = given(s), s.value("y", MAP, 1e-8, 0)
    return s.quantised(s.node("Mul", [s.reals(x), s.reals(x)], s.name("r")), y)


def averaged(s: Sketch, scale: float, kind: str = "AveragePool", **attributes: Any) -> Value:
    y = s.value("y", MAP, scale, 0)
    return s.quantised(after(s, kind, s.reals(given(s)), **attributes), y)


def quantised_again(s: Sketch) -> Value:
    x = leaky(s, given(s), 0.04)
    return leaky(s, s.quantised(s.reals(x), s.value("y", MAP, 0.03, -20)), 0.1)


def unsigned_weights(s: Sketch) -> Value:
    r = s.node("Conv", [s.reals(given(s)), s.reals(weights(s, dtype=np.uint8))], s.name("r"))
    return s.quantised(r, s.value("y", (1, 4, 6, 6), 0.9, 3))


def dilated(s: Sketch) -> Value:
    operands = [s.reals(given(s)), s.reals(weights(s))]
    r = s.node("Conv", operands, s.name("r"), dilations=[2, 2], auto_pad="SAME_LOWER")
    return s.quantised(r, s.value("y", (1, 4, 8, 8), 0.9, 3))


def old_softmax(s: Sketch) -> Value:
    x, y = given(s), s.value("y", MAP, 1 / 256, -128)
    s.node("QLinearSoftmax", [*x.parts, *y.parts[1:]], y.name, axis=1, opset=11)
    return y


def clipped_softmax(s: Sketch) -> Value:
    r = after(s, "Softmax", s.reals(given(s)), axis=1)
    return s.quantised(after(s, "Relu", r), s.value("y", MAP, 1 / 256, 0))


WINDOW = {"kernel_shape": [1, 2]}
REFUSED: list[tuple[Callable[[Sketch], Value], str]] = [
    (summed_beyond, "its results must stay below 2**31 steps of its output's scale, not reach 2.62e+10"),
    (multiplied_beyond, "its results must stay below 2**31 steps of its output's scale, not reach 1.72e+10"),
    (lambda s: averaged(s, 1e-9, **WINDOW), "its results must stay below 2**31 steps of its output's scale"),
    (lambda s: averaged(s, 1e-6, "GlobalAveragePool"), "its scales must have a ratio of 2**-32 to 2**8 of a sum"),
    (
        lambda s: averaged(s, 0.1, kernel_shape=[1, 1], strides=[1, 4], auto_pad="SAME_UPPER"),
        "auto_pad SAME_UPPER must suit its strides",
    ),
    (dilated, "auto_pad SAME_LOWER must come without dilations: ONNX Runtime refuses [2, 2]"),
    (quantised_again, "y4 must not be quantised again"),
    (unsigned_weights, "weights w3 must be int8 like x1"),
    (old_softmax, "axis must be that of the channels alone, not 1 and those after it"),
    (clipped_softmax, "its activation must leave all of its output's range"),
]


@pytest.mark.parametrize(("draw", "words"), REFUSED, ids=lambda each: getattr(each, "__name__", None))
def test_what_is_not_defined_or_not_there_is_refused(draw: Callable[[Sketch], Value], words: str, s: Sketch) -> None:
    (fault,) = faults(case(s, draw(s)))
    assert words in fault


def chosen(s: Sketch, kind: str, *more: str, source: str = "", **attributes: Any) -> Case:
    """A choice among the channels of a map, with its places as the output."""
    names = ["values", "places"] if kind == "TopK" else ["places"]
    s.nodes.append(helper.make_node(kind, [source or s.reals(given(s)), *more], names, **attributes))
    result = helper.make_tensor_value_info("places", TensorProto.INT64, ["n", "c", "h", "w"])
    return Case("onnx/corner", 0, ".onnx", *s.written([result]))


def number(s: Sketch, k: Any) -> str:
    return s.constant("k", np.array(k, np.int64))


CHOSEN: list[tuple[Callable[[Sketch], Case], str]] = [
    (lambda s: chosen(s, "TopK", number(s, [1]), axis=0), "axis must be that of the channels, not 0"),
    (
        lambda s: chosen(s, "ArgMax", axis=1, select_last_index=1),
        "must choose the first of equal elements, not the last",
    ),
    (lambda s: chosen(s, "TopK", number(s, [3]), axis=1), "its k must be a whole number from 1 to 2, not [3]"),
    (lambda s: chosen(s, "TopK", number(s, [0]), axis=1), "its k must be a whole number from 1 to 2, not [0]"),
    (
        lambda s: chosen(s, "TopK", number(s, [1]), axis=1, largest=0),
        "must give the largest elements, the largest first",
    ),
    (
        lambda s: chosen(s, "TopK", number(s, [1]), axis=1, sorted=0),
        "must give the largest elements, the largest first",
    ),
    (
        lambda s: chosen(s, "ArgMax", source=after(s, "LeakyRelu", s.reals(given(s))), axis=1),
        "must come from a DequantizeLinear, or be integers that are computed",
    ),
]


@pytest.mark.parametrize(("draw", "words"), CHOSEN)
def test_a_choice_that_is_another_is_refused(draw: Callable[[Sketch], Case], words: str, s: Sketch) -> None:
    (fault,) = faults(draw(s))
    assert words in fault


def test_places_are_no_operand(s: Sketch) -> None:
    places = chosen(s, "ArgMax", axis=1)
    s.nodes.append(helper.make_node("MaxPool", ["places"], ["flat"], kernel_shape=[1, 1]))
    result = helper.make_tensor_value_info("flat", TensorProto.INT64, (1, 1, 8, 8))
    (fault,) = faults(replace(places, model=s.written([result])[0]))
    assert "places must be int8 or uint8, not int64" in fault


def test_reals_beyond_float32_saturate_without_a_word(s: Sketch) -> None:
    x = s.value("x", (1, 4), 1e-3, 5)
    s.inputs["reals"] = np.array([[3e38, -3e38, np.inf, -np.inf]], np.float32)
    drawn = case(s, s.quantised("reals", x))
    agree(drawn)
    assert outputs(drawn).tolist() == [[127, -128, 127, -128]]


def outputs(drawn: Case) -> NDArray[Any]:
    network = loaded(drawn)
    return np.asarray(network.evaluate(list(drawn.inputs.values()))[network.outputs[0]])
