"""ONNX operators that move numbers: in what order they leave a tensor, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto

import tilesim
from tests.network.readers.onnx_models import ModelBuilder, run_reference
from tilesim.errors import ModelError
from tilesim.network.graph import Network

X = np.arange(2 * 3 * 4, dtype=np.int8).reshape(1, 2, 3, 4)


class Moves:
    """Operators one after the other on integers, from ``x``."""

    def __init__(self, *nodes: tuple[str, list[Any], dict[str, Any]]) -> None:
        self.model, name = ModelBuilder(), "x"
        for number, (kind, constants, attributes) in enumerate(nodes):
            names = [self.model.constant(f"c{number}_{k}", np.array(values)) for k, values in enumerate(constants)]
            name = self.model.node(
                kind, [name, *names], "y" if number == len(nodes) - 1 else f"t{number}", **attributes
            )

    def network(self, path: Path, shape: tuple[int, ...] = X.shape, code: int = TensorProto.INT8) -> Network:
        file = path / "m.onnx"
        self.model.save(file, list(shape), [f"a{k}" for k in range(self.rank)], TensorProto.INT8, code)
        return tilesim.load_network(file)

    rank = 4

    def agrees(self, path: Path, x: Any = X, code: int = TensorProto.INT8) -> Network:
        network = self.network(path, x.shape, code)
        (index,), (given,) = network.outputs, network.inputs
        values = network.evaluate(network.tensors[given].from_model(x))
        made = network.tensors[index].to_model(values[index])
        np.testing.assert_array_equal(made, run_reference(path / "m.onnx", x))
        return network


def kinds(network: Network) -> list[str]:
    return [node.kind for node in network.nodes]


TRANSPOSE = ("Transpose", [], {"perm": [0, 2, 3, 1]})


def test_a_transpose_at_the_end_moves_nothing(tmp_path: Path) -> None:
    """The file's order is another one then, and the network's the same."""
    network = Moves(TRANSPOSE).agrees(tmp_path)
    assert kinds(network) == ["reshape"]
    output = network.tensors[network.outputs[0]]
    assert (output.shape, output.model_shape) == ((1, 3, 4, 2), (1, 3, 4, 2))


def test_heads_of_detectors_cost_nothing(tmp_path: Path) -> None:
    """Channels last, then in rows: that is how a map lies here anyway."""
    moves = Moves(TRANSPOSE, ("Reshape", [[1, -1, 2]], {}))
    moves.rank = 3
    assert kinds(moves.agrees(tmp_path)) == ["reshape", "reshape"]


def test_a_reshape_that_mixes_channels_is_a_transpose_before_it(tmp_path: Path) -> None:
    moves = Moves(("Reshape", [[1, 4, 6]], {}))
    moves.rank = 3
    assert kinds(moves.agrees(tmp_path)) == ["transpose", "reshape"]


def test_what_works_on_maps_gets_them_back(tmp_path: Path) -> None:
    pool = ("MaxPool", [], {"kernel_shape": [2, 2]})
    assert kinds(Moves(TRANSPOSE, pool).agrees(tmp_path)) == ["reshape", "transpose", "maxpool"]


def test_a_flattened_map_is_counted_as_the_file_does(tmp_path: Path) -> None:
    """Not only products take it: an output, and what follows."""
    moves = Moves(("Flatten", [], {}))
    moves.rank = 2
    assert kinds(moves.agrees(tmp_path)) == ["reshape", "reshape", "transpose", "reshape"]
    moves = Moves(("Flatten", [], {}), ("Slice", [[1], [9], [1], [2]], {}))
    moves.rank = 2
    moves.agrees(tmp_path)


@pytest.mark.parametrize(
    ("node", "rank"),
    [
        (("Slice", [[0, 1], [1 << 40, -1], [1, -1], [1, 2]], {}), 4),
        (("Gather", [[1, 0, -1]], {"axis": 1}), 4),
        (("Gather", [1], {"axis": 2}), 3),
        (("Tile", [[1, 2, 1, 3]], {}), 4),
        (("Squeeze", [[0]], {}), 3),
        (("Unsqueeze", [[1, -1]], {}), 6),
        (("SpaceToDepth", [], {"blocksize": 1}), 4),
        (("Resize", [[], [], [1, 2, 5, 2]], {"mode": "linear"}), 4),
        (("Resize", [[], [], [1, 2, 5, 2]], {"nearest_mode": "ceil"}), 4),
    ],
)
def test_each_against_onnx_runtime(node: tuple[str, list[Any], dict[str, Any]], rank: int, tmp_path: Path) -> None:
    kind, constants, attributes = node
    typed = [np.array(c, np.float32 if not np.size(c) else np.int64) for c in constants]
    moves = Moves((kind, typed, attributes))
    moves.rank = rank
    moves.agrees(tmp_path)


def test_the_largest_along_any_axis(tmp_path: Path) -> None:
    x = np.random.default_rng(1).integers(-5, 5, X.shape).astype(np.int8)
    for axis in range(4):
        for keeps in (0, 1):
            moves = Moves(("ArgMax", [], {"axis": axis, "keepdims": keeps}))
            moves.rank = 3 + keeps
            moves.agrees(tmp_path, x, TensorProto.INT64)


def test_places_as_other_numbers(tmp_path: Path) -> None:
    for code in (TensorProto.INT32, TensorProto.FLOAT):
        Moves(("ArgMax", [], {"axis": 1}), ("Cast", [], {"to": code})).agrees(tmp_path, code=code)


def test_a_shape_that_is_computed_is_a_constant(tmp_path: Path) -> None:
    model = ModelBuilder()
    model.node("Shape", ["x"], "shape", start=0, end=1)
    model.node("Gather", [model.node("Shape", ["x"], "all"), model.constant("one", np.int64(1))], "second", axis=0)
    model.node("Unsqueeze", ["second", model.constant("axes", int64(0))], "row")
    model.node("Cast", [model.constant("rest", np.array([-1], np.int32))], "last", to=TensorProto.INT64)
    model.node("Concat", ["shape", "row", "last"], "wanted", axis=0)
    model.node("Reshape", ["x", "wanted"], "y")
    path = model.save(tmp_path / "m.onnx", [1, 2, 3, 4], ["a", "b", "c"], TensorProto.INT8, TensorProto.INT8)
    network = tilesim.load_network(path)
    assert kinds(network) == ["transpose", "reshape"]
    values = network.evaluate(network.tensors[network.inputs[0]].from_model(X))
    np.testing.assert_array_equal(values[network.outputs[0]], run_reference(path, X))


def int64(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


@pytest.mark.parametrize(
    ("node", "fault"),
    [
        (("Transpose", [], {"perm": [0, 1, 2, 2]}), "perm must name each of 4 axes once, not be [0, 1, 2, 2]"),
        (("Reshape", [int64(5, -1)], {}), "cannot make shape [5, 4] of shape [1, 2, 3, 4]"),
        (("Squeeze", [int64(1)], {}), "must leave out axes of one element, and not all, not [1] of shape [1, 2, 3, 4]"),
        (("Slice", [int64(2), int64(2), int64(1)], {}), "must take some of the 2 elements of axis 1, not none"),
        (("Slice", [int64(0), int64(1), int64(4)], {}), "axis must be from -4 to 3, not 4"),
        (("Slice", [int64(0), int64(1, 2)], {}), "must have as many starts as ends, axes and steps, and no step of 0"),
        (("Gather", [int64(2)], {"axis": 1}), "its places must be whole numbers from -2 to 1"),
        (("Tile", [int64(1, 0, 1, 1)], {}), "its repeats must be 4 numbers of at least 1, not [1, 0, 1, 1]"),
        (
            ("DepthToSpace", [], {"blocksize": 2}),
            "must make blocks of 2 by 2 of 2 channels, by mode DCR or CRD, not DCR",
        ),
        (
            ("SpaceToDepth", [], {"blocksize": 2}),
            "must make channels of blocks of 2 by 2 of 3 rows and 4 columns",
        ),
        (
            ("Resize", [np.zeros(0, np.float32), np.array([1, 2, 1, 1], np.float32)], {}),
            "must make more or fewer rows and columns, and nothing else, not [1, 4, 3, 4] of [1, 2, 3, 4]",
        ),
        (
            ("Resize", [np.zeros(0, np.float32), np.ones(4, np.float32)], {"mode": "cubic"}),
            "must have mode nearest or linear",
        ),
        (
            ("Resize", [np.zeros(0, np.float32), np.ones(4, np.float32)],
             {"coordinate_transformation_mode": "tf_crop_and_resize"}),
            "must count places by one of align_corners, asymmetric, half_pixel, pytorch_half_pixel, not by tf_crop",
        ),
        (("ArgMax", [], {"axis": 4}), "axis must be from -4 to 3, of at least 2 axes, not 4"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_a_sentence(
    node: tuple[str, list[Any], dict[str, Any]], fault: str, tmp_path: Path
) -> None:
    with pytest.raises(ModelError) as caught:
        Moves(node).network(tmp_path)
    assert fault in caught.value.faults[0]
