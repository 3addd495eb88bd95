"""Generated ONNX models, compiled and simulated on one tile, against ONNX Runtime bit for bit."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilesim
from tests.network.readers.onnx_models import Case, Pairs, run_reference, unary, weighted

pytest.importorskip("onnxruntime")

DTYPES = (np.int8, np.uint8)
FORMS = ("pairs", "integer")
CHIPS: tuple[Mapping[str, object], ...] = ({}, {"tile.lanes": 16, "wide_memory.ports": 2})


@pytest.fixture(params=[(form, dtype) for form in FORMS for dtype in DTYPES], ids=lambda p: f"{p[0]}-{p[1].__name__}")
def form_and_case(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Case]:
    form, dtype = request.param
    return form, Case(0, dtype, tmp_path)


def check(case: Case, shape: tuple[int, ...], axes: int | None = None) -> None:
    """Both chips give ONNX Runtime's output; ``axes`` is how many the output has, if not as many as the input."""
    x = case.write(shape, tuple("nchw"[: axes or len(shape)]))
    expected = run_reference(case.path, x)
    network = tilesim.load_network(case.path)
    assert expected.size == 1 or expected.std() > 0
    for chip in CHIPS:
        run = tilesim.simulate(tilesim.compile(network, tilesim.load_topology("edge-1x1", chip)), [x])
        np.testing.assert_array_equal(run.outputs[0], expected)


@pytest.mark.parametrize(
    ("channels", "outputs", "more"),
    [
        (1, 5, {"kernel_shape": [3, 3], "pads": [1] * 4}),
        (3, 64, {"kernel_shape": [3, 3], "pads": [0, 0, 1, 1], "strides": [2, 2]}),
        (5, 65, {"kernel_shape": [1, 1]}),
        (64, 63, {"kernel_shape": [2, 3], "pads": [2, 0, 1, 1], "dilations": [2, 1]}),
        (70, 4, {"kernel_shape": [3, 1], "strides": [1, 3], "dilations": [1, 2]}),
        (8, 12, {"kernel_shape": [3, 3], "pads": [1] * 4, "group": 4}),
        (5, 5, {"kernel_shape": [3, 3], "pads": [1] * 4, "group": 5}),
        (65, 65, {"kernel_shape": [3, 2], "pads": [0, 1, 2, 0], "strides": [2, 1], "group": 65}),
        (6, 12, {"kernel_shape": [3, 3], "pads": [1] * 4, "group": 6}),
        (4, 4, {"kernel_shape": [2, 2], "pads": [2] * 4, "dilations": [2, 3], "group": 4}),
    ],
    ids=str,
)
def test_convolutions(form_and_case: tuple[str, Case], channels: int, outputs: int, more: dict[str, Any]) -> None:
    form, case = form_and_case
    w_dtype = np.uint8 if case.dtype == np.uint8 and channels % 2 else np.int8
    w = case.integers(w_dtype, (outputs, channels // more.get("group", 1), *more["kernel_shape"]))
    scales = case.rng.uniform(0.001, 0.1, outputs).astype(np.float32) if w_dtype == np.int8 else case.scale()
    weighted(case, form, ("Conv", "QLinearConv"), w, scales, **more)
    check(case, (1, channels, 7, 8))


@pytest.mark.parametrize(("inputs", "outputs"), [(1, 3), (5, 1), (70, 64), (300, 65)])
@pytest.mark.parametrize("kinds", [("Gemm", "QGemm"), ("MatMul", "QLinearMatMul")], ids=lambda kinds: kinds[0])
def test_matrix_products(form_and_case: tuple[str, Case], kinds: tuple[str, str], inputs: int, outputs: int) -> None:
    form, case = form_and_case
    weighted(case, form, kinds, case.integers(np.int8, (inputs, outputs)), case.scale())
    check(case, (1, inputs))


@pytest.mark.parametrize(
    ("channels", "more"),
    [
        (3, {"kernel_shape": [2, 2], "strides": [2, 2]}),
        (64, {"kernel_shape": [3, 3], "pads": [1] * 4}),
        (5, {"kernel_shape": [3, 2], "pads": [2, 0, 1, 1], "strides": [1, 3]}),
        (70, {"kernel_shape": [8, 9]}),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["AveragePool0", "AveragePool1", "MaxPool"])
def test_pools(form_and_case: tuple[str, Case], kind: str, channels: int, more: dict[str, Any]) -> None:
    form, case = form_and_case
    if kind == "MaxPool":
        case.model.node(kind, ["x"], "y", **more)
    else:
        x_scale = case.scale()
        scales = x_scale, x_scale if channels % 2 else case.scale()
        unary(case, form, kind[:-1], scales, count_include_pad=int(kind[-1]), **more)
    check(case, (1, channels, 8, 9))


@pytest.mark.parametrize("shape", [(1, 1, 5, 3), (1, 70, 7, 7), (1, 64, 16, 16), (1, 6, 1, 1)])
def test_global_average_pool(form_and_case: tuple[str, Case], shape: tuple[int, ...]) -> None:
    form, case = form_and_case
    x_scale = case.scale()
    unary(case, form, "GlobalAveragePool", (x_scale, x_scale / np.float32(3)))
    check(case, shape)


@pytest.mark.parametrize("classes", [2, 10, 65])
def test_softmax(form_and_case: tuple[str, Case], classes: int) -> None:
    form, case = form_and_case
    unary(case, form, "Softmax", (case.scale(), np.float32(1 / 256)), axis=1, opset=17)
    check(case, (1, classes))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["Relu", "Clip", ""])
def test_rescaling_and_activations_on_their_own(kind: str, dtype: Any, tmp_path: Path) -> None:
    case = Case(1, dtype, tmp_path)
    unary(case, "pairs", kind, (case.scale(), case.scale()))
    check(case, (1, 5, 6, 7))


@pytest.mark.parametrize("channels", [1, 5, 64])
def test_add(form_and_case: tuple[str, Case], channels: int) -> None:
    form, case = form_and_case
    x, y = (case.quantisation(name, case.scale()) for name in "xy")
    case.model.node("MaxPool", ["x"], "m", kernel_shape=[3, 3], pads=[1] * 4)
    if form == "integer":
        case.model.node("QLinearAdd", ["x", *x, "m", *x, *y], "y", "com.microsoft")
    else:
        reals = [case.model.node("DequantizeLinear", [name, *x], f"{name}r") for name in "xm"]
        case.model.node("QuantizeLinear", [case.model.node("Add", reals, "yr"), *y], "y")
    check(case, (1, channels, 5, 9))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mover", ["Flatten", "Reshape"])
@pytest.mark.parametrize("channels", [1, 3, 8])
def test_flattened_map(mover: str, dtype: Any, channels: int, tmp_path: Path) -> None:
    case = Case(2, dtype, tmp_path)
    x, w = case.quantisation("x", case.scale()), case.quantisation("w", case.scale(), np.int8, 0)
    y = case.quantisation("y", np.float32(2.0))
    case.model.constant("w", case.integers(np.int8, (channels * 12, 7)))
    case.model.constant("shape", np.array([1, -1]))
    case.model.node(mover, ["x", "shape"][: 1 + (mover == "Reshape")], "v")
    case.model.node("QLinearMatMul", ["v", *x, "w", *w, *y], "y")
    check(case, (1, channels, 3, 4), 2)


@pytest.mark.parametrize("activation", ["", "Relu", "Clip"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seed", range(2))
def test_a_whole_network(seed: int, dtype: Any, activation: str, tmp_path: Path) -> None:
    net = Pairs(seed, dtype, tmp_path)
    size = (20, 33)[seed]
    window = {"kernel_shape": [3, 3], "pads": [1] * 4}
    net.layer("c", "Conv", "x", weights=(size, 3, 3, 3), activation=activation, scale=0.2, strides=[2, 2], **window)
    net.layer("d", "Conv", "c", weights=(size, 1, 3, 3), activation=activation, scale=0.1, group=size, **window)
    net.layer("p", "Conv", "d", weights=(size, size, 1, 1), scale=0.2, kernel_shape=[1, 1])
    net.layer("a", "Add", "p", "c", activation=activation, scale=0.25)
    net.layer("m", "MaxPool", "a", **window)
    net.layer("v", "AveragePool", "m", kernel_shape=[2, 2], strides=[2, 2], count_include_pad=seed)
    net.layer("e", "Conv", "v", weights=(8, size, 3, 3), activation=activation, scale=0.5, **window)
    net.layer("g", "GlobalAveragePool", "e", scale=0.2)
    net.layer("f", "Flatten", "g")
    net.layer("l", "Gemm", "f", weights=(10, 8), transB=1, scale=0.1)
    net.layer("y", "Softmax", "l", axis=1, scale=1 / 256)
    check(net, (1, 3, 12, 12), 2)
