"""TensorFlow Lite's int16 models, and slices, differences and transposed convolutions: cases worked by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.network.readers.test_tflite_operators import File
from tilesim.errors import ArrayError
from tilesim.network.operators import Slice, StridedSlice

NONE = {"FusedActivationFunction": 0}
GENERAL = {**NONE, "PotScaleInt16": False}
POWERS = {**NONE, "PotScaleInt16": True}
MOVES = {**NONE, "Padding": 1, "StrideW": 1, "StrideH": 1, "DilationWFactor": 1, "DilationHFactor": 1}
FLAT = {**NONE, "WeightsFormat": 0, "KeepNumDims": False}
MASKS = dict.fromkeys(("BeginMask", "EndMask", "EllipsisMask", "NewAxisMask", "ShrinkAxisMask", "Offset"), 0)
INT32 = {"QuantizedBiasType": 2}


def pair(kind: str, options: dict[str, Any], scales: tuple[float, float, float], dtype: Any = np.int16) -> File:
    file = File(kind, options)
    return (
        file.input((1, 2), scales[0], 0, dtype).input((1, 2), scales[1], 0, dtype).output((1, 2), scales[2], 0, dtype)
    )


def one(kind: str, dtype: Any = np.int16, bias: Any = np.int64, **options: Any) -> File:
    """A layer of one input of a scale of a half, one weight of 100 and a bias of 0."""
    flat = kind == "FULLY_CONNECTED"
    shape = (1, 1) if flat else (1, 1, 1, 1)
    file = File(kind, {**(FLAT if flat else MOVES), **options})
    if kind == "TRANSPOSE_CONV":
        file.constant([1, 1, 1, 1]).constant(np.full(shape, 100), np.int8, 0.5).input(shape, 0.5, 0, dtype)
    else:
        file.input(shape, 0.5, 0, dtype).constant(np.full(shape, 100), np.int8, 0.5)
    return file.constant([0], bias, 0.25).output(shape, 100.0, 0, dtype)


LAYERS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV")


@pytest.mark.parametrize("kind", LAYERS)
def test_layers_of_int16(kind: str) -> None:
    """A hundred quarters of 30,001 in hundreds: 7,500 and a quarter."""
    file = one(kind)
    assert file.run([30001])[0].reshape(-1).tolist() == [7500]
    assert file.run([-32768])[0].reshape(-1).tolist() == [-8192]


@pytest.mark.parametrize("kind", sorted({*LAYERS} - {"DEPTHWISE_CONV_2D"}))
def test_options_say_in_how_many_bits_int16_is_added_up(kind: str) -> None:
    assert one(kind, bias=np.int32, **INT32).run([30001])[0].reshape(-1).tolist() == [7500]
    fault = "must be a constant int64 of shape [1], not int32 of shape [1]"
    assert one(kind, bias=np.int32).faults()[0].endswith(fault)
    assert one(kind, **INT32).faults()[0].endswith("must be a constant int32 of shape [1], not int64 of shape [1]")


def test_depthwise_sums_are_always_of_64_bits() -> None:
    assert one("DEPTHWISE_CONV_2D", bias=np.int32).faults() == [
        "bias t2 must be a constant int64 of shape [1], not int32 of shape [1]"
    ]


def test_sums_and_differences_of_int16() -> None:
    """30,000 tenths and 30,000 twentieths in fifths; and by shifts, 5 halves away from zero."""
    scales = (0.1, 0.05, 0.2)
    assert pair("ADD", GENERAL, scales).run([30000, 8], [30000, -4])[0].tolist() == [[22500, 3]]
    assert pair("SUB", GENERAL, scales).run([30000, 8], [30000, -4])[0].tolist() == [[7500, 5]]
    halves = (1.0, 0.5, 1.0)
    assert pair("ADD", POWERS, halves).run([7, 7], [5, -5])[0].tolist() == [[10, 4]]
    assert pair("SUB", POWERS, halves).run([7, 7], [5, -5])[0].tolist() == [[4, 10]]
    assert pair("SUB", POWERS, (0.5, 1.0, 1.0)).run([5, -5], [7, 7])[0].tolist() == [[-4, -10]]
    assert pair("SUB", GENERAL, (0.5, 0.5, 0.5), np.int8).run([5, 100], [7, -100])[0].tolist() == [[-2, 127]]


def test_products_of_int16() -> None:
    file = pair("MUL", NONE, (0.5, 0.5, 128.0))
    assert file.run([-32768, 1000], [512, 1000])[0].tolist() == [[-32768, 1953]]


def test_leaky_relu_of_int16() -> None:
    file = File("LEAKY_RELU", {"Alpha": 0.25}).input((1, 3), 0.5, 0, np.int16).output((1, 3), 0.5, 0, np.int16)
    assert file.run([32767, -32768, -10])[0].tolist() == [[32767, -8192, -3]]


@pytest.mark.parametrize(("kind", "made"), [("AVERAGE_POOL_2D", -15001), ("MAX_POOL_2D", 2)])
def test_pools_of_int16(kind: str, made: int) -> None:
    """-30,003 over 2 goes away from zero to -15,002, -30,001 to -15,001."""
    options = {**NONE, "Padding": 1, "StrideW": 1, "StrideH": 1, "FilterWidth": 2, "FilterHeight": 1}
    file = File(kind, options).input((1, 1, 2, 1), 0.5, 0, np.int16).output((1, 1, 1, 1), 0.5, 0, np.int16)
    assert file.run([-30003, 2])[0].reshape(-1).tolist() == [made]


@pytest.mark.parametrize(
    ("given", "made", "x", "y"),
    [
        (np.int16, np.int8, [1000, -32768], [4, -128]),
        (np.int8, np.int16, [4, -128], [1024, -32768]),
        (np.uint8, np.int16, [4, 255], [1024, 32767]),
        (np.int16, np.int16, [1000, -3], [1000, -3]),
        (np.int16, np.int32, [1000, -32768], [1000, -32768]),
        (np.int32, np.int16, [1 << 20, -(1 << 31)], [4096, -32768]),
    ],
)
def test_from_one_width_to_another(given: Any, made: Any, x: list[int], y: list[int]) -> None:
    widths = [{1: 256.0, 2: 1.0, 4: 1 / 256}[np.dtype(dtype).itemsize] for dtype in (given, made)]
    if made == np.int32:
        widths[1] = 1.0
    file = File("QUANTIZE").input((1, 2), widths[0], 0, given).output((1, 2), widths[1], 0, made)
    assert file.run(x)[0].tolist() == [y]


def test_reals() -> None:
    file = File("QUANTIZE").input((1, 3), 0, 0, np.float32).output((1, 3), 0.5, 0, np.int16)
    assert file.run([1000.25, -0.25, 1e9])[0].tolist() == [[2001, -1, 32767]]
    back = File("DEQUANTIZE").input((1, 2), 0.5, 0, np.int16).output((1, 2), 0, 0, np.float32)
    assert back.run([2001, -32768])[0].tolist() == [[1000.5, -16384.0]]


def test_what_only_moves_int16() -> None:
    x = [[300, -300]]
    padded = File("PAD").input((1, 2), 0.5, 0, np.int16).constant([[0, 0], [1, 0]]).output((1, 3), 0.5, 0, np.int16)
    assert padded.run(x)[0].tolist() == [[0, 300, -300]]
    shaped = File("RESHAPE").input((1, 2), 0.5, 0, np.int16).output((1, 2, 1), 0.5, 0, np.int16)
    assert shaped.run(x)[0].tolist() == [[[300], [-300]]]
    both = File("CONCATENATION", {**NONE, "Axis": 1})
    both.input((1, 2), 0.5, 0, np.int16).input((1, 1), 0.5, 0, np.int16)
    assert both.output((1, 3), 0.5, 0, np.int16).run(x, [[7]])[0].tolist() == [[300, -300, 7]]


def cut(kind: str, numbers: tuple[list[int], ...], made: tuple[int, ...], **masks: int) -> File:
    """A part of (1, 2, 3)."""
    file = File(kind, {**MASKS, **masks}).input((1, 2, 3), 0.5, 3)
    for each in numbers:
        file.constant(each)
    return file.output(made, 0.5, 3)


def test_slices() -> None:
    x = np.arange(6)
    box = cut("SLICE", ([0, 1, 1], [-1, 1, -1]), (1, 1, 2))
    assert box.run(x)[0].tolist() == [[[4, 5]]]
    ones = cut("STRIDED_SLICE", ([0, 1, -2], [1, 2, 9], [1, 1, 1]), (1, 1, 2))
    assert ones.run(x)[0].tolist() == [[[4, 5]]]
    assert all(isinstance(file.network().nodes[0].operator, Slice) for file in (box, ones))
    back = cut("STRIDED_SLICE", ([0, 0, 0], [1, 0, -9], [1, -1, -2]), (1, 2, 2), BeginMask=6, EndMask=2)
    assert back.run(x)[0].tolist() == [[[5, 3], [2, 0]]]
    gone = cut("STRIDED_SLICE", ([0, -1, 0], [0, 0, 0], [1, 1, 2]), (1, 2), EndMask=5, ShrinkAxisMask=2)
    assert gone.run(x)[0].tolist() == [[3, 5]]
    assert all(isinstance(file.network().nodes[0].operator, StridedSlice) for file in (back, gone))


ALL = [0, 0, 0], [1, 2, 3], [1, 1, 1]


@pytest.mark.parametrize(
    ("file", "fault"),
    [
        (
            cut("SLICE", ([0, 1, 0], [1, 2, 3]), (1, 2, 3)),
            "must take some of the 2 elements of axis 1, not 2 from 1 on",
        ),
        (cut("SLICE", ([0, 0], [1, 2]), (1, 2, 3)), "its begin t1 must have shape [3], not [2]"),
        (cut("STRIDED_SLICE", ALL, (1, 2, 3), EllipsisMask=1), "an ellipsis is not supported"),
        (cut("STRIDED_SLICE", ALL, (1, 2, 3), NewAxisMask=1), "new axes are not supported"),
        (cut("STRIDED_SLICE", ALL, (1, 2, 3), Offset=1), "ends by offset are not supported"),
        (
            cut("STRIDED_SLICE", ([0, 0, 0], [1, 2, 3], [1, 1, 0]), (1, 2, 3)),
            "its strides must not be 0, as that of axis 2 is",
        ),
        (
            cut("STRIDED_SLICE", ([0, 2, 0], [1, 2, 3], [1, 1, 1]), (1, 2, 3)),
            "must take some of the 2 elements of axis 1, not none",
        ),
        (
            cut("STRIDED_SLICE", ([0, 0, 3], [1, 2, 3], [1, 1, 1]), (1, 2), ShrinkAxisMask=4),
            "axis 2 must be left with one of its 3 elements by a stride of 1 and no begin mask",
        ),
        (
            File("PAD").input((1, 2), 0.5, 3, np.int16).constant([[0, 0], [0, 0]]).output((1, 2), 0.5, 3, np.int16),
            "t0 must have zero point 0, as all of int16, not 3",
        ),
        (
            File("TANH").input((1, 2), 0.5, 0, np.int16).output((1, 2), 0.5, 0, np.int16),
            "t0 must be int8 or uint8, not int16",
        ),
        (
            File("QUANTIZE").input((1, 2), 0.5, 0, np.int16).output((1, 2), 0.5, 0, np.uint8),
            "t1 must be int8, int16 or int32, not uint8",
        ),
        (
            File("CONV_2D", MOVES).input((1, 1, 1, 1), 0.5, 0, np.int16)
            .constant(np.ones((1, 1, 1, 1)), np.uint8, 0.5).constant([0], np.int64)
            .output((1, 1, 1, 1), 1, 0, np.int16),
            "weights t1 must be int8, as t0 is int16, not uint8",
        ),
        (
            pair("ADD", POWERS, (2.0, 1.0, 1.0)),
            (
                "one of its inputs must have its output's scale, and the other one up to 15 powers of two below it, "
                "not -1 and 0"
            ),
        ),
        (
            File("ADD", POWERS).input((1, 2), 1, 0, np.int16).input((1, 1), 1, 0, np.int16)
            .output((1, 2), 1, 0, np.int16),
            "inputs of int16 whose scales are powers of two must have the same shape, not [1, 2] and [1, 1]",
        ),
        (pair("SUB", GENERAL, (0.3, 0.3, 1e-6)), "its output's scale must be above 1.83105e-05, not 1e-06"),
    ],
)  # fmt: skip
def test_what_is_refused(file: File, fault: str) -> None:
    assert file.faults() == [fault]


@pytest.mark.parametrize(
    ("bias", "scale", "fault"),
    [
        (1 << 47, 1e9, "its sums must stay below 2**47, not reach 1.41e+14"),
        (1 << 40, 0.25, "its scales must leave its results below 2**30, not let them reach 1.1e+12"),
        (0, 0.001, "its scales must make factors below 127, not 250"),
    ],
)
def test_sums_of_64_bits_have_ends(bias: int, scale: float, fault: str) -> None:
    file = File("CONV_2D", MOVES).input((1, 1, 1, 1), 0.5, 0, np.int16).constant(np.ones((1, 1, 1, 1)), np.int8, 0.5)
    assert file.constant([bias], np.int64).output((1, 1, 1, 1), scale, 0, np.int16).faults() == [fault]


def spread(told: Any, padding: int = 1, dtype: Any = np.int8) -> File:
    """Two pixels by a window of two, two columns apart."""
    file = File("TRANSPOSE_CONV", {**NONE, "Padding": padding, "StrideW": 2, "StrideH": 1})
    if told is None:
        file.inputs.append(file._add((4,), 0, 0, np.int32, None))
    else:
        file.constant(told)
    file.constant(np.reshape([1, 2], (1, 1, 2, 1)), dtype, 0.5).input((1, 1, 2, 1), 0.5, 0, dtype)
    return file.output((1, 1, 4, 1), 0.25, 0, dtype)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("padding", [0, 1])
def test_transposed_convolutions(dtype: Any, padding: int) -> None:
    assert spread([1, 1, 4, 1], padding, dtype).run([3, 5])[0].reshape(-1).tolist() == [3, 6, 5, 10]


def test_the_shape_of_a_transposed_convolution_may_be_an_input() -> None:
    file = spread(None)
    assert file.run([1, 1, 4, 1], [3, 5])[0].reshape(-1).tolist() == [3, 6, 5, 10]
    with pytest.raises(ArrayError, match="the shape of a transposed convolution must be"):
        file.run([1, 1, 5, 1], [3, 5])


def test_a_convolution_of_its_output_must_have_the_shape_of_its_input() -> None:
    assert spread([1, 1, 9, 1]).faults() == [
        "weights of shape [1, 1, 2, 1] must make shape [1, 1, 9, 1] of [1, 1, 4, 1], not of [1, 1, 2, 1]"
    ]
    assert spread([1, 1, 0, 1]).faults() == ["its shape must have numbers above 0, not [1, 1, 0, 1]"]
