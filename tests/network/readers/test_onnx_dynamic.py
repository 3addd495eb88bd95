"""ONNX models that quantise values as they come: against ONNX Runtime, bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto

import tilesim
from tests.network.readers.onnx_models import ModelBuilder, run_reference
from tilesim.errors import ModelError

WEIGHTS = np.arange(-10, 10, dtype=np.int8).reshape(5, 4)


def layer(model: ModelBuilder) -> str:
    """A fully connected layer with its bias and Relu, as ``quantize_dynamic`` writes it; its reals."""
    quantised = ["q", "scale", "zero"]
    model.node("DynamicQuantizeLinear", ["x"], "q")
    model.nodes[-1].output[:] = quantised
    model.node("MatMulInteger", ["q", model.constant("w", WEIGHTS), "zero", model.constant("wz", np.int8(1))], "sums")
    model.node("Cast", ["sums"], "cast", to=TensorProto.FLOAT)
    model.node("Mul", ["scale", model.constant("ws", np.float32(0.07))], "scales")
    model.node("Mul", ["cast", "scales"], "product")
    model.node("Add", ["product", model.constant("b", np.linspace(-1, 1, 4, dtype=np.float32))], "sum")
    return model.node("Relu", ["sum"], "y")


@pytest.mark.parametrize("rows", [1, 3])
def test_a_layer_is_what_the_runtime_makes_of_it(rows: int, tmp_path: Path) -> None:
    model = ModelBuilder()
    layer(model)
    path = model.save(tmp_path / "m.onnx", [rows, 5], [rows, 4], TensorProto.FLOAT, TensorProto.FLOAT)
    network = tilesim.load_network(path)
    assert network.macs == rows * 5 * 4
    for seed in range(20):
        x = np.random.default_rng(seed).normal(0, 1, (rows, 5)).astype(np.float32)
        np.testing.assert_array_equal(network.evaluate(x)[network.outputs[0]], run_reference(path, x))


def test_each_sample_has_a_scale_of_its_own(tmp_path: Path) -> None:
    model = ModelBuilder()
    layer(model)
    network = tilesim.load_network(
        model.save(tmp_path / "m.onnx", [1, 5], [1, 4], TensorProto.FLOAT, TensorProto.FLOAT)
    )
    x = (np.random.default_rng(1).normal(0, 1, (3, 5)) * [[1], [100], [0]]).astype(np.float32)
    alone = [network.evaluate(x[k : k + 1])[network.outputs[0]] for k in range(3)]
    np.testing.assert_array_equal(network.evaluate(x)[network.outputs[0]], np.concatenate(alone))


def test_machines_without_host_steps_refuse_them_by_name(tmp_path: Path) -> None:
    model = ModelBuilder()
    layer(model)
    path = model.save(tmp_path / "m.onnx", [1, 5], [1, 4], TensorProto.FLOAT, TensorProto.FLOAT)
    assert tilesim.support(path, tilesim.load_topology("edge-2x2")).verdict == "runs"
    for chip in ("systolic-4", "rotating-8"):
        (obstacle,) = tilesim.support(path, tilesim.load_topology(chip)).obstacles
        assert any("sums (integermatmul)" in sentence for sentence in obstacle["sentences"])


def sums(kind: str, x: list[int], w: Any, *zeros: Any) -> tuple[ModelBuilder, list[int]]:
    model = ModelBuilder()
    names = [model.constant(f"z{k}", zero) for k, zero in enumerate(zeros)]
    model.node(kind, ["x", model.constant("w", w), *names], "y")
    return model, x


@pytest.mark.parametrize(
    ("made", "fault"),
    [
        (sums("MatMulInteger", [1, 4], WEIGHTS), "matrices of shapes [1, 4] and [5, 4] must suit each other"),
        (sums("MatMulInteger", [1, 5], WEIGHTS.astype(np.int32)), "w must be int8 or uint8, not int32"),
        (
            sums("MatMulInteger", [1, 5], WEIGHTS, np.int8(1), np.zeros(3, np.int8)),
            "its weights must have one zero point, or one for each of 4 columns",
        ),
        (sums("MatMulInteger", [1, 5], WEIGHTS, np.uint8(1)), "zero point z0 must be int8, not uint8"),
        (
            sums("MatMulInteger", [1, 5], WEIGHTS, np.zeros(2, np.int8)),
            "must have one zero point for its first input, and constant ones for its weights",
        ),
        (
            sums("ConvInteger", [1, 3, 4, 4], np.zeros((2, 2, 1, 1), np.int8)),
            "weights of shape [2, 2, 1, 1] must suit shape [1, 3, 4, 4] in 1 groups",
        ),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(made: tuple[ModelBuilder, list[int]], fault: str, tmp_path: Path) -> None:
    model, shape = made
    out = [f"a{k}" for k in range(len(shape))]
    with pytest.raises(ModelError) as caught:
        tilesim.load_network(model.save(tmp_path / "m.onnx", shape, out, TensorProto.INT8, TensorProto.INT32))
    assert fault in caught.value.faults[0]
