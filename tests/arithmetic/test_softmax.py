import numpy as np
import pytest

from tilesim.arithmetic.classify import FUNCTIONS, WIDE, classified, classify_scaling
from tilesim.arithmetic.softmax import softmax, softmax_aligned
from tilesim.arithmetic.softmax_fixed import softmax_fixed


@pytest.mark.parametrize("rule", [softmax, softmax_aligned, softmax_fixed])
@pytest.mark.parametrize(("dtype", "zero_point"), [(np.int8, -128), (np.uint8, 0)])
def test_close_to_the_real_softmax(rule: object, dtype: type, zero_point: int) -> None:
    limits = np.iinfo(dtype)
    x = np.random.default_rng(0).integers(limits.min, limits.max + 1, (30, 12)).astype(dtype)
    real = np.exp(0.1 * x.astype(float))
    real /= real.sum(axis=-1, keepdims=True)
    y = rule(x, 0.1, 1 / 256, zero_point, (limits.min, limits.max))  # type: ignore[operator]
    assert y.dtype == dtype
    assert np.abs(y.astype(float) - zero_point - real * 256).max() <= 1


def test_fixed_point_by_hand() -> None:
    """A reciprocal of 2 halves a one that is a last place short; 256 of 256 saturate; beyond 31 nothing counts."""
    assert softmax_fixed(np.array([[7, 7]], np.int8), 0.5, 1 / 256, -128, (-128, 127)).tolist() == [[0, 0]]
    assert softmax_fixed(np.array([[255]], np.uint8), 0.5, 1 / 256, 0, (0, 255)).tolist() == [[255]]
    assert softmax_fixed(np.array([[0, 255]], np.uint8), 9.0, 1 / 256, 0, (0, 255)).tolist() == [[0, 255]]


@pytest.mark.parametrize("scale", [float("nan"), float("inf"), -1.0, 0.0, 1e-30, 1e30])
def test_fixed_point_takes_any_scale(scale: float) -> None:
    y = softmax_fixed(np.array([[1, 2, 3]], np.uint8), scale, 0.0, 0, (0, 255))
    assert y.dtype == np.uint8


@pytest.mark.parametrize("function", list(FUNCTIONS))
def test_a_classifier_is_told_its_scales_in_numbers_of_32_bits(function: str) -> None:
    x = np.random.default_rng(0).integers(0, 256, (5, 9)).astype(np.uint8)
    scale = float(np.float64(0.0371) * 1.3) if function in WIDE else float(np.float32(0.0371))
    scaling = classify_scaling(function, (scale, 1 / 256), 0, (0, 200))
    assert all(-(1 << 31) <= number < 1 << 31 for number in scaling)
    expected = FUNCTIONS[function](x, scale, 1 / 256, 0, (0, 200))
    assert np.array_equal(classified(function, x, scaling), expected)
