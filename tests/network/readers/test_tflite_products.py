"""Fully connected layers of several rows, and products of matrices."""

from __future__ import annotations

import numpy as np
import pytest

from tests.network.readers.test_tflite_operators import File

WEIGHTS = np.arange(-4, 8).reshape(3, 4)


def rows(shape: tuple[int, ...], made: tuple[int, ...], keeps: int) -> File:
    options = {"FusedActivationFunction": 0, "WeightsFormat": 0, "KeepNumDims": keeps, "QuantizedBiasType": 0}
    file = File("FULLY_CONNECTED", options).input(shape, 1, 0)
    file = file.constant(WEIGHTS, np.int8, 1.0).constant([1, 2, 3], np.int32, 1.0)
    return file.output(made, 1, 0)


@pytest.mark.parametrize(
    ("shape", "made", "keeps", "kinds"),
    [
        ((1, 4), (1, 3), 0, ["fullyconnected"]),
        ((1, 1, 4), (1, 1, 3), 1, ["fullyconnected", "reshape"]),
        ((5, 4), (5, 3), 0, ["reshape", "convolution", "reshape"]),
        ((1, 5, 4), (1, 5, 3), 1, ["reshape", "convolution", "reshape"]),
        ((1, 5, 4), (5, 3), 0, ["reshape", "convolution", "reshape"]),
        ((1, 2, 3, 4), (1, 2, 3, 3), 1, ["convolution"]),
        ((1, 2, 3, 4), (6, 3), 0, ["convolution", "reshape"]),
        ((1, 2, 3, 2), (3, 3), 0, ["reshape", "convolution", "reshape"]),
    ],
)
def test_rows_are_pixels(shape: tuple[int, ...], made: tuple[int, ...], keeps: int, kinds: list[str]) -> None:
    x = np.random.default_rng(1).integers(-3, 4, shape)
    file = rows(shape, made, keeps)
    assert [node.kind for node in file.network().nodes] == kinds
    np.testing.assert_array_equal(file.run(x)[0], (x.reshape(-1, 4) @ WEIGHTS.T + [1, 2, 3]).reshape(made))


def test_every_row_is_counted() -> None:
    assert rows((1, 5, 4), (1, 5, 3), 1).network().macs == 5 * 3 * 4


def matrices(a: tuple[int, ...], b: tuple[int, ...], made: tuple[int, ...], **options: int) -> File:
    file = File("BATCH_MATMUL", {"AdjX": 0, "AdjY": 0, **options})
    return file.input(a, 1, 0).input(b, 1, 0).output(made, 1, 0)


def test_matrices_by_hand() -> None:
    assert matrices((1, 2), (2, 1), (1, 1)).run([[3, 4]], [[5], [-6]])[0].tolist() == [[-9]]
    assert matrices((2, 1), (1, 2), (1, 1), AdjX=1, AdjY=1).run([[3], [4]], [[5, -6]])[0].tolist() == [[-9]]
    assert matrices((2, 3, 4), (1, 4, 5), (2, 3, 5)).network().macs == 2 * 3 * 4 * 5


@pytest.mark.parametrize(
    ("file", "fault"),
    [
        (rows((1, 5), (1, 3), 0), "t0 of shape [1, 5] must divide into rows of 4"),
        (rows((1, 4, 1), (1, 4, 3), 1), "t0 of shape [1, 4, 1] must divide into rows of 4"),
        (
            matrices((1, 2), (3, 1), (1, 1)),
            "matrices of shapes [1, 2] and [3, 1] must suit each other",
        ),
        (
            matrices((2, 1, 2), (3, 2, 1), (2, 1, 1)),
            "matrices of shapes [2, 1, 2] and [3, 2, 1] must suit each other",
        ),
        (matrices((2,), (2, 1), (1,)), "t0 and t1 must have at least 2 axes"),
        (
            File("BATCH_MATMUL", {"AdjX": 0, "AdjY": 0})
            .input((1, 1), 1, 0, np.uint8).input((1, 1), 1, 0, np.uint8).output((1, 1), 1, 0, np.uint8),
            "t0 and t1 must be int8, not uint8 and uint8",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_a_sentence(file: File, fault: str) -> None:
    assert file.faults() == [fault]
