import numpy as np
import pytest

from tilesim.arithmetic.softmax_fixed import smallest_scale, softmax_fixed


@pytest.mark.parametrize(("dtype", "zero_point"), [(np.int8, -128), (np.uint8, 0)])
@pytest.mark.parametrize("scale", [0.1, 1e-6, 3.7])
def test_close_to_the_real_softmax(dtype: type, zero_point: int, scale: float) -> None:
    limits = np.iinfo(dtype)
    x = np.random.default_rng(0).integers(limits.min, limits.max + 1, (30, 12)).astype(dtype)
    real = np.exp(scale * (x.astype(float) - x.max(axis=-1, keepdims=True)))
    real /= real.sum(axis=-1, keepdims=True)
    y = softmax_fixed(x, scale, 1 / 256, zero_point, (limits.min, limits.max))
    assert y.dtype == dtype
    assert np.abs(y.astype(float) - zero_point - real * 256).max() <= 1


def test_by_hand() -> None:
    """Two alike have a half each; 256 of 256 saturate; beyond a distance of 31 nothing counts."""
    assert softmax_fixed(np.array([[7, 7]], np.int8), 0.5, 1 / 256, -128, (-128, 127)).tolist() == [[0, 0]]
    assert softmax_fixed(np.array([[255]], np.uint8), 0.5, 1 / 256, 0, (0, 255)).tolist() == [[255]]
    assert softmax_fixed(np.array([[0, 255]], np.uint8), 9.0, 1 / 256, 0, (0, 255)).tolist() == [[0, 255]]


def test_more_than_a_sum_holds_saturates() -> None:
    y = softmax_fixed(np.zeros((1, 5000), np.uint8), 0.5, 1 / 256, 0, (0, 255))
    assert not y.any()


@pytest.mark.parametrize("scale", [float("nan"), float("inf"), -1.0, 0.0, smallest_scale(), 1e30])
def test_any_scale_is_taken(scale: float) -> None:
    y = softmax_fixed(np.array([[1, 2, 3]], np.uint8), scale, 0.0, 0, (0, 255))
    assert y.dtype == np.uint8
    assert (np.diff(y.astype(int)) >= 0).all()
