import numpy as np
import pytest

from tilesim.arithmetic.choose import argmax, top_k_indices, top_k_values


def test_of_equal_elements_the_first_comes_first() -> None:
    x = np.array([[3, 7, 7, -1, 7, 2], [-128] * 6], np.int8)
    assert argmax(x).tolist() == [[1], [0]]
    assert top_k_indices(x, 4).tolist() == [[1, 2, 4, 0], [0, 1, 2, 3]]
    assert top_k_values(x, 4).tolist() == [[7, 7, 7, 3], [-128] * 4]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_the_ends_of_a_type_are_in_order(dtype: type) -> None:
    limits = np.iinfo(dtype)
    x = np.array([limits.min, limits.max, 0, limits.max, limits.min], dtype)
    assert top_k_indices(x, 5)[:2].tolist() == [1, 3]
    assert top_k_values(x, 5).tolist() == sorted(x.tolist(), reverse=True)
    assert (top_k_values(x, 1).dtype, top_k_indices(x, 1).dtype, argmax(x).dtype) == (dtype, np.int32, np.int32)
