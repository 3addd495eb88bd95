"""Generated one-operator models against ONNX Runtime, bit for bit, in both quantised forms."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.network.readers.onnx_models import Case, run_reference, unary, weighted
from tilesim.errors import ModelError
from tilesim.network.readers import read
from tilesim.shipped import shipped

pytest.importorskip("onnxruntime")

DTYPES = (np.int8, np.uint8)
FORMS = ("pairs", "integer")


def compare(case: Case, shape: tuple[int, ...], out_shape: tuple[int, ...]) -> tuple[NDArray[Any], NDArray[Any]]:
    """(ours, ONNX Runtime's)"""
    x = case.write(shape, out_shape)
    network = read(case.path)
    source, result = network.tensors[network.inputs[0]], network.tensors[network.outputs[0]]
    ours = result.to_model(network.evaluate([source.from_model(x)])[result.index])
    assert result.model_shape == out_shape
    return ours, run_reference(case.path, x)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("dtype", "w_dtype"), [(np.int8, np.int8), (np.uint8, np.int8), (np.uint8, np.uint8)])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("groups", [1, 2, 6])
def test_convolution(form: str, dtype: Any, w_dtype: Any, groups: int, seed: int, tmp_path: Path) -> None:
    case = Case(seed, dtype, tmp_path)
    w = case.integers(w_dtype, (12, 6 // groups, 3, 3))
    per_channel = seed % 2 and w_dtype == np.int8
    scales = case.rng.uniform(0.001, 0.1, 12).astype(np.float32) if per_channel else case.scale()
    pads, stride = [int(pad) for pad in case.rng.integers(0, 2, 4)], 1 + seed // 2
    rows, columns = ((9 + pads[k] + pads[k + 2] - 3) // stride + 1 for k in range(2))
    attributes = {"pads": pads, "strides": [stride] * 2, "group": groups, "kernel_shape": [3, 3]}
    weighted(case, form, ("Conv", "QLinearConv"), w, scales, **attributes)
    np.testing.assert_array_equal(*compare(case, (1, 6, 9, 9), (1, 12, rows, columns)))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("dtype", "w_dtype"), [(np.int8, np.int8), (np.uint8, np.int8), (np.uint8, np.uint8)])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kinds", [("Gemm", "QGemm"), ("MatMul", "QLinearMatMul")])
def test_matrix_product(kinds: tuple[str, str], form: str, dtype: Any, w_dtype: Any, seed: int, tmp_path: Path) -> None:
    case = Case(seed, dtype, tmp_path)
    transposed = kinds[0] == "Gemm" and seed < 2
    w = case.integers(w_dtype, (20, 300) if transposed else (300, 20))
    per_channel = seed % 2 and w_dtype == np.int8
    scales = case.rng.uniform(0.001, 0.1, 20).astype(np.float32) if per_channel else case.scale()
    weighted(case, form, kinds, w, scales, **({"transB": 1} if transposed else {}))
    np.testing.assert_array_equal(*compare(case, (1, 300), (1, 20)))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", FORMS)
def test_global_average_pool(form: str, dtype: Any, seed: int, tmp_path: Path) -> None:
    case = Case(seed, dtype, tmp_path)
    x_scale = case.scale()
    unary(case, form, "GlobalAveragePool", (x_scale, x_scale if seed % 2 else x_scale / 3))
    np.testing.assert_array_equal(*compare(case, (1, 8, 4, 4), (1, 8, 1, 1)))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", FORMS)
def test_average_pool(form: str, dtype: Any, seed: int, tmp_path: Path) -> None:
    case = Case(seed, dtype, tmp_path)
    scale = case.scale()
    scales = scale, scale if seed % 3 else scale * np.float32(0.7)
    padding = [[0, 0, 0, 0], [1, 1, 1, 1], [0, 1, 1, 2]][seed % 3]
    strides = [2, 1 + seed // 6]
    rows, columns = ((9 + padding[k] + padding[k + 2] - (2, 3)[k]) // strides[k] + 1 for k in range(2))
    moves = {"kernel_shape": [2, 3], "strides": strides, "pads": padding, "count_include_pad": seed % 2}
    unary(case, form, "AveragePool", scales, **moves)
    np.testing.assert_array_equal(*compare(case, (1, 8, 9, 9), (1, 8, rows, columns)))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", FORMS)
def test_softmax(form: str, dtype: Any, seed: int, tmp_path: Path) -> None:
    case = Case(seed, dtype, tmp_path)
    classes = (10, 100)[seed % 2]
    scales = (case.scale(), np.float32(1 / 256) if seed % 3 else case.scale())
    unary(case, form, "Softmax", scales, axis=1, opset=17)
    np.testing.assert_array_equal(*compare(case, (20, classes), (20, classes)))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["Relu", ""])
def test_rescale(kind: str, dtype: Any, seed: int, tmp_path: Path) -> None:
    case = Case(seed, dtype, tmp_path)
    x_scale = case.scale()
    unary(case, "pairs", kind, (x_scale, x_scale if seed % 2 else x_scale * np.float32(1.3)))
    np.testing.assert_array_equal(*compare(case, (1, 8, 9, 9), (1, 8, 9, 9)))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", FORMS)
def test_add_of_a_map_and_its_maxima(form: str, dtype: Any, seed: int, tmp_path: Path) -> None:
    case = Case(seed, dtype, tmp_path)
    x, y = (case.quantisation(name, case.scale()) for name in "xy")
    case.model.node("MaxPool", ["x"], "m", kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    if form == "integer":
        case.model.node("QLinearAdd", ["x", *x, "m", *x, *y], "y", "com.microsoft")
    else:
        case.model.node("DequantizeLinear", ["x", *x], "xr")
        case.model.node("DequantizeLinear", ["m", *x], "mr")
        case.model.node("Add", ["xr", "mr"], "yr")
        case.model.node("QuantizeLinear", ["yr", *y], "y")
    np.testing.assert_array_equal(*compare(case, (1, 8, 9, 9), (1, 8, 9, 9)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mover", ["Flatten", "Reshape"])
def test_flattened_map_permutes_the_weights(mover: str, dtype: Any, tmp_path: Path) -> None:
    case = Case(0, dtype, tmp_path)
    x, w = case.quantisation("x", case.scale()), case.quantisation("w", case.scale(), np.int8, 0)
    y = case.quantisation("y", np.float32(2.0))
    case.model.constant("w", case.integers(np.int8, (60, 7)))
    case.model.constant("shape", np.array([1, -1]))
    case.model.node(mover, ["x", "shape"] if mover == "Reshape" else ["x"], "v")
    case.model.node("QLinearMatMul", ["v", *x, "w", *w, *y], "y")
    np.testing.assert_array_equal(*compare(case, (1, 5, 3, 4), (1, 7)))


def test_the_shipped_model() -> None:
    path = shipped("workloads") / "digits.onnx"
    data, network = np.load(path.with_suffix(".npz")), read(path)
    source, result = (network.tensors[index] for index in (network.inputs[0], network.outputs[0]))
    outputs = network.evaluate([source.from_model(data["in0"])])[result.index]
    np.testing.assert_array_equal(result.to_model(outputs).reshape(data["out0"].shape), data["out0"])


def damaged(source: bytes, rng: np.random.Generator) -> bytes:
    data = bytearray(source[: rng.integers(len(source))] if rng.integers(4) == 0 else source)
    for position in rng.integers(0, max(1, len(data)), 2):
        data[int(position) :][:1] and data.__setitem__(int(position), data[int(position)] ^ (1 << int(rng.integers(8))))
    return bytes(data)


def refused(path: Path, action: Callable[[Path], object]) -> bool:
    try:
        action(path)
    except ModelError:
        return True
    return False


def test_damaged_files_are_read_or_refused(tmp_path: Path) -> None:
    case = Case(0, np.uint8, tmp_path)
    attributes = {"pads": [1] * 4, "group": 2, "kernel_shape": [3, 3]}
    weighted(case, "pairs", ("Conv", "QLinearConv"), case.integers(np.int8, (4, 2, 3, 3)), case.scale(), **attributes)
    compare(case, (1, 4, 9, 9), (1, 4, 9, 9))
    source = case.path.read_bytes()
    rng = np.random.default_rng(1)
    count = 0
    for _ in range(200):
        case.path.write_bytes(damaged(source, rng))
        count += refused(case.path, read)
    assert count > 80


def test_unsupported_operators_are_named(tmp_path: Path) -> None:
    case = Case(0, np.int8, tmp_path)
    case.model.node("Tanh", ["x"], "t")
    case.model.node("Erf", ["t"], "y")
    case.model.save(case.path, [1, 4], [1, 4], 1, 1)
    with pytest.raises(ModelError) as caught:
        read(case.path)
    assert [fault.split(": ", 1)[1] for fault in caught.value.faults] == [
        "node 0 (Tanh): the operator is not supported",
        "node 1 (Erf): the operator is not supported",
    ]


def faults(path: Path) -> list[str]:
    with pytest.raises(ModelError) as caught:
        read(path)
    assert all(fault.startswith(f"{path}: ") for fault in caught.value.faults)
    return [fault.removeprefix(f"{path}: ") for fault in caught.value.faults]


def test_all_faults_at_once_but_none_that_follows_from_another(tmp_path: Path) -> None:
    case = Case(0, np.int8, tmp_path)
    x, w = case.quantisation("x", 0.1, zero_point=0), case.quantisation("w", 0.1, zero_point=0)
    case.model.constant("w", case.integers(np.int8, (4, 3, 3, 3)))
    conv = ["x", *x, "w", *w, *x]
    case.model.node("QLinearConv", conv, "a", group=3, name="first;second")
    case.model.node("Tanh", ["a"], "b")
    case.model.node("MaxPool", ["a"], "c", kernel_shape=[3, 3])
    case.model.node("MaxPool", ["x"], "d", kernel_shape=[2, 2], pads=[2, 0, 0, 0])
    case.model.node("QLinearConv", conv, "e", kernel_shape=[2, 2])
    case.model.node("QLinearAdd", ["c", *x, "e", *x, *x], "y", "com.microsoft")
    case.write((1, 4, 8, 8), (1, 4, 6, 6))
    assert faults(case.path) == [
        "node 0 (QLinearConv first;...): weights of shape [4, 3, 3, 3] must suit 4 channels in 3 groups",
        "node 1 (Tanh): the operator is not supported",
        "node 3 (MaxPool): padding [2, 0, 0, 0] must be smaller than its window [2, 2]",
        "node 4 (QLinearConv): weights of shape [4, 3, 3, 3] must suit 4 channels in 1 groups",
    ]


@pytest.mark.parametrize("form", ["pairs", "integer"])
def test_what_lies_behind_a_fault_is_looked_at_too(form: str, tmp_path: Path) -> None:
    case = Case(0, np.int8, tmp_path)
    x, s = case.quantisation("x", 0.1, zero_point=0), case.quantisation("s", 0.1, zero_point=0)
    case.model.constant("w", case.integers(np.int8, (4, 3, 3, 3)))
    if form == "pairs":
        case.model.node("DequantizeLinear", ["x", *x], "xr")
        case.model.node("Tanh", ["xr"], "t")
        case.model.node("QuantizeLinear", ["t", *s], "a")
    else:
        case.model.node("QLinearConv", ["x", *x, "w", *x, *s], "t", group=2)
        case.model.constant("v", case.integers(np.int8, (4, 4, 1, 1)))
        case.model.node("QLinearConv", ["t", *s, "v", *x, *s], "a")
    case.model.node("MaxPool", ["a"], "y", kernel_shape=[2, 2], pads=[2, 0, 0, 0])
    case.write((1, 4, 8, 8), (1, 4, 9, 7) if form == "pairs" else (1, 4, 7, 5))
    first, second = faults(case.path)
    assert first.split(": ")[0] == ("node 1 (Tanh)" if form == "pairs" else "node 0 (QLinearConv)")
    assert second.endswith("(MaxPool): padding [2, 0, 0, 0] must be smaller than its window [2, 2]")


def test_faulty_ends_and_operators_that_onnx_does_not_know(tmp_path: Path) -> None:
    case = Case(0, np.int8, tmp_path)
    case.model.node("Unheard", ["x"], "a")
    case.model.node("Unknown", ["a"], "y")
    case.write((1, 4), (1, 4))
    assert [fault.split(": ")[0] for fault in faults(case.path)] == ["node 0 (Unheard)", "node 1 (Unknown)"]
    case.model.nodes.clear()
    case.model.node("Flatten", ["x"], "y")
    case.model.save(case.path, ["n", "free"], ["n", "m"], 11, 11)
    assert faults(case.path) == ["input x: must have a fixed shape, not [1, 0]"]


def test_a_value_has_one_zero_point(tmp_path: Path) -> None:
    """The border around a padded map can hold only one."""
    case = Case(0, np.int8, tmp_path)
    x, z = case.quantisation("x", 0.1, zero_point=0), case.quantisation("z", 0.1, zero_point=1)
    case.model.node("QLinearAdd", ["x", *x, "x", *z, *x], "y", "com.microsoft")
    case.write((1, 4), (1, 4))
    assert faults(case.path) == ["node 0 (QLinearAdd): x must have zero point 0 here too, not 1"]


def test_a_softmax_that_overflows_is_refused(tmp_path: Path) -> None:
    case = Case(0, np.int8, tmp_path)
    unary(case, "pairs", "Softmax", (0.1, 0.003), axis=1)
    case.write((1, 2), (1, 2))
    assert "ONNX Runtime would overflow" in faults(case.path)[0]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["Sigmoid", "LeakyRelu"])
def test_functions_of_one_byte(kind: str, form: str, dtype: Any, seed: int, tmp_path: Path) -> None:
    case = Case(seed, dtype, tmp_path)
    scale = case.scale()
    scales = (scale, np.float32(1 / 256)) if kind == "Sigmoid" else (scale, scale * np.float32(0.7))
    unary(case, form, kind, scales, **({"alpha": 0.1 * seed} if kind == "LeakyRelu" else {}))
    np.testing.assert_array_equal(*compare(case, (1, 8, 9, 9), (1, 8, 9, 9)))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["Mul", "Concat"])
def test_a_map_with_its_maxima(kind: str, form: str, dtype: Any, seed: int, tmp_path: Path) -> None:
    """Multiplied, or put together along each axis in turn, in another quantisation than that of the map."""
    case = Case(seed, dtype, tmp_path)
    x_scale, axis = case.scale(), 1 + seed % 3
    x = case.quantisation("x", x_scale)
    y = case.quantisation("y", x_scale**2 * 9000 if kind == "Mul" else x_scale * np.float32(1.3))
    case.model.node("MaxPool", ["x"], "m", kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    if form == "integer":
        first, last = (["x", *x, "m", *x, *y], []) if kind == "Mul" else ([*y, "x", *x], ["m", *x])
        attributes = {} if kind == "Mul" else {"axis": axis}
        case.model.node(f"QLinear{kind}", [*first, *last], "y", "com.microsoft", **attributes)
    else:
        case.model.node("DequantizeLinear", ["x", *x], "xr")
        case.model.node("DequantizeLinear", ["m", *x], "mr")
        case.model.node(kind, ["xr", "mr"], "yr", **({} if kind == "Mul" else {"axis": axis}))
        case.model.node("QuantizeLinear", ["yr", *y], "y")
    shape = (1, 8, 9, 9)
    out_shape = tuple(size * (1 + (kind == "Concat" and k == axis)) for k, size in enumerate(shape))
    np.testing.assert_array_equal(*compare(case, shape, out_shape))
