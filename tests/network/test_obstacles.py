"""What stands between a model and a run, all of it at once, sorted and with remedies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tilesim
from tests.network.readers.onnx_models import ModelBuilder
from tests.network.readers.tflite_models import tensor, write
from tilesim.errors import InputError, ModelError
from tilesim.network.obstacles import TYPES, Obstacle, Support


def brief(support: Support) -> list[tuple[str, str, int]]:
    return [(obstacle["about"], obstacle["what"], obstacle["count"]) for obstacle in support.obstacles]


def only(support: Support, what: str) -> Obstacle:
    [obstacle] = [obstacle for obstacle in support.obstacles if obstacle["what"] == what]
    return obstacle


def test_everything_at_once(tmp_path: Path) -> None:
    """A custom operator, unknown ones, a form that is refused behind them, and three faulty tensors."""
    tensors = [
        tensor("x", [1, 4]),
        tensor("a", [1, 4]),
        tensor("b", [1, 4]),
        tensor("c", [1, 4]),
        tensor("d", [1, 4], np.int16),
        tensor("e", [1, 0]),
        tensor("f", [1, 4], type_code=17),
        tensor("y", [1, 5]),
    ]
    nodes = [
        ("Detect", [0], [1]),
        ("NEG", [1], [2]),
        ("NEG", [2], [3]),
        ("TANH", [3], [4]),
        ("TANH", [4], [5]),
        ("TANH", [5], [6]),
        ("RESHAPE", [3], [7]),
    ]
    support = tilesim.support(write(tmp_path / "m.tflite", tensors, nodes, [0], [7]))
    assert support.verdict == "is not read"
    assert brief(support) == [
        ("operator", "NEG", 2),
        ("operator", "custom operator Detect", 1),
        ("type", "int4", 1),
        ("type", "int16", 1),
        ("shape", "dynamic shape", 1),
        ("form", "RESHAPE", 1),
    ]
    assert only(support, "NEG")["names"] == ["b", "c"]
    assert only(support, "RESHAPE")["sentences"] == [
        "node 6 (RESHAPE): shape [1, 4] must have as many elements as [1, 5]"
    ]
    assert only(support, "int4")["remedy"] == TYPES["int4"]
    assert "built-in operators alone" in only(support, "custom operator Detect")["remedy"]


def test_behind_too_many_subgraphs_the_first_is_looked_at(tmp_path: Path) -> None:
    tensors = [tensor("x", [1, 4]), tensor("y", [1, 4])]
    path = write(tmp_path / "m.tflite", tensors, [("IF", [0], [1])], [0], [1], subgraphs=3)
    support = tilesim.support(path)
    assert brief(support) == [("operator", "IF", 1), ("form", "model", 1)]
    assert only(support, "model")["sentences"] == ["must have 1 subgraph, not 3"]


def test_onnx_that_its_own_checker_refuses_is_a_model_still(tmp_path: Path) -> None:
    model = ModelBuilder()
    model.node("Relu", ["nowhere"], "y")
    support = tilesim.support(model.save(tmp_path / "m.onnx", [1, 4], [1, 4], 1, 1))
    assert brief(support) == [("form", "model", 1)]
    assert "must be a valid ONNX model" in support.obstacles[0]["sentences"][0]


def test_a_hybrid_model_is_told_from_a_float_one(tmp_path: Path) -> None:
    weights = tensor("w", [3, 4], data=np.ones((3, 4), np.int8))
    reals = tensor("r", [3, 4], np.float32, data=np.ones((3, 4), np.float32))
    ends = [tensor("x", [1, 4], np.float32), tensor("y", [1, 3], np.float32)]
    nodes = [("FULLY_CONNECTED", [0, 2, -1], [1])]
    for operand, what in ((weights, "hybrid"), (reals, "float32")):
        support = tilesim.support(write(tmp_path / f"{what}.tflite", [*ends, operand], nodes, [0], [1]))
        assert brief(support) == [("type", what, 1)]
        assert only(support, what)["names"] == ["y"]


def test_onnx_that_is_not_quantised_and_knows_no_size(tmp_path: Path) -> None:
    model = ModelBuilder()
    model.node("Relu", ["x"], "a")
    model.node("Neg", ["a"], "b")
    model.node("Neg", ["b"], "y")
    support = tilesim.support(model.save(tmp_path / "m.onnx", [1, 4], [1, 4], 1, 1))
    assert brief(support) == [("operator", "Neg", 2), ("type", "float32", 1)]
    assert only(support, "float32")["remedy"] == TYPES["float32"]
    support = tilesim.support(model.save(tmp_path / "m.onnx", [1, "width"], [1, "width"], 1, 1))
    assert brief(support) == [("operator", "Neg", 2), ("shape", "dynamic shape", 1)]


def test_onnx_operators_that_quantise_as_they_go_and_custom_ones(tmp_path: Path) -> None:
    model = ModelBuilder()
    model.node("DynamicQuantizeMatMul", ["x"], "a", "com.microsoft")
    model.node("Magic", ["a"], "y", "com.example")
    support = tilesim.support(model.save(tmp_path / "m.onnx", [1, 4], [1, 4], 1, 1))
    assert brief(support) == [
        ("operator", "DynamicQuantizeMatMul", 1),
        ("operator", "custom operator com.example.Magic", 1),
    ]
    assert "with samples" in only(support, "DynamicQuantizeMatMul")["remedy"]


def test_a_chip_says_what_it_lacks() -> None:
    network, small = "digits", tilesim.load_topology("pocket-2x1")
    assert (tilesim.support(network).verdict, tilesim.support(network).compiles) == ("is read", None)
    assert tilesim.support(network, tilesim.load_topology("systolic-4")).verdict == "runs"
    assert tilesim.support(network, tilesim.load_topology("edge-1x1")).verdict == "runs"
    support = tilesim.support(network, small)
    assert (support.verdict, brief(support)) == ("does not fit", [("chip", "pocket-2x1", 1)])
    assert (
        "its program must fit the instruction memory of pocket-2x1: 16.97 KiB are needed"
        in support.obstacles[0]["sentences"][0]
    )


def test_what_is_no_model_is_an_error(tmp_path: Path) -> None:
    for name in ("m.tflite", "m.onnx"):
        (tmp_path / name).write_bytes(b"\x00nothing\xff")
        with pytest.raises(ModelError):
            tilesim.support(tmp_path / name)
    with pytest.raises(InputError, match="there is no such file"):
        tilesim.support(tmp_path / "none.onnx")


def test_real_models_are_all_read(models: Path) -> None:
    verdicts = {path.parent.name: tilesim.support(path).verdict for path in sorted(models.glob("*/model.tflite"))}
    assert len(verdicts) >= 14
    assert set(verdicts.values()) == {"is read"}


@pytest.mark.parametrize(
    "name", ["add", "conv", "leaky_relu", "pad", "quantize", "strided_slice", "sub", "transpose_conv"]
)
def test_real_models_of_int16_run_on_tiles(models: Path, name: str) -> None:
    support = tilesim.support(models / f"tflm_seanet_{name}0" / "model.tflite", tilesim.load_topology("edge-2x2"))
    assert (support.verdict, support.obstacles) == ("runs", ())
