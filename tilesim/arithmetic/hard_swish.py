"""Hard swish, ``x * min(max(x + 3, 0), 6) / 6``, in 16-bit fixed point.

The input moves up by 7 bits. One factor brings it to the output's scale but for a last right shift; another brings it
to where 32768 stands for 3, saturating there: half of that plus a half is the slope, from 0 to 1.

Source: TensorFlow Lite reference kernel HARD_SWISH.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.requantise import quantise_multiplier
from tilesim.arithmetic.table import Mapped

HEADROOM_BITS = 7
COARSEST = 1e7
"""The input's scale must be finer, else its slope's shift leaves 32 bits."""
LOWEST, HIGHEST = -(1 << 15), (1 << 15) - 1

Wide = NDArray[np.int64]


def hard_swish_table(ends: Mapped) -> NDArray[Any]:
    """The table of all 256 inputs.

    Raises:
        ValueError: the output's scale is so fine that its factor exceeds 1, or so coarse that 16 bits lose all of it,
            or the input's is coarser than any real one.
    """
    if not ends.input_scale < COARSEST:
        raise ValueError(f"its input's scale must be below {COARSEST:g}")
    if not ends.input_scale < (1 << HEADROOM_BITS) * ends.output_scale:
        raise ValueError("its output's scale must be above 1/128 of its input's")
    fine = np.float32(1 / (1 << HEADROOM_BITS)) * np.float32(ends.input_scale)
    to_output, output_shift = _factor(fine / np.float32(ends.output_scale))
    to_slope, slope_shift = _factor(fine / np.float32(3 / 32768))
    if output_shift < -15:
        raise ValueError("its output's scale must be at most 512 times its input's")
    x = ends.centred.astype(np.int64) << HEADROOM_BITS
    slope = (_shifted(x, to_slope, slope_shift) + (1 << 15)) >> 1
    product = _saturated(_quotient(slope * _rounded_product(x, to_output)))
    return ends.saturated(_divided(product, -output_shift).astype(np.int32))


def _factor(real: np.float32) -> tuple[int, int]:
    """A Q15 mantissa, rounded from the Q31 one, and its power of two."""
    mantissa, shift = quantise_multiplier(float(real))
    return (HIGHEST if mantissa >= (1 << 31) - 1 - (1 << 15) else (mantissa + (1 << 15)) >> 16), shift


def _shifted(x: Wide, factor: int, shift: int) -> Wide:
    """``x`` times a factor and its power of two; of a shift to the left the last bit comes after the product."""
    if shift > 0:
        return _saturated(_rounded_product(_saturated(x << (shift - 1)), factor) << 1)
    return _divided(_rounded_product(x, factor), -shift)


def _rounded_product(x: Wide, factor: int) -> Wide:
    """The high half of twice the product, half away from zero."""
    product = x * factor
    return _quotient(product + np.where(product >= 0, 1 << 14, 1 - (1 << 14)))


def _quotient(product: Wide) -> Wide:
    """Divided by 2**15 towards zero."""
    return np.asarray(np.sign(product) * (np.abs(product) >> 15))


def _divided(x: Wide, bits: int) -> Wide:
    """Divided by a power of two, half away from zero."""
    return np.asarray(np.sign(x) * ((np.abs(x) + ((1 << bits) >> 1)) >> bits))


def _saturated(x: Wide) -> Wide:
    return np.clip(x, LOWEST, HIGHEST)
