"""Functions of one byte as tables of 256 entries: what a smooth activation becomes when it is quantised.

Entry k belongs to the input whose byte is k: a signed -1 finds its result at 255.

Source: TensorFlow Lite reference kernels LOGISTIC and TANH (:func:`tabulate` with ``away``), LEAKY_RELU, and
CONCATENATION of uint8; ONNX Runtime QLinearSigmoid, QLinearLeakyRelu and QLinearConcat (:func:`tabulate` with
``even``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tilesim.arithmetic.reals import LARGEST, Reals
from tilesim.arithmetic.requantise import quantise_multiplier, requantise, saturate

ENTRIES = 256


class Mapped(Struct, frozen=True):
    """The quantisations between which a table maps: scale and zero point of input and output, and their type."""

    input_scale: float
    input_zero_point: int
    output_scale: float
    output_zero_point: int
    dtype: np.dtype[Any]

    @property
    def centred(self) -> NDArray[np.int32]:
        """Every input less its zero point, in the order of the table."""
        return inputs(self.dtype).astype(np.int32) - np.int32(self.input_zero_point)

    def saturated(self, values: NDArray[np.int32]) -> NDArray[Any]:
        """Output integers of ``values``, which have no zero point yet."""
        limits = np.iinfo(self.dtype)
        return saturate(values, self.output_zero_point, (int(limits.min), int(limits.max)), self.dtype)


def inputs(dtype: np.dtype[Any]) -> NDArray[Any]:
    """The integer that each byte from 0 to 255 stands for."""
    return np.arange(ENTRIES, dtype=np.uint8).view(dtype)


def look_up(table: NDArray[Any], x: NDArray[Any]) -> NDArray[Any]:
    """The entry of each integer of one byte."""
    return np.asarray(table[np.ascontiguousarray(x).view(np.uint8)])


def sigmoid(x: Reals) -> Reals:
    """1 / (1 + exp(-x)), each step rounded to float32."""
    with np.errstate(over="ignore"):
        power = np.exp(-x.astype(np.float64)).astype(np.float32)
    return np.float32(1) / (np.float32(1) + power)


def tanh(x: Reals) -> Reals:
    """Rounded to float32 once. The runtime takes ``tanhf`` of the machine's C library: glibc before 2.41 errs by a last
    place, which shows in an entry or two of one table in 10,000.
    """
    return np.tanh(x.astype(np.float64)).astype(np.float32)


def identity(x: Reals) -> Reals:
    return x


def leaky(alpha: float) -> Callable[[Reals], Reals]:
    """x, or ``alpha`` times x below 0."""
    return lambda x: np.where(x >= 0, x, x * np.float32(alpha))


def tabulate(function: Callable[[Reals], Reals], ends: Mapped, rounding: str) -> NDArray[Any]:
    """The table of a function of reals, computed in float32.

    Args:
        function: from float32 to float32.
        ends: quantisation of input and output.
        rounding: ``away`` (times the reciprocal of the output's scale, half away from zero, TensorFlow Lite) or
            ``even`` (divided by that scale, half to even, ONNX Runtime).

    Raises:
        KeyError: for another rounding.
    """
    reals = np.float32(ends.input_scale) * ends.centred.astype(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        steps = _ROUNDINGS[rounding](function(reals), np.float32(ends.output_scale))
    return ends.saturated(np.clip(np.nan_to_num(steps), -LARGEST, LARGEST).astype(np.int32))


def _half_away(reals: Reals) -> NDArray[np.float64]:
    steps = reals.astype(np.float64)  # where adding a half is exact
    return np.trunc(steps + np.copysign(0.5, steps))


_ROUNDINGS: Mapping[str, Callable[[Reals, np.float32], NDArray[Any]]] = {
    "away": lambda reals, scale: _half_away(reals * (np.float32(1) / scale)),
    "even": lambda reals, scale: np.rint(reals / scale),
}


def leaky_table(alpha: float, ends: Mapped) -> NDArray[Any]:
    """Leaky ReLU in fixed point: one multiplier for what is 0 or more, one for what is less, rounded twice each."""
    above, below = leaky_factors(alpha, ends.input_scale, ends.output_scale)
    return ends.saturated(leaky_steps("double", ends.centred, above, below))


def leaky_factors(alpha: float, input_scale: float, output_scale: float) -> tuple[tuple[int, int], tuple[int, int]]:
    """Multiplier and shift for what is 0 or more, and for what is less; of a slope below 0 the multiplier is, too."""
    ratio = np.float32(input_scale) / np.float32(output_scale)
    slope = np.float32(input_scale) * np.float32(alpha) / np.float32(output_scale)
    mantissa, shift = quantise_multiplier(abs(float(slope)))
    return quantise_multiplier(float(ratio)), (-mantissa if slope < 0 else mantissa, shift)


def leaky_steps(
    rule: str, centred: NDArray[np.int32], above: tuple[int, int], below: tuple[int, int]
) -> NDArray[np.int32]:
    """Leaky ReLU of numbers less their zero point, by the factors of :func:`leaky_factors`."""
    return np.where(centred >= 0, _scaled(rule, centred, *above), _scaled(rule, centred, *below))


def _scaled(rule: str, values: NDArray[np.int32], multiplier: int, shift: int) -> NDArray[np.int32]:
    """Of a factor below 0, the opposite of what its magnitude gives."""
    scaled = requantise(rule, values, np.array([abs(multiplier)], np.int32), np.array([shift], np.int32))
    return -scaled if multiplier < 0 else scaled


def rescaling_table(ends: Mapped) -> NDArray[Any]:
    """From one uint8 quantisation to another as a concatenation does it: multiply and add, half away from zero."""
    scale = np.float32(ends.input_scale) * (np.float32(1) / np.float32(ends.output_scale))
    bias = np.float32(-ends.input_zero_point) * scale
    rounded = _half_away(inputs(ends.dtype).astype(np.float32) * scale + bias)
    return ends.saturated(np.clip(rounded, -LARGEST, LARGEST).astype(np.int32))
