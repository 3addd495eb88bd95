import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilesim.arithmetic.matmul import exact_matmul, exact_products, magnitude


@pytest.mark.parametrize(("x_bound", "w_bound", "products"), [(128, 128, 1024), (255, 128, 514), (255, 255, 258)])
def test_bounds_hold_at_worst_case_values(x_bound: int, w_bound: int, products: int) -> None:
    assert exact_products(x_bound, w_bound) == products
    for inner in (products - 1, products, products + 1, 4 * products + 3):
        x = np.full((1, inner), -x_bound, np.int16)
        w = np.full((inner, 1), -w_bound, np.int16)
        x[0, -1] += 1  # an odd last product: lost where a partial sum has left the mantissa
        exact = int(x.astype(np.int64)[0] @ w.astype(np.int64)[:, 0])
        assert exact_matmul(x, w, x_bound, w_bound)[0, 0] == exact


def test_one_product_more_would_not_be_exact() -> None:
    x = np.full((1, 1025), 128, np.float32)
    x[0, 0] = 127
    w = np.full((1025, 1), 128, np.float32)
    w[0, 0] = 1
    naive = np.float32(0)
    for a, b in zip(x[0, ::-1], w[::-1, 0], strict=True):
        naive += a * b
    assert int(naive) != 1024 * 128 * 128 + 127
    assert exact_matmul(x, w, 128, 128)[0, 0] == 1024 * 128 * 128 + 127


def test_wraps_in_int32() -> None:
    x = np.full((1, 300_000), -128, np.int8)
    assert exact_matmul(x, x.T, 128, 128)[0, 0] == np.int64(300_000 * 128 * 128).astype(np.int32)
    wide = np.full((1, 9), -32768, np.int16)
    assert exact_matmul(wide, wide.T, 32768, 32768)[0, 0] == np.int64(9 << 30).astype(np.int32)


def test_or_adds_up_in_int64() -> None:
    wide, narrow = np.full((1, 99_999), -32768, np.int16), np.full((99_999, 1), -128, np.int8)
    assert exact_matmul(wide, narrow, 32768, 128, np.int64)[0, 0] == 99_999 << 22
    assert exact_matmul(narrow.T, narrow, 128, 128, np.int64).dtype == np.int64


def test_magnitude() -> None:
    assert magnitude(np.dtype(np.int8)) == 128
    assert magnitude(np.dtype(np.uint8)) == 255
    assert magnitude(np.dtype(np.int8), -128) == 255


@given(st.integers(0, 2**32), st.sampled_from([np.int8, np.uint8, np.int16]), st.sampled_from([np.int8, np.uint8]))
def test_equals_the_integer_product(seed: int, x_dtype: type, w_dtype: type) -> None:
    rng = np.random.default_rng(seed)
    m, k, n = rng.integers(1, [5, 1500, 5])
    x = rng.integers(np.iinfo(x_dtype).min, np.iinfo(x_dtype).max + 1, (2, m, k)).astype(x_dtype)
    w = rng.integers(np.iinfo(w_dtype).min, np.iinfo(w_dtype).max + 1, (k, n)).astype(w_dtype)
    expected = (x.astype(np.int64) @ w.astype(np.int64)).astype(np.int32)
    np.testing.assert_array_equal(exact_matmul(x, w, magnitude(x.dtype), magnitude(w.dtype)), expected)
