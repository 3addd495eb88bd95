"""Strided slices against Python's."""

from __future__ import annotations

import numpy as np
import pytest

from tilesim.network.operators import StridedSlice

X = np.arange(2 * 5 * 6 * 3, dtype=np.int16).reshape(2, 5, 6, 3)


@pytest.mark.parametrize(
    ("begin", "strides", "size", "cut"),
    [
        ((0, 0, 0, 0), (1, 1, 1, 1), (1, 5, 6, 3), np.s_[:]),
        ((0, 1, 0, 2), (1, 2, 3, 1), (1, 2, 2, 1), np.s_[:, 1:5:2, ::3, 2:]),
        ((0, 4, 5, 2), (1, -1, -2, -2), (1, 5, 3, 2), np.s_[:, ::-1, ::-2, ::-2]),
    ],
)
def test_forwards_and_backwards(
    begin: tuple[int, ...], strides: tuple[int, ...], size: tuple[int, ...], cut: tuple[slice, ...]
) -> None:
    np.testing.assert_array_equal(StridedSlice(begin, strides, size, size).evaluate([X]), X[cut])


def test_axes_go() -> None:
    op = StridedSlice((0, 2, 0, 1), (1, 1, 1, 1), (1, 1, 6, 1), (1, 6))
    np.testing.assert_array_equal(op.evaluate([X]), X[:, 2, :, 1])
