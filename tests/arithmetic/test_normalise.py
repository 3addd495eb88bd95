"""Local response normalisation against its definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilesim.arithmetic.normalise import normalise, normalise_scaling, normalised_reals


@given(
    st.lists(st.integers(-128, 127), min_size=1, max_size=9),
    st.integers(1, 12),
    st.tuples(st.floats(0, 4), st.floats(0, 2), st.floats(0.5, 3)),
    st.integers(-9, 9),
)
def test_close_to_the_real_formula(channels: list[int], size: int, how: tuple[float, float, float], zero: int) -> None:
    alpha, beta, bias = how
    scaling = normalise_scaling((0.1, 0.05), (zero, 3), alpha, beta, bias)
    x = 0.1 * (np.array(channels) - zero)
    before, after = (size - 1) // 2, size // 2  # the definition: floor and ceiling of half of size - 1
    for channel, own in enumerate(x):
        squares = (x[max(0, channel - before) : channel + after + 1] ** 2).sum()
        real = own / (bias + alpha / size * squares) ** beta
        normalised = normalise(np.array(channels, np.int8), size, scaling)[channel]
        assert abs(normalised - 3 - real / 0.05) <= 0.5 + 1e-4 * (1 + abs(real / 0.05))


def test_half_to_even_before_the_zero_point() -> None:
    """Without neighbours' share what is left is x / output scale: halves, exactly."""
    scaling = normalise_scaling((0.5, 1.0), (0, 7), 0.0, 1.0, 1.0)
    assert normalise(np.array([-3, -1, 1, 3, 5], np.int8), 3, scaling).tolist() == [5, 7, 7, 9, 9]


@pytest.mark.parametrize(
    ("size", "expected"), [(1, [1, 4, 9, 16]), (2, [5, 13, 25, 16]), (3, [5, 14, 29, 25]), (9, [30] * 4)]
)
def test_neighbours(size: int, expected: list[int]) -> None:
    """With exponent 1, bias 0 and alpha = size a real is x over the sum of its neighbours' squares."""
    scaling = normalise_scaling((1.0, 1.0), (0, 0), size, 1.0, 0.0)
    x = np.arange(1, 5)
    np.testing.assert_array_equal(normalised_reals(x, size, scaling), np.float32(x) / np.float32(expected))


def test_maps_are_normalised_pixel_by_pixel() -> None:
    x = np.random.default_rng(0).integers(-128, 128, (2, 3, 4, 5)).astype(np.int8)
    scaling = normalise_scaling((0.1, 0.05), (1, 2), 1.0, 0.75, 2.0)
    y = normalise(x, 3, scaling)
    assert y.dtype == np.int32
    np.testing.assert_array_equal(y[1, 2, 3], normalise(x[1, 2, 3], 3, scaling))


def test_any_bits_give_an_integer() -> None:
    """A program may hold any: also those of what is no number, or a division by 0."""
    x = np.array([0, 1, -1], np.int8)
    assert normalise(x, 3, (0, -1, -1, -1, -1, -1, 5)).tolist() == [5, 5, 5]
    assert normalise(x, 1, normalise_scaling((1.0, 1e-30), (0, 0), 0.0, 1.0, 1.0)).tolist() == [0, 1 << 24, -(1 << 24)]


@pytest.mark.parametrize("size", [1, 3, 5, 9])  # ONNX Runtime has odd ones only
def test_the_formula_is_that_of_onnx_runtime(size: int) -> None:
    runtime = pytest.importorskip("onnxruntime")
    from onnx import TensorProto, helper

    node = helper.make_node("LRN", ["x"], ["y"], alpha=0.7, beta=0.6, bias=1.5, size=size)
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, (1, 6, 2, 3)) for name in "xy"]
    graph = helper.make_graph([node], "lrn", ends[:1], ends[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    x = np.random.default_rng(0).integers(-128, 128, (1, 2, 3, 6)).astype(np.int8)
    reals = (0.05 * (x.astype(np.float32) + 4)).astype(np.float32)
    (expected,) = session.run(None, {"x": reals.transpose(0, 3, 1, 2)})
    scaling = normalise_scaling((0.05, 1.0), (-4, 0), 0.7, 0.6, 1.5)
    normalised = normalised_reals(x, size, scaling)
    np.testing.assert_allclose(normalised, expected.transpose(0, 2, 3, 1), rtol=1e-5)
