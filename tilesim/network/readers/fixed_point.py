"""What TensorFlow Lite derives from a layer's scales: multipliers, the integers an activation leaves, SAME padding.

The rules are those of LiteRT's reference kernels (``BUILTIN_REF``), found by comparing random models; where its default
kernels differ, the reference counts. ``x``, ``w``, ``y`` are scales of input, weights and output, f32() rounds to
float32 and all else is float64; the rules of rounding are those of :mod:`tilesim.arithmetic.requantise`.

=============================  ========================================  =========  ==============================
operator                       factor                                    rounding   shown by
=============================  ========================================  =========  ==============================
CONV_2D, int8                  x * w / y                                 double     conv_2d 31 and 42
CONV_2D, int8, a scale a       the same                                  double     conv_2d_per_channel 90
channel
CONV_2D, int16, bias of int64  the same                                  long       conv_2d_int16 6 and 17,
                                                                                    _per_channel 41
CONV_2D, int16, bias of int32  the same                                  double     conv_2d_int16 0 to 39
CONV_2D, uint8                 f32(x * w) / y                            double     conv_2d_uint8 62
DEPTHWISE_CONV_2D              as CONV_2D                                double     depthwise_conv_2d 89, and
                                                                                    _per_channel 33, _uint8 65
DEPTHWISE_CONV_2D, int16       x * w / y                                 long       depthwise_conv_2d_int16 4
TRANSPOSE_CONV                 as CONV_2D                                as there   transpose_conv 12, _int16 2
FULLY_CONNECTED                x * w / y, in this order, all of its      wide       fully_connected 35 and 309,
                               bits                                                 _per_channel 51 and 206,
                                                                                    _uint8 15 and 210, _int16 44
ADD                            a / (2 max(a, b)) and b / (2 max(a, b)),  double     add 91
                               then 2 max(a, b) / (y * 2**20)
SUB                            as ADD, the second factor negative        double     sub 712
ADD, SUB of int16              the same with 2**15                       double16   add_int16 33, sub_int16 133
ADD, SUB of int16, scales      shifts to the right                       shift      add_int16_shifted 1,
powers of two                                                                       sub_int16_shifted 2
MUL                            f32(f32(a * b) / y)                       double     mul 638, mul_int16 54
MEAN                           x / y; its mantissa over the count        double     mean 283
AVERAGE_POOL_2D                1 over the count                          divide     average_pool_2d 0 to 9
RELU, RELU6, RELU_N1_TO_1,     f32(x / y)                                double     relu 380, relu6 423,
RELU_0_TO_1                                                                         relu_n1_to_1 379,
                                                                                    relu_0_to_1 406
PRELU                          f32(x / y), or f32(f32(x * slope) / y)    double     prelu 488 and 1241
                               below 0
BATCH_MATMUL                   f32(a * b) / y                            double     batch_matmul 117 and 1269
RESIZE_BILINEAR                see arithmetic.interpolate                its own    resize_bilinear 0 to 2
LEAKY_RELU                     f32(x / y), or f32(f32(x * alpha) / y)    double     test_a_negative_slope_...
                               below 0; of one below 0, the opposite
QUANTIZE of integers           x / y                                     double     requantize 0, _int16 168
QUANTIZE of reals              f32(real / y)                             half away  quantize 0 to 9
DEQUANTIZE                     f32(x * steps)                            none       dequantize 0 to 9
LOGISTIC, TANH                 f32(x * steps), f32(function), times      half away  logistic, tanh 0 to 9
                               f32(1 / y)
HARD_SWISH                     16 bits: see arithmetic.hard_swish        its own    hard_swish 0 to 9
SOFTMAX                        x * beta; see arithmetic.softmax_fixed    its own    softmax 453
CONCATENATION, uint8           f32(x * f32(1 / y))                       half away  concatenation 0 to 9
=============================  ========================================  =========  ==============================

``conv_2d 42`` is the model of ``scripts/differential tflite/conv_2d --seed 42 --count 1``; that the rules next to these
give other bits there is what ``tests/differentials/test_rules.py`` says. The other operators move integers as they are.

Source: TensorFlow Lite 8-bit quantisation specification and reference kernels.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.requantise import LONG_SUMS_END, quantise_multiplier, wide_bits
from tilesim.errors import ModelError
from tilesim.network.operators import Padding

ACTIVATIONS: Mapping[str, tuple[float | None, float | None]] = {
    "none": (None, None),
    "relu": (0.0, None),
    "relu_n1_to_1": (-1.0, 1.0),
    "relu6": (0.0, 6.0),
    "relu_0_to_1": (0.0, 1.0),
}
"""Activations: lowest and highest real value."""


SUMS_END = float(1 << 31)
LARGEST_LONG_FACTOR = 127.0


def clamp(activation: str, dtype: np.dtype[Any], scale: float, zero_point: int) -> tuple[int, int]:
    """The output integers (inclusive) that a fused activation leaves."""
    lowest, highest = ACTIVATIONS[activation]
    limits = np.iinfo(dtype)
    low = int(limits.min) if lowest is None else _integer(lowest, scale, zero_point)
    high = int(limits.max) if highest is None else _integer(highest, scale, zero_point)
    low, high = max(low, int(limits.min)), min(high, int(limits.max))
    if low > high:
        raise ModelError(f"its activation {activation} must leave some of the output's range")
    return low, high


def _integer(real: float, scale: float, zero_point: int) -> int:
    """A real in output steps, half away from zero."""
    if not abs(real / scale) < SUMS_END:
        raise ModelError(f"its scale must be coarse enough to count to {real:g} in 32 bits, not {scale:g}")
    steps = float(np.float32(real / scale))
    return zero_point + int(np.trunc(steps + np.copysign(0.5, steps)))


def multipliers(real: NDArray[np.float64], channels: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """(multiplier, shift), each (channels,), of one real factor or of one a channel."""
    pairs = [quantise_multiplier(finite(float(value))) for value in real]
    table = np.broadcast_to(np.array(pairs, np.int32), (channels, 2))
    return table[:, 0].copy(), table[:, 1].copy()


def wide_factors(real: NDArray[np.float64], channels: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The same for the rule ``wide``."""
    return wide_bits(np.broadcast_to([finite(float(value)) for value in real], (channels,)))


def fixed_multiplier(real: float, largest: int) -> tuple[int, int]:
    """(multiplier, shift) for integers of magnitudes up to ``largest``."""
    multiplier, shift = quantise_multiplier(finite(real))
    in_32_bits(largest, shift)
    return multiplier, shift


def finite(ratio: float) -> float:
    """A checked ratio of scales."""
    if not isfinite(ratio):
        raise ModelError("its scales must have a finite ratio")
    return ratio


def in_32_bits(largest: float | NDArray[np.float64], shift: int | NDArray[np.int32]) -> None:
    """Integers stay in 32 bits, also when they are shifted to the left: beyond, C++ says nothing of what the reference
    kernels do.
    """
    reached = float(np.max(np.ldexp(np.asarray(largest, np.float64), np.maximum(shift, 0))))
    if not reached < SUMS_END:
        raise ModelError(f"its scales must leave its sums below 2**31, not let them reach {reached:.3g}")


def in_48_bits(largest: NDArray[np.float64], factor: NDArray[np.float64]) -> None:
    """Sums stay below 2**47, and in 32 bits when they are scaled, by factors below 2**7: beyond, the reference kernels
    lose bits.
    """
    if not float(np.max(largest)) < LONG_SUMS_END:
        raise ModelError(f"its sums must stay below 2**47, not reach {np.max(largest):.3g}")
    if not float(np.max(largest * factor)) < SUMS_END / 2:
        raise ModelError(
            f"its scales must leave its results below 2**30, not let them reach {np.max(largest * factor):.3g}"
        )
    if not float(np.max(factor)) < LARGEST_LONG_FACTOR:
        raise ModelError(f"its scales must make factors below {LARGEST_LONG_FACTOR:g}, not {np.max(factor):g}")


def same_padding(
    lengths: tuple[int, ...], window: tuple[int, int], strides: tuple[int, int], dilations: tuple[int, int]
) -> Padding:
    """Padding that makes ``ceil(length / stride)`` results of each length; the odd one comes after."""
    totals = [
        max(0, (-(-length // stride) - 1) * stride + (taps - 1) * dilation + 1 - length)
        for length, taps, stride, dilation in zip(lengths, window, strides, dilations, strict=True)
    ]
    before = [total // 2 for total in totals]
    return Padding(before[0], before[1], totals[0] - before[0], totals[1] - before[1])
