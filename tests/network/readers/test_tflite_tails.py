"""Custom operators at the end of a model are cut off, and the network says so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tilesim
from tests.network.readers.tflite_models import tensor, write
from tilesim.errors import ModelError

TENSORS = [
    tensor("x", [1, 4]),
    tensor("a", [1, 4]),
    tensor("b", [1, 4], np.float32),
    tensor("boxes", [], np.float32),
    tensor("classes", [1, 0], np.float32),
    tensor("y", [1, 2], np.float32),
    tensor("anchors", [1, 4], np.float32, data=np.ones((1, 4), np.float32)),
]
ELU = ("ABS", [0], [1])
REAL = ("DEQUANTIZE", [1], [2])
TAIL = ("Detect", [2, 6, 1], [3, 4])


def test_what_goes_into_it_are_outputs(tmp_path: Path) -> None:
    """Behind another output; its own outputs have no size, which does not matter any more."""
    nodes = [("RESHAPE", [0], [1]), REAL, TAIL, ("SQUEEZE", [3], [5])]
    network = tilesim.load_network(write(tmp_path / "m.tflite", TENSORS, nodes, [0], [1, 4, 5]))
    assert [network.tensors[index].name for index in network.outputs] == ["a", "b"]
    (note,) = network.notes
    assert note == (
        "node 2 (custom operator Detect) is cut off, as nothing here computes it: outputs are what goes into it, b, a, "
        "and not boxes"
    )
    assert tilesim.support(tmp_path / "m.tflite").verdict == "is read"


def test_one_after_another(tmp_path: Path) -> None:
    nodes = [("RESHAPE", [0], [1]), ("Decode", [1], [2]), ("Detect", [2], [3, 4, 5])]
    network = tilesim.load_network(write(tmp_path / "m.tflite", TENSORS, nodes, [0], [5]))
    assert [network.tensors[index].name for index in network.outputs] == ["a"]
    assert [note.partition(" is")[0] for note in network.notes] == [
        "node 1 (custom operator Decode)",
        "node 2 (custom operator Detect)",
    ]


@pytest.mark.parametrize(
    "nodes",
    [
        [("Detect", [0], [1]), ("RELU", [1], [5])],
        [("Detect", [0], [5])],
        [("RESHAPE", [0], [1]), ("Detect", [1], [2]), ("SOFTMAX", [2], [5])],
    ],
)
def test_one_in_the_middle_or_alone_stays_an_obstacle(
    nodes: list[tuple[str, list[int], list[int]]], tmp_path: Path
) -> None:
    with pytest.raises(ModelError) as caught:
        tilesim.load_network(write(tmp_path / "m.tflite", TENSORS, nodes, [0], [5]))
    assert any("(custom operator Detect): the operator is not supported" in fault for fault in caught.value.faults)


def test_an_operator_that_is_only_unknown_is_not_cut_off(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"node 0 \(ABS\): the operator is not supported"):
        tilesim.load_network(write(tmp_path / "m.tflite", TENSORS, [ELU], [0], [1]))


def test_a_network_without_a_tail_has_no_notes() -> None:
    assert tilesim.load_network("digits").notes == ()
