"""Hostile .onnx files: what they hold is counted first, and each fault is a sentence."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.network.readers.onnx_models import Case
from tilesim.errors import ModelError
from tilesim.network.readers import read


def faults(path: Path) -> list[str]:
    with pytest.raises(ModelError) as caught:
        read(path)
    return [fault.removeprefix(f"{path}: ") for fault in caught.value.faults]


def message(number: int, content: bytes) -> bytes:
    """A field of a protocol buffer that has a length."""
    length = b""
    size = len(content)
    while size > 127:
        length, size = length + bytes([size & 127 | 128]), size >> 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + content


MODEL_GRAPH, GRAPH_NODE, GRAPH_INITIALIZER, NODE_OUTPUT = 7, 1, 5, 2


@pytest.mark.parametrize(
    ("graph", "fault"),
    [
        (message(GRAPH_NODE, b"") * 5000, "must have at most 4096 fields"),
        (message(GRAPH_NODE, message(NODE_OUTPUT, b"") * 5000), "must have at most 4096 fields"),
        (message(GRAPH_NODE, b"") * 17, "must have at most 16 nodes, not 17"),
        (message(GRAPH_INITIALIZER, message(5, b"\1" * 5000)), "and 4096 numbers that are not raw bytes"),
        (message(GRAPH_INITIALIZER, message(4, bytes(5000 * 4))), "and 4096 numbers that are not raw bytes"),
        (message(GRAPH_INITIALIZER, message(9, bytes(5000))), "must be a valid ONNX model"),
        (message(GRAPH_NODE, b"\2\xff\xff"), "must be a valid ONNX model"),
    ],
    ids=map(str, count()),
)
def test_what_a_file_holds_is_counted_before_it_is_parsed(
    graph: bytes, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("onnx_file.MOST_MODEL_FIELDS", "onnx_file.MOST_MODEL_NUMBERS"):
        monkeypatch.setattr(f"tilesim.network.readers.{name}", 4096)
    monkeypatch.setattr("tilesim.network.readers.onnx.MOST_OPERATORS", 16)
    path = tmp_path / "model.onnx"
    path.write_bytes(message(MODEL_GRAPH, graph))
    (sentence,) = faults(path)
    assert fault in sentence


def test_a_file_of_many_gigabytes_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    assert faults(path) == ["must have at most 256 MiB, not 1024 GiB"]


def test_an_output_has_a_name(tmp_path: Path) -> None:
    case = Case(0, np.int8, tmp_path)
    x = case.quantisation("x", 0.1, zero_point=0)
    for output in ("", "y"):  # of operators that are not its own, ONNX's checker knows nothing
        case.model.node("QLinearAdd", ["x", *x, "x", *x, *x], output, "com.microsoft")
    case.model.save(case.path, [1, 4], [1, 4], 3, 3)
    assert faults(case.path) == ["node 0 (QLinearAdd): must have 1 output, not 0"]


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128, np.str_])
def test_constants_are_plain_numbers(dtype: Any, tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    case = Case(0, np.int8, tmp_path)
    case.model.constant("scale", np.ones(1).astype(dtype))
    case.model.node("DequantizeLinear", ["x", "scale"], "y")
    case.model.save(case.path, [1, 4], [1, 4], 3, 1)
    (fault,) = faults(case.path)
    assert fault.startswith("constant scale: must be of plain numbers, not of ")
    assert not recwarn.list


def test_weights_that_many_operators_share_count_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilesim.network.readers.builder.LARGEST_CONSTANTS_BYTES", 1 << 20)
    case = Case(0, np.int8, tmp_path)
    x, w = case.quantisation("x", 0.1, zero_point=0), case.quantisation("w", 0.1, zero_point=0)
    case.model.constant("w", np.zeros((64, 256), np.int8))
    for k in range(65):
        case.model.node("QLinearMatMul", ["x", *x, "w", *w, *x], f"y{k}")
    case.model.node("Identity", ["y0"], "y")
    case.model.save(case.path, [1, 64], [1, 256], 3, 3)
    assert any("must read at most 1 MiB of constants" in fault for fault in faults(case.path))
