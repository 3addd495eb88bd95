import numpy as np
import pytest

from tilesim.arithmetic.softmax import softmax, softmax_aligned


@pytest.mark.parametrize("rule", [softmax, softmax_aligned])
@pytest.mark.parametrize(("dtype", "zero_point"), [(np.int8, -128), (np.uint8, 0)])
def test_close_to_the_real_softmax(rule: object, dtype: type, zero_point: int) -> None:
    limits = np.iinfo(dtype)
    x = np.random.default_rng(0).integers(limits.min, limits.max + 1, (30, 12)).astype(dtype)
    real = np.exp(0.1 * x.astype(float))
    real /= real.sum(axis=-1, keepdims=True)
    y = rule(x, 0.1, 1 / 256, zero_point, (limits.min, limits.max))  # type: ignore[operator]
    assert y.dtype == dtype
    assert np.abs(y.astype(float) - zero_point - real * 256).max() <= 1
