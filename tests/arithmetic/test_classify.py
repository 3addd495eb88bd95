import numpy as np
import pytest

from tilesim.arithmetic.classify import FUNCTIONS, WIDE, classified, classify_scaling


@pytest.mark.parametrize("function", list(FUNCTIONS))
def test_a_classifier_is_told_its_scales_in_numbers_of_32_bits(function: str) -> None:
    x = np.random.default_rng(0).integers(0, 256, (5, 9)).astype(np.uint8)
    scale = float(np.float64(0.0371) * 1.3) if function in WIDE else float(np.float32(0.0371))
    scaling = classify_scaling(function, (scale, 1 / 256), 0, (0, 200))
    assert all(-(1 << 31) <= number < 1 << 31 for number in scaling)
    expected = FUNCTIONS[function](x, scale, 1 / 256, 0, (0, 200))
    assert np.array_equal(classified(function, x, scaling), expected)
