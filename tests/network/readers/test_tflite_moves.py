"""TensorFlow Lite operators that move numbers and change shapes: what they become, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from tests.network.readers.test_tflite_operators import File
from tilesim.network.graph import Network

X = np.arange(24).reshape(2, 3, 4)


def kinds(network: Network) -> list[str]:
    return [node.kind for node in network.nodes]


def turned(*axes: int, shape: tuple[int, ...] = (2, 3, 4)) -> File:
    return File("TRANSPOSE").input(shape, 1, 0).constant(axes).output([shape[axis] for axis in axes], 1, 0)


def test_any_order_of_axes() -> None:
    np.testing.assert_array_equal(turned(2, 0, -2).run(X)[0], X.transpose(2, 0, 1))


@pytest.mark.parametrize(
    ("axes", "shape", "kind"),
    [
        ((0, 2, 1), (1, 1, 4), "reshape"),
        ((1, 0, 2), (1, 1, 4), "reshape"),
        ((0, 1, 2), (2, 3, 4), "reshape"),
        ((1, 0, 2), (1, 3, 4), "transpose"),
        ((0, 2, 1), (1, 3, 4), "transpose"),
    ],
)
def test_axes_of_one_element_move_for_nothing(axes: tuple[int, ...], shape: tuple[int, ...], kind: str) -> None:
    """But the first axis is that of the samples, which no reshape makes another."""
    assert kinds(turned(*axes, shape=shape).network()) == [kind]


def test_numbers_without_a_scale_move_too() -> None:
    for dtype in (np.int32, np.int64, np.float32):
        file = File("TRANSPOSE").input((2, 3), 0, 0, dtype).constant([1, 0]).output((3, 2), 0, 0, dtype)
        assert file.run(X[0, :2, :3])[0].tolist() == X[0, :2, :3].T.tolist()


def test_parts_along_the_first_axis() -> None:
    file = File("SPLIT", {"NumSplits": 2}).constant(0).input((2, 3, 4), 1, 0)
    file.output((1, 3, 4), 1, 0).output((1, 3, 4), 1, 0)
    assert kinds(file.network()) == ["part", "part"]
    for made, wanted in zip(file.run(X), X, strict=True):
        np.testing.assert_array_equal(made[0], wanted)


def test_parts_of_sizes_that_are_given() -> None:
    file = File("SPLIT_V").input((2, 3, 4), 1, 0).constant([1, -1]).constant(2)
    first, second = file.output((2, 3, 1), 1, 0).output((2, 3, 3), 1, 0).run(X)
    np.testing.assert_array_equal(np.concatenate([first, second], axis=2), X)


def test_a_slice_along_the_first_axis_is_a_layer_of_its_own() -> None:
    file = File("SLICE").input((2, 3, 4), 1, 0).constant([1, 0, 2]).constant([1, 3, 2]).output((1, 3, 2), 1, 0)
    assert kinds(file.network()) == ["part", "slice"]
    np.testing.assert_array_equal(file.run(X)[0], X[1:, :, 2:])
    options = dict.fromkeys(("BeginMask", "EndMask", "EllipsisMask", "NewAxisMask", "Offset"), 0)
    file = File("STRIDED_SLICE", {**options, "ShrinkAxisMask": 1}).input((2, 3, 4), 1, 0)
    file.constant([1, 0, 0]).constant([2, 3, 4]).constant([1, 2, 1]).output((2, 4), 1, 0)
    np.testing.assert_array_equal(file.run(X)[0], X[1, ::2])


@pytest.mark.parametrize("axis", range(4))
def test_tensors_side_by_side_and_apart(axis: int) -> None:
    shape = (*X.shape[:axis], 2, *X.shape[axis:])
    file = File("PACK", {"Axis": axis - 4}).input((2, 3, 4), 1, 0).constant(X + 50, np.int8, 1.0).output(shape, 1, 0)
    both = np.stack([X, X + 50], axis)
    np.testing.assert_array_equal(file.run(X)[0], both)
    file = File("UNPACK", {"Axis": axis}).input(shape, 1, 0).output(X.shape, 1, 0).output(X.shape, 1, 0)
    for made, wanted in zip(file.run(both), (X, X + 50), strict=True):
        np.testing.assert_array_equal(made, wanted)


def test_elements_by_their_places() -> None:
    file = (
        File("GATHER", {"Axis": 1, "BatchDims": 0}).input((2, 3, 4), 1, 0).constant([[2, 0]]).output((2, 1, 2, 4), 1, 0)
    )
    np.testing.assert_array_equal(file.run(X)[0], X[:, [[2, 0]]])
    file = File("GATHER_ND").input((2, 3, 4), 1, 0).constant([[1, 2], [0, 0]]).output((2, 4), 1, 0)
    np.testing.assert_array_equal(file.run(X)[0], X[[1, 0], [2, 0]])
    rows = File("GATHER", {"Axis": 0, "BatchDims": 0}).constant(X, np.int8, 1.0).input((2,), 0, 0, np.int32)
    np.testing.assert_array_equal(rows.output((2, 3, 4), 1, 0).run([1, 1])[0], X[[1, 1]])


def test_a_cast_is_of_the_integers_whatever_they_stand_for() -> None:
    file = File("CAST").input((1, 3), 0.25, 7).output((1, 3), 0, 0, np.float32)
    assert file.run([-128, 0, 5])[0].tolist() == [[-128.0, 0.0, 5.0]]
    file = File("CAST").input((1, 3), 0, 0, np.int32).output((1, 3), 0, 0, np.uint8)
    assert file.run([-1, 256, 5])[0].tolist() == [[255, 0, 5]]


def test_the_largest_along_any_axis() -> None:
    x = np.random.default_rng(1).integers(-9, 9, X.shape)
    for axis in range(3):
        shape = (*X.shape[:axis], *X.shape[axis + 1 :])
        file = File("ARG_MAX", {"OutputType": 2}).input((2, 3, 4), 1, 0).constant(axis).output(shape, 0, 0, np.int32)
        np.testing.assert_array_equal(file.run(x)[0], x.argmax(axis))


def test_the_larger_and_the_smaller() -> None:
    for kind, wanted in (("MAXIMUM", [4, 5]), ("MINIMUM", [1, 4])):
        assert File(kind).input((1, 2), 1, 0).input((1, 2), 1, 0).output((1, 2), 1, 0).run([4, 4], [1, 5])[
            0
        ].tolist() == [wanted]
    number = File("MAXIMUM").input((1, 2), 1, 0).constant(3, np.int8, 1.0).output((1, 2), 1, 0)
    assert (kinds(number.network()), number.run([1, 9])[0].tolist()) == (["table"], [[3, 9]])


def test_shapes_that_are_computed_are_constants() -> None:
    file = File("SHAPE").input((2, 3, 4), 1, 0).output((3,), 0, 0, np.int32)
    assert file.run(X)[0].tolist() == [2, 3, 4]
    assert kinds(file.network()) == ["reshape"]


@pytest.mark.parametrize(
    ("file", "fault"),
    [
        (turned(0, 1), "its order of axes t1 must have shape [3], not [2]"),
        (turned(0, 0, 1), "its order must name each of 6 axes at most once, not be [0, 0, 1]"),
        (turned(0, 1, 2).output((2, 3, 4), 1, 0), "must write 1 tensors, not 2"),
        (
            File("TRANSPOSE").input((2, 3), 1, 0).constant([1, 0]).output((3, 2), 1, 0, np.int16),
            "t2 must be int8 like t0, not int16",
        ),
        (
            File("TRANSPOSE").input((2, 3), 1, 0).constant([1, 0]).output((3, 2), 2, 0),
            "t2 must have the scale and zero point of t0, 1 and 0, not 2 and 0",
        ),
        (
            File("TILE").input((2, 3), 1, 0).constant([1, 0]).output((2, 3), 1, 0),
            "its multiples must be at least 1 and make at most 268435456 elements, not [1, 0]",
        ),
        (
            File("TILE").input((2, 3), 1, 0).constant([1 << 20, 1 << 20]).output((2, 3), 1, 0),
            "its multiples must be at least 1 and make at most 268435456 elements, not [1048576, 1048576]",
        ),
        (
            File("GATHER", {"Axis": 1, "BatchDims": 0}).input((2, 3), 1, 0).constant([3]).output((2, 1), 1, 0),
            "its places t1: places must be from 0 to 2, not from 3 to 3",
        ),
        (
            File("GATHER", {"Axis": 1, "BatchDims": 1}).input((2, 3), 1, 0).constant([[0]]).output((2, 1), 1, 0),
            "must share the first axes of t0 and t1, up to its axis 1, not 1 of shapes [2, 3] and [1, 1]",
        ),
        (
            File("GATHER_ND").input((2, 3), 1, 0).constant([[0, 3]]).output((1,), 1, 0),
            "its places t1: places must be from 0 to 2, not from 3 to 3",
        ),
        (
            File("GATHER_ND").input((2, 3), 1, 0).constant([[0, 1, 1]]).output((1,), 1, 0),
            "t1 must have places along 1 to 2 axes, not 3",
        ),
        (
            File("GATHER", {"Axis": 1, "BatchDims": 0})
            .input((2, 3), 1, 0).constant([0], np.int8, 1).output((2, 1), 1, 0),
            "its places t1 must be int32 or int64, not int8",
        ),
        (
            File("CAST").input((1, 3), 0, 0, np.float32).output((1, 3), 0, 0, np.int32),
            "t0 must be integers, not float32",
        ),
        (
            File("DEPTH_TO_SPACE", {"BlockSize": 2}).input((1, 1, 1, 6), 1, 0).output((1, 2, 2, 1), 1, 0),
            "t0 must have a multiple of 4 channels, not 6",
        ),
        (
            File("SPACE_TO_DEPTH", {"BlockSize": 2}).input((1, 3, 2, 1), 1, 0).output((1, 1, 1, 4), 1, 0),
            "t0 must have multiples of 2 rows and columns, not 3 and 2",
        ),
        (
            File("SPACE_TO_DEPTH", {"BlockSize": 0}).input((1, 3, 2, 1), 1, 0).output((1, 1, 1, 4), 1, 0),
            "must work on a map of 4 axes, by blocks of at least 1, not on [1, 3, 2, 1] by 0",
        ),
        (
            File("SPLIT_V").input((2, 3), 1, 0).constant([1, 1]).constant(1).output((2, 1), 1, 0).output((2, 1), 1, 0),
            "must cut the 3 elements of axis 1 into its sizes, not into [1, 1]",
        ),
        (
            File("UNPACK", {"Axis": 1}).input((2, 3), 1, 0).output((2,), 1, 0),
            "must write 3 tensors, one an element of axis 1, not 1",
        ),
        (
            File("PACK", {"Axis": 0}).input((2, 3), 1, 0).input((2, 2), 1, 0).output((2, 2, 3), 1, 0),
            "t1 must have shape [2, 3] like t0, not [2, 2]",
        ),
        (
            File("EXPAND_DIMS").input((2, 3), 1, 0).constant([0, 1]).output((1, 2, 3), 1, 0),
            "its axis must be one number, not 2",
        ),
        (
            File("RESIZE_BILINEAR", {"AlignCorners": 1, "HalfPixelCenters": 1})
            .input((1, 2, 2, 1), 1, 0).constant([4, 4]).output((1, 4, 4, 1), 1, 0),
            "must not both align corners and count from the middle of pixels",
        ),
        (
            File("ARG_MAX", {"OutputType": 2}).input((3,), 1, 0).constant(0).output((), 0, 0, np.int32),
            "t2 must have at least 1 axis, unless it is a constant",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_a_sentence(file: File, fault: str) -> None:
    assert file.faults() == [fault]
