from typing import Any

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


@pytest.mark.parametrize("rule", [softmax, softmax_aligned])
@pytest.mark.parametrize("output_scale", [1 / 256, 0.0, -1.0, 1e-45, 3e38, np.inf, np.nan])
@pytest.mark.parametrize("input_scale", [0.1, 0.0, -1.0, 1e-45, 3e38, np.inf, np.nan])
def test_scales_that_are_none_give_some_number(rule: Any, input_scale: float, output_scale: float) -> None:
    x = np.array([[-128, -128, 0, 127]], np.int8)
    y = rule(x, input_scale, output_scale, 3, (-10, 20))
    assert (y.dtype, y.shape) == (x.dtype, x.shape)
    assert -10 <= y.min() <= y.max() <= 20
