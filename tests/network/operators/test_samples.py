"""Operators that only move numbers, against NumPy; of several samples each is as it would be alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tilesim.errors import ArrayError
from tilesim.network.graph import Operator
from tilesim.network.operators import (
    ArgMax,
    BatchMatmul,
    Cast,
    Concatenation,
    DepthToSpace,
    Gather,
    GatherNd,
    Maximum,
    Minimum,
    Part,
    SpaceToDepth,
    Stack,
    Tile,
    Transpose,
)

Array = NDArray[Any]
X = np.arange(2 * 3 * 4, dtype=np.int16).reshape(2, 3, 4)
MAP = np.arange(4 * 6 * 8, dtype=np.int16).reshape(1, 4, 6, 8)
PLACES = np.array([[2, 0], [1, 1]])
ROWS = np.array([1, 0, 1], np.int64)

MOVES: list[tuple[Operator, list[Array], Array]] = [
    (Transpose((2, 0, 1), 2), [X], X.transpose(2, 0, 1)),
    (Transpose((0, 2, 1), 2), [X], X.transpose(0, 2, 1)),
    (Part(2, 1, 1, 1), [X], X[1:]),
    (Part(2, 1, -1, 2), [X], X[::-1]),
    (Stack((2, 2)), [X, X + 100], np.concatenate([X, X + 100])),
    (Tile((2, 1, 3), 2), [X], np.tile(X, (2, 1, 3))),
    (Gather(1, 0, (2, 2)), [X, PLACES], X[:, PLACES]),
    (Gather(1, 1, (2, 2)), [X, PLACES], np.stack([X[0, [2, 0]], X[1, [1, 1]]])),
    (Gather(0, 0, (2, 3)), [X, ROWS], X[[1, 0, 1]]),
    (GatherNd((2, 2)), [X, np.array([[1, 2], [0, 1]])], np.stack([X[1, 2], X[0, 1]])),
    (
        DepthToSpace(2),
        [MAP[:, :1, :2]],
        np.array([[[0, 1], [2, 3], [8, 9], [10, 11]], [[4, 5], [6, 7], [12, 13], [14, 15]]])[None],
    ),
    (DepthToSpace(2, channels_first=True), [MAP[:, :1, :1]], np.array([[[0, 4], [1, 5]], [[2, 6], [3, 7]]])[None]),
    (SpaceToDepth(2), [MAP[..., :1]], MAP[..., 0].reshape(1, 2, 2, 3, 2).transpose(0, 1, 3, 2, 4).reshape(1, 2, 3, 4)),
    (Minimum(), [X, X[::-1]], np.minimum(X, X[::-1])),
    (Maximum(), [X, X[::-1]], np.maximum(X, X[::-1])),
    (Cast(np.dtype(np.int8)), [X * 100], (X * 100).astype(np.int8)),
    (ArgMax(np.dtype(np.int64)), [X], np.full((2, 3), 3)),
]


@pytest.mark.parametrize(("operator", "inputs", "wanted"), MOVES)
def test_one_sample_and_three(operator: Operator, inputs: list[Array], wanted: Array) -> None:
    made = operator.evaluate(inputs)
    np.testing.assert_array_equal(made, wanted)
    assert made.shape == wanted.shape
    others = [[np.roll(x, k, axis=0) for x in inputs] for k in range(3)]
    together = operator.evaluate([np.concatenate(each) for each in zip(*others, strict=True)])
    np.testing.assert_array_equal(together, np.concatenate([operator.evaluate(each) for each in others]))


def test_constants_go_with_every_sample() -> None:
    two = np.concatenate([X, X + 50])
    np.testing.assert_array_equal(Gather(1, 0, (2, 0)).evaluate([two, np.array([2])]), two[:, [2]])
    np.testing.assert_array_equal(Gather(0, 0, (0, 1)).evaluate([X, np.array([1, 0, 1])]), X[[1, 0, 1]])
    np.testing.assert_array_equal(Stack((2, 0)).evaluate([two, X]), np.concatenate([X, X, X + 50, X]))
    np.testing.assert_array_equal(
        Concatenation(1).evaluate([two, X]), np.concatenate([two, np.concatenate([X, X])], axis=1)
    )


@pytest.mark.parametrize(
    ("operator", "places"), [(Gather(1, 0, (2, 0)), np.array([3])), (GatherNd((2, 0)), np.array([[1, 3]]))]
)
def test_places_that_are_not_there(operator: Operator, places: Array) -> None:
    with pytest.raises(ArrayError, match="places must be from 0 to 2, not from 3 to 3"):
        operator.evaluate([X, places])


@pytest.mark.parametrize(("turned", "a_shape", "b_shape"), [
    ((False, False), (2, 3, 5), (2, 5, 4)),
    ((True, False), (2, 5, 3), (1, 5, 4)),
    ((False, True), (2, 3, 5), (2, 4, 5)),
])  # fmt: skip
def test_products_of_matrices(turned: tuple[bool, bool], a_shape: tuple[int, ...], b_shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-128, 128, shape).astype(np.int8) for shape in (a_shape, b_shape))
    op = BatchMatmul(
        turned, (3, -5, 7), "double", 1 << 30, -7, (-128, 127), np.dtype(np.int32), (a_shape[0], b_shape[0])
    )
    left, right = (np.swapaxes(x, 1, 2) if turn else x for x, turn in zip((a, b), turned, strict=True))
    sums = (left.astype(np.int64) - 3) @ (right.astype(np.int64) + 5)
    made = op.evaluate([a, b])
    assert np.abs(made - np.clip(sums / 256 + 7, -128, 127)).max() <= 0.5
    twice = op.evaluate([np.concatenate([a, a]), np.concatenate([b, b])])
    np.testing.assert_array_equal(twice, np.concatenate([made, made]))
