"""Transposed convolutions against a plain loop over their definition."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tilesim.arithmetic.requantise import requantise, saturate
from tilesim.errors import ArrayError
from tilesim.network.graph import Tensor
from tilesim.network.operators import TransposeConvolution

LIMITS = (-32768, 32767)


def loops(op: TransposeConvolution, x: Any, w: Any, bias: Any) -> Any:
    """Sums, product by product."""
    outputs, height, width, channels = w.shape
    sums = np.zeros((x.shape[0], *op.size, outputs), np.int64) + bias
    places = itertools.product(*map(range, (*x.shape[:3], height, width)))
    for n, y, z, ky, kx in places:
        row, column = y * op.strides[0] + ky - op.cropped[0], z * op.strides[1] + kx - op.cropped[1]
        if 0 <= row < op.size[0] and 0 <= column < op.size[1]:
            for o, c in itertools.product(range(outputs), range(channels)):
                product = (int(x[n, y, z, c]) - op.input_zero_point) * (int(w[o, ky, kx, c]) - op.weight_zero_point)
                sums[n, row, column, o] += product
    return sums


def operator(strides: tuple[int, int], cropped: tuple[int, int], size: tuple[int, int]) -> TransposeConvolution:
    rng = np.random.default_rng(size[0])
    factors = rng.integers(1 << 30, 1 << 31, 5).astype(np.int32), np.full(5, -12, np.int32)
    return TransposeConvolution(strides, cropped, size, -7, 5, 3, "double", *factors, (-128, 127))


@pytest.mark.parametrize(
    ("strides", "cropped", "size"),
    [((1, 1), (0, 0), (5, 5)), ((2, 3), (0, 0), (7, 11)), ((2, 1), (1, 0), (6, 4)), ((1, 4), (1, 1), (3, 16))],
)
@pytest.mark.parametrize("sums", [np.int32, np.int64])
def test_every_product_lands_where_it_should(
    strides: tuple[int, int], cropped: tuple[int, int], size: tuple[int, int], sums: Any
) -> None:
    rng = np.random.default_rng(0)
    x, w = (rng.integers(-128, 128, shape).astype(np.int8) for shape in ((2, 3, 4, 6), (5, 3, 2, 6)))
    bias = rng.integers(-500, 500, 5).astype(sums)
    op = operator(strides, cropped, size)
    expected = requantise("double", loops(op, x, w, bias).astype(np.int32), op.multiplier, op.shift)
    np.testing.assert_array_equal(op.evaluate([x, w, bias]), saturate(expected, 3, (-128, 127), np.int8))


def test_sums_of_int16_may_be_beyond_32_bits() -> None:
    x, w = np.full((1, 1, 1, 999), -32768, np.int16), np.full((5, 1, 1, 999), -128, np.int8)
    op = replace(operator((1, 1), (0, 0), (1, 1)), input_zero_point=0, weight_zero_point=0, rule="long")
    op = replace(op, multiplier=np.full(5, 1 << 30, np.int32), shift=np.full(5, -17, np.int32), clamp=LIMITS)
    sum_ = 999 * 32768 * 128 + 65536
    assert op.evaluate([x, w, np.full(5, 65536, np.int64)]).reshape(-1).tolist() == [round(sum_ / (1 << 18)) + 3] * 5


def test_a_shape_among_the_inputs_must_be_the_output_s() -> None:
    op = operator((1, 1), (0, 0), (2, 2))
    inputs = [np.zeros((1, 2, 2, 1), np.int8), np.zeros((5, 1, 1, 1), np.int8), np.zeros(5, np.int32)]
    assert op.evaluate([*inputs, np.array([1, 2, 2, 5], np.int32)]).shape == (1, 2, 2, 5)
    with pytest.raises(ArrayError, match=r"must be \[1, 2, 2, 5\], not \[1, 2, 3, 5\]"):
        op.evaluate([*inputs, np.array([1, 2, 3, 5], np.int32)])


def test_macs() -> None:
    x, w, y = (Tensor(k, "t", np.dtype(np.int8), shape) for k, shape in enumerate(((1, 3, 4, 6), (5, 3, 2, 6), (1,))))
    assert operator((1, 1), (0, 0), (5, 5)).macs([x, w], y) == 12 * 5 * 6 * 6
