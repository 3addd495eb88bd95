"""Each operator against a plain loop over its definition."""

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from tilesim.arithmetic.requantise import float_bits, requantise, saturate
from tilesim.network.graph import Tensor
from tilesim.network.operators import (
    ArgMax,
    AveragePool,
    Convolution,
    DepthwiseConvolution,
    Dequantise,
    FullyConnected,
    MaxPool,
    Padding,
    Quantise,
    Rescale,
    TopK,
)

CLAMP = (-128, 127)


def finish(sums: NDArray[np.int64], factors: tuple[NDArray[np.int32], NDArray[np.int32]]) -> NDArray[np.int8]:
    return saturate(requantise("double", sums.astype(np.int32), *factors), 3, CLAMP, np.int8)


def loops(x, w, bias, strides, padding, dilations, groups, zero_points, shape):
    """Sums of a grouped convolution, element by element; w is (O, kH, kW, C / groups)."""
    sums = np.zeros(shape, np.int64) + bias
    outputs, height, width, per_group = w.shape
    for n, oy, ox, o, ky, kx, c in itertools.product(*map(range, (*shape, height, width, per_group))):
        y = oy * strides[0] + ky * dilations[0] - padding.top
        z = ox * strides[1] + kx * dilations[1] - padding.left
        if 0 <= y < x.shape[1] and 0 <= z < x.shape[2]:
            channel = o // (outputs // groups) * per_group + c
            sums[n, oy, ox, o] += (int(x[n, y, z, channel]) - zero_points[0]) * (int(w[o, ky, kx, c]) - zero_points[1])
    return sums


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize(("strides", "dilations"), [((1, 1), (1, 1)), ((2, 1), (1, 2))])
def test_convolutions(groups: int, strides: tuple[int, int], dilations: tuple[int, int]) -> None:
    rng = np.random.default_rng(groups)
    padding = Padding(1, 0, 2, 1)
    x = rng.integers(-128, 128, (2, 5, 6, 4)).astype(np.int8)
    w = rng.integers(-128, 128, (8, 3, 2, 4 // groups)).astype(np.int8)
    bias = rng.integers(-500, 500, 8).astype(np.int32)
    factors = rng.integers(1 << 30, 1 << 31, 8).astype(np.int32), np.full(8, -9, np.int32)
    operator = Convolution(strides, padding, dilations, groups, -7, 5, 3, "double", *factors, CLAMP)
    y = operator.evaluate([x, w, bias])
    expected = finish(loops(x, w, bias, strides, padding, dilations, groups, (-7, 5), y.shape), factors)
    np.testing.assert_array_equal(y, expected)
    output = Tensor(1, "y", y.dtype, y.shape)
    assert operator.macs([output, Tensor(0, "w", w.dtype, w.shape)], output) == y.size * 6 * 4 // groups
    if groups == 4:
        depthwise = DepthwiseConvolution(strides, padding, dilations, -7, 5, 3, "double", *factors, CLAMP)
        np.testing.assert_array_equal(depthwise.evaluate([x, w[..., 0].transpose(1, 2, 0), bias]), expected)


@pytest.mark.parametrize("groups", [1, 4])
def test_sums_of_int16_may_be_beyond_32_bits(groups: int) -> None:
    x, w = np.full((1, 9, 9, 4), -32768, np.int16), np.full((4, 9, 9, 4 // groups), -128, np.int8)
    bias = np.arange(4, dtype=np.int64) << 40
    factors = np.full(4, 1 << 30, np.int32), np.full(4, -29, np.int32)
    operator = Convolution((1, 1), Padding(), (1, 1), groups, 0, 0, 0, "long", *factors, (-32768, 32767))
    sums = [(81 * 4 // groups << 22) + int(value) for value in bias]
    wanted = [(total + (1 << 29)) >> 30 for total in sums]
    assert operator.evaluate([x, w, bias]).reshape(-1).tolist() == wanted
    if groups == 4:
        depthwise = DepthwiseConvolution((1, 1), Padding(), (1, 1), 0, 0, 0, "long", *factors, (-32768, 32767))
        assert depthwise.evaluate([x, w[..., 0].transpose(1, 2, 0), bias]).reshape(-1).tolist() == wanted
    else:
        full = FullyConnected(0, 0, 0, "long", *factors, (-32768, 32767))
        assert full.evaluate([x, w.reshape(4, -1), bias]).reshape(-1).tolist() == wanted


def test_pools() -> None:
    x = np.random.default_rng(0).integers(-128, 128, (1, 4, 4, 3)).astype(np.int8)
    padding = Padding(1, 1, 1, 1)
    average = AveragePool((3, 3), (2, 2), padding, False, 0, 0, "divide", (1.0, 1.0), CLAMP)
    assert average.counts(4, 4).tolist() == [[4, 6], [6, 9]]
    assert average.scaling(6) == (6, 0)
    corner = int(x[0, :2, :2, 1].sum(dtype=int))
    assert average.evaluate([x])[0, 0, 0, 1] == int(np.sign(corner) * ((abs(corner) + 2) // 4))
    assert MaxPool((3, 3), (2, 2), padding, CLAMP).evaluate([x])[0, 0, 0, 1] == x[0, :2, :2, 1].max()
    scaled = AveragePool((2, 2), (2, 2), Padding(), True, -3, 7, "float", (0.5, 0.25), CLAMP)
    assert scaled.scaling(4) == (int(float_bits(0.5)[0]), 0)
    assert scaled.evaluate([np.full((1, 2, 2, 1), 5, np.int8)]).item() == 16 + 7


def test_choices_are_along_the_last_axis() -> None:
    x = np.array([[[[1, 5, 5], [9, -3, 9]]]], np.int8)
    assert ArgMax(np.dtype(np.int64)).evaluate([x]).tolist() == [[[1, 0]]]
    kept = ArgMax(np.dtype(np.int32), keeps=True).evaluate([x])
    assert (kept.shape, kept.dtype) == ((1, 1, 2, 1), np.int32)
    assert TopK(2).evaluate([x]).tolist() == [[[[5, 5], [9, 9]]]]
    places = TopK(2, np.dtype(np.int64)).evaluate([x])
    assert (places.tolist(), places.dtype) == ([[[[1, 2], [0, 2]]]], np.int64)


def test_host_operators() -> None:
    reals = np.array([0.25, -0.25, 0.75, 3e38, np.nan], np.float32)
    away = Quantise(0.5, 1, np.dtype(np.int8), "away").evaluate([reals])
    even = Quantise(0.5, 1, np.dtype(np.int8), "even").evaluate([reals])
    assert away.tolist() == [2, 0, 3, 127, 1]
    assert even.tolist() == [1, 1, 3, 127, 1]
    np.testing.assert_array_equal(Dequantise(0.5, 1).evaluate([even[:3]]), np.array([0, 0, 1], np.float32))
    rescale = Rescale(0, -128, "double", 1 << 30, 1, CLAMP, np.dtype(np.int8))
    assert rescale.evaluate([np.array([0, 127, 255], np.uint8)]).tolist() == [-128, -1, 127]
