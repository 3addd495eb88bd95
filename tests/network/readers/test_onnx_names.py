"""What layers of ONNX models are called."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.network.readers.onnx_models import Case
from tilesim.errors import ModelError
from tilesim.network.readers import read


def names(case: Case) -> list[str]:
    case.write((1, 4), (1, 4))
    return [node.name for node in read(case.path).nodes]


def pairs(tmp_path: Path, relu: str = "", last: str = "", quantise: str = "") -> Case:
    """Two rescalings of pairs, a Relu and a LeakyRelu, with names for these and the last QuantizeLinear."""
    case = Case(0, np.int8, tmp_path)
    q = case.quantisation("q", 0.1, zero_point=0)
    case.model.node("DequantizeLinear", ["x", *q], "xr", name="first")
    case.model.node("LeakyRelu", ["xr"], "a_r", name=last)
    case.model.node("Relu", ["a_r"], "b_r", name=relu)
    case.model.node("QuantizeLinear", ["b_r", *q], "b", name=quantise)
    case.model.node("DequantizeLinear", ["b", *q], "c_r", name="second")
    case.model.node("Sigmoid", ["c_r"], "d_r")
    case.model.node("QuantizeLinear", ["d_r", *q], "y")
    return case


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ({"last": "leaky", "relu": "relu", "quantise": "q"}, "leaky"),
        ({"relu": "relu", "quantise": "q"}, "b"),
        ({}, "b"),
        ({"last": "second"}, "b"),
        ({"last": "y"}, "y"),
    ],
    ids=["fused", "only what follows is named", "nothing is named", "not the only one", "as another's output"],
)
def test_a_layer_of_pairs_is_called_as_its_operator(words: dict[str, str], name: str, tmp_path: Path) -> None:
    assert names(pairs(tmp_path, **words)) == [name, "y"]


def test_what_only_quantises_is_called_as_its_node(tmp_path: Path) -> None:
    case = Case(0, np.int8, tmp_path)
    q, wider = case.quantisation("q", 0.1, zero_point=0), case.quantisation("wider", 0.2, zero_point=0)
    case.model.node("DequantizeLinear", ["x", *q], "xr", name="in")
    case.model.node("QuantizeLinear", ["xr", *wider], "a", name="narrow")
    case.model.node("DequantizeLinear", ["a", *wider], "ar", name="between")
    case.model.node("Relu", ["ar"], "br", name="relu")
    case.model.node("QuantizeLinear", ["br", *wider], "y", name="out")
    assert names(case) == ["narrow", "relu"]


def test_of_two_layers_of_one_node_the_first_has_its_name(tmp_path: Path) -> None:
    case = Case(0, np.int8, tmp_path)
    q, wider = case.quantisation("q", 0.1, zero_point=0), case.quantisation("wider", 0.2, zero_point=0)
    case.model.node("DequantizeLinear", ["x", *q], "xr")
    case.model.node("Sigmoid", ["xr"], "sr", name="sigmoid")
    case.model.node("QuantizeLinear", ["sr", *q], "a")
    case.model.node("QuantizeLinear", ["sr", *wider], "b")
    case.model.node("QLinearAdd", ["a", *q, "b", *wider, *q], "y", "com.microsoft", name="sum_quant")
    assert names(case) == ["sigmoid", "b", "sum_quant"]


@pytest.mark.parametrize("name", [b"leaky", b"c_r", b"Sigmoid", b"q_scale"])
def test_a_name_that_is_no_text_is_refused(name: bytes, tmp_path: Path) -> None:
    case = pairs(tmp_path, last="leaky")
    case.write((1, 4), (1, 4))
    case.path.write_bytes(case.path.read_bytes().replace(name, name[:-1] + b"\xff"))
    with pytest.raises(ModelError) as caught:
        read(case.path)
    assert str(caught.value) == f"{case.path}: must have names in UTF-8, not {name[:-1] + bytes([255])!r}"
