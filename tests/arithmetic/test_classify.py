import numpy as np
import pytest

from tilesim.arithmetic.classify import (
    FUNCTIONS,
    SOFTMAXES,
    WIDE,
    bytes_made,
    classified,
    classify_scaling,
    elements_made,
    passes,
    type_made,
)


@pytest.mark.parametrize("function", list(SOFTMAXES))
def test_a_classifier_is_told_its_scales_in_numbers_of_32_bits(function: str) -> None:
    x = np.random.default_rng(0).integers(0, 256, (5, 9)).astype(np.uint8)
    scale = float(np.float64(0.0371) * 1.3) if function in WIDE else float(np.float32(0.0371))
    scaling = classify_scaling(function, (scale, 1 / 256), 0, (0, 200))
    assert all(-(1 << 31) <= number < 1 << 31 for number in scaling)
    expected = SOFTMAXES[function](x, scale, 1 / 256, 0, (0, 200))
    assert np.array_equal(classified(function, x, scaling), expected)


@pytest.mark.parametrize("function", list(FUNCTIONS))
def test_what_a_function_makes_is_known_before(function: str) -> None:
    x = np.random.default_rng(0).integers(0, 256, (5, 9)).astype(np.uint8)
    scaling = (1, 1, 0, 0, 255) if function in SOFTMAXES else (4,) * FUNCTIONS[function].numbers
    made = classified(function, x, scaling)
    assert made.shape == (5, elements_made(function, 9, scaling))
    assert made.dtype == type_made(function, x.dtype)
    assert made[0].nbytes == bytes_made(function, 9, scaling)


def test_each_of_the_largest_takes_a_pass() -> None:
    assert [passes("softmax", (1, 1, 0, 0, 255)), passes("argmax", ()), passes("top_k_values", (3,))] == [1, 1, 3]
