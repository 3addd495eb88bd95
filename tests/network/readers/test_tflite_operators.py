"""TensorFlow Lite operators that no shared model has, or not in every form: against cases worked by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tilesim.errors import ModelError
from tilesim.network.graph import Network
from tilesim.network.readers import tflite
from tilesim.network.readers.tflite_data_movement import nearest
from tilesim.network.readers.tflite_file import FileGraph, FileOperator, FileTensor

Array = NDArray[Any]
CODES = {np.dtype(dtype): code for code, dtype in tflite.DTYPES.items()}


@dataclass
class File:
    """A file's only operator and its tensors, inputs and constants first."""

    kind: str
    options: dict[str, Any] = field(default_factory=dict)
    tensors: list[FileTensor] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)

    def input(self, shape: Sequence[int], scale: float, zero_point: int, dtype: Any = np.int8) -> File:
        self.inputs.append(self._add(shape, scale, zero_point, dtype, None))
        return self

    def constant(self, data: Any, dtype: Any = np.int32, scale: float = 0.0, zero_point: int = 0) -> File:
        array = np.asarray(data, dtype)
        self.inputs.append(self._add(array.shape, scale, zero_point, dtype, array))
        return self

    def output(self, shape: Sequence[int], scale: float, zero_point: int, dtype: Any = np.int8) -> File:
        self.outputs.append(self._add(shape, scale, zero_point, dtype, None))
        return self

    def _add(self, shape: Sequence[int], scale: float, zero_point: int, dtype: Any, data: Array | None) -> int:
        raw = None if data is None else np.frombuffer(data.tobytes(), np.uint8)
        scales, zeros = (
            np.array([value] if scale else [], kind) for value, kind in ((scale, "f4"), (zero_point, "i8"))
        )
        name = f"t{len(self.tensors)}"
        self.tensors.append(FileTensor(name, CODES[np.dtype(dtype)], tuple(shape), scales, zeros, 0, raw))
        return len(self.tensors) - 1

    def network(self) -> Network:
        op = FileOperator(0, self.kind, tuple(self.inputs), tuple(self.outputs), self.options)
        given = tuple(i for i in self.inputs if self.tensors[i].data is None)
        return tflite._network("net", FileGraph(tuple(self.tensors), (op,), given, tuple(self.outputs)))

    def run(self, *xs: Any) -> list[Array]:
        network = self.network()
        tensors = [network.tensors[i] for i in network.inputs]
        arrays = [np.asarray(x, tensor.dtype).reshape(tensor.shape) for x, tensor in zip(xs, tensors, strict=True)]
        values = network.evaluate(arrays)
        return [values[i] for i in network.outputs]

    def faults(self) -> list[str]:
        with pytest.raises(ModelError) as caught:
            self.network()
        return [fault.removeprefix(f"node 0 ({self.kind}): ") for fault in caught.value.faults]


def unary(kind: str, x: list[int], ends: tuple[float, int, float, int], dtype: Any = np.int8, **options: Any) -> Any:
    """What an operator makes of a vector; ``ends`` are scale and zero point of input and output."""
    file = File(kind, options).input((1, len(x)), *ends[:2], dtype).output((1, len(x)), *ends[2:], dtype)
    return file.run(x)[0].reshape(-1).tolist()


def test_tables_by_hand() -> None:
    # sigmoid(1) * 256 = 187.15; 0.99964 * 256 saturates; tanh(1) * 128 = 97.48
    assert unary("LOGISTIC", [0, 16, 127, -128], (1 / 16, 0, 1 / 256, -128)) == [0, 59, 127, -128]
    assert unary("LOGISTIC", [128, 144, 0], (1 / 16, 128, 1 / 256, 0), np.uint8) == [128, 187, 0]
    assert unary("TANH", [0, 32, 127, -32], (1 / 32, 0, 1 / 128, 0)) == [0, 97, 127, -97]


def test_leaky_relu_by_hand() -> None:
    """-10 / 4 is rounded twice: -5 in halves, then away from zero."""
    x = [5, 1, -7, -9, -128]
    assert unary("LEAKY_RELU", x, (0.5, 1, 0.5, 1), Alpha=0.25) == [5, 1, -1, -2, -31]
    assert unary("LEAKY_RELU", [4, -4], (0.5, 0, 0.5, 0), Alpha=-0.5) == [4, 2]


def test_hard_swish_by_hand() -> None:
    """1 * 4 / 6 = 10.67 sixteenths, -1.5 * 1.5 / 6 = -6 sixteenths."""
    assert unary("HARD_SWISH", [0, 16, 127, -128, -48, -24], (1 / 16, 0, 1 / 16, 0)) == [0, 11, 127, 0, 0, -6]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("ends", [(0.05, 3, 0.03, 4), (0.1, 100, 0.09, 0), (0.001, 0, 0.0008, 0), (0.04, 1, 0.9, 30)])
def test_hard_swish_is_within_two_steps_of_the_real_one(ends: tuple[float, int, float, int], dtype: Any) -> None:
    limits = np.iinfo(dtype)
    x = np.arange(limits.min, limits.max + 1)
    real = (x - ends[1]) * ends[0]
    steps = real * np.clip(real + 3, 0, 6) / 6 / ends[2] + ends[3]
    entries = np.array(unary("HARD_SWISH", x.tolist(), ends, dtype))
    assert np.abs(entries - np.clip(steps, limits.min, limits.max)).max() < 2


def test_an_activation_by_itself() -> None:
    assert unary("RELU6", [-128, -1, 10, 127], (0.1, 0, 0.05, -128)) == [-128, -128, -108, -8]
    assert unary("RELU", [-5, 5], (0.1, 0, 0.1, 0)) == [0, 5]


def test_products_by_hand() -> None:
    """(5 - 1) * (6 + 2) * 0.5 * 0.25 / 0.25 = 16."""
    file = File("MUL", {"FusedActivationFunction": 0})
    file.input((1, 2), 0.5, 1).input((1, 2), 0.25, -2).output((1, 2), 0.25, 3)
    assert file.run([5, 127], [6, 127])[0].tolist() == [[19, 127]]


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(("kind", "scale", "expected"), [("MUL", 0.25, [16, 127]), ("ADD", 0.5, [8, 127])])
def test_one_number_makes_a_table(kind: str, scale: float, expected: list[int], first: bool) -> None:
    """2 times 2, and 2 and 2: 4 in quarters or halves, whichever way round."""
    file = File(kind, {"FusedActivationFunction": 0})
    if first:
        file.constant([[6]], np.int8, 0.25, -2).input((1, 2), 0.5, 1)
    else:
        file.input((1, 2), 0.5, 1).constant([[6]], np.int8, 0.25, -2)
    file.output((1, 2), scale, 0)
    assert [node.kind for node in file.network().nodes] == ["table"]
    assert file.run([5, 127])[0].tolist() == [expected]


@pytest.mark.parametrize(("kept", "shape"), [(True, (1, 1, 1, 2)), (False, (1, 2))])
def test_means_by_hand(kept: bool, shape: tuple[int, ...]) -> None:
    """10 / 4 is rounded twice: to 5 halves, then away from zero."""
    file = File("MEAN", {"KeepDims": kept}).input((1, 2, 2, 2), 0.5, 0).constant([1, 2]).output(shape, 0.5, 0)
    [y] = file.run([1, -1, 2, -2, 3, -3, 4, -4])
    assert y.shape == shape
    assert y.reshape(-1).tolist() == [3, -3]


def test_borders() -> None:
    paddings = [[0, 0], [1, 0], [0, 2], [0, 0]]
    file = File("PAD").input((1, 1, 1, 2), 0.5, 7).constant(paddings).output((1, 2, 3, 2), 0.5, 7)
    assert file.run([1, 2])[0][0].tolist() == [[[7, 7]] * 3, [[1, 2], [7, 7], [7, 7]]]
    file = File("PADV2").input((1, 1, 1, 2), 0.5, 7).constant(paddings).constant(-9, np.int8, 0.5, 7)
    assert file.output((1, 2, 3, 2), 0.5, 7).run([1, 2])[0][0, 0].tolist() == [[-9, -9]] * 3


def test_the_nearest_pixel() -> None:
    assert nearest(4, 8, align=False, centred=False) == (0, 0, 1, 1, 2, 2, 3, 3)
    assert nearest(5, 3, align=False, centred=False) == (0, 1, 3)
    assert nearest(4, 6, align=True, centred=False) == (0, 1, 1, 2, 2, 3)  # 0, .6, 1.2, 1.8, 2.4, 3
    assert nearest(4, 6, align=False, centred=True) == (0, 1, 1, 2, 3, 3)  # .33, 1, 1.67, 2.33, 3, 3.67
    file = File("RESIZE_NEAREST_NEIGHBOR", {"AlignCorners": False, "HalfPixelCenters": False})
    file.input((1, 1, 2, 1), 0.5, 0).constant([2, 4]).output((1, 2, 4, 1), 0.5, 0)
    assert file.run([3, 4])[0][0, :, :, 0].tolist() == [[3, 3, 4, 4]] * 2


def test_tensors_put_together() -> None:
    """Of uint8, (13 - 10) / 2 = 1.5 and -1.5 round away from zero."""
    file = File("CONCATENATION", {"Axis": -1, "FusedActivationFunction": 0})
    file.input((1, 1, 1, 2), 1, 20, np.uint8).input((1, 1, 1, 2), 0.5, 10, np.uint8)
    file.output((1, 1, 1, 4), 1, 20, np.uint8)
    assert file.run([1, 255], [13, 7])[0].reshape(-1).tolist() == [1, 255, 22, 18]
    rows = File("CONCATENATION", {"Axis": 1, "FusedActivationFunction": 0}).input((1, 1, 2, 1), 1, 0)
    rows.input((1, 2, 2, 1), 1, 0).output((1, 3, 2, 1), 1, 0)
    assert rows.run([1, 2], [3, 4, 5, 6])[0][0, :, :, 0].tolist() == [[1, 2], [3, 4], [5, 6]]


def test_a_tensor_cut_apart() -> None:
    file = File("SPLIT", {"NumSplits": 2}).constant(3).input((1, 1, 2, 4), 0.5, 1)
    file.output((1, 1, 2, 2), 0.5, 1).output((1, 1, 2, 2), 0.5, 1)
    first, second = file.run(range(8))
    assert (first.reshape(-1).tolist(), second.reshape(-1).tolist()) == ([0, 1, 4, 5], [2, 3, 6, 7])


@pytest.mark.parametrize("kind", ["CONV_2D", "DEPTHWISE_CONV_2D"])
def test_unsigned_weights_with_a_zero_point_dilated(kind: str) -> None:
    """1 * (3 - 2) + 5 * (1 - 2) = -4 halves, and 2 * 1 - 6 = -4 of the second: the taps lie two columns apart."""
    options = {"Padding": 1, "StrideW": 1, "StrideH": 1, "DilationWFactor": 2, "DilationHFactor": 1}
    file = File(kind, {**options, "FusedActivationFunction": 0}).input((1, 1, 4, 1), 0.5, 100, np.uint8)
    weights = np.reshape([3, 1], (1, 1, 2, 1))
    file.constant(weights, np.uint8, 0.5, 2).constant([0]).output((1, 1, 2, 1), 0.5, 10, np.uint8)
    assert file.run([101, 102, 105, 106])[0].reshape(-1).tolist() == [8, 8]


def test_from_unsigned_to_signed() -> None:
    file = File("QUANTIZE").input((1, 3), 0.5, 127, np.uint8).output((1, 3), 0.5, -1)
    assert file.run([0, 127, 255])[0].tolist() == [[-128, -1, 127]]


def test_a_negative_slope_rounds_as_a_positive_one_of_the_opposite() -> None:
    """-1 * -0.5 is 0.5, which rounds as -0.5 does, half up to 0, and then changes its sign."""
    assert unary("LEAKY_RELU", [-1, -3, -5], (1, 0, 1, 0), Alpha=-0.5) == [0, 1, 2]


LAYERS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")


def layer(
    kind: str, dtype: Any, zero_point: int = 0, bias_scale: float = 0.25, scale: float = 0.5, x_scale: float = 0.5
) -> File:
    """One product: a layer of one input, one weight of 1 and a bias of 0, all scales but the bias's alike."""
    windowed = kind != "FULLY_CONNECTED"
    moves = {"Padding": 1, "StrideW": 1, "StrideH": 1, "DilationWFactor": 1, "DilationHFactor": 1}
    options = moves if windowed else {"WeightsFormat": 0, "KeepNumDims": False}
    one = (1,) * (4 if windowed else 2)
    file = File(kind, {**options, "FusedActivationFunction": 0}).input(one, x_scale, 0, dtype)
    file.constant(np.full(one, 1), dtype, 0.5, zero_point).constant([0], np.int32, bias_scale)
    return file.output(one, scale, 0, dtype)


@pytest.mark.parametrize(
    ("file", "fault"),
    [
        (layer("CONV_2D", np.int8, 3), "the zero point of its int8 weights must be 0, not 3"),
        (layer("DEPTHWISE_CONV_2D", np.int8, -1), "the zero point of its int8 weights must be 0, not -1"),
        (
            layer("CONV_2D", np.uint8, 3, bias_scale=0.3),
            "bias t2 must have the product of the other scales, 0.25, not 0.3",
        ),
        (
            layer("FULLY_CONNECTED", np.int8, bias_scale=0.2),
            "bias t2 must have the product of the other scales, 0.25, not 0.2",
        ),
        (
            layer("FULLY_CONNECTED", np.int8, scale=2.0**-30),
            "its scales must leave its sums below 2**31, not let them reach 6.87e+10",
        ),
        (
            File("LOGISTIC").input((1, 2), 1, 0).output((1, 2), 1 / 128, 0),
            "t1 must have scale 0.00390625 and zero point -128, not 0.0078125 and 0",
        ),
        (
            File("SOFTMAX", {"Beta": 1.0}).input((1, 2), 1, 0, np.uint8).output((1, 2), 1 / 256, 3, np.uint8),
            "t1 must have scale 0.00390625 and zero point 0, not 0.00390625 and 3",
        ),
        (
            File("SOFTMAX", {"Beta": 1.0}).input((1, 2), 2.0**-26, 0).output((1, 2), 1 / 256, -128),
            "its input's scale times beta must be above 1.49012e-08, not 1.49012e-08",
        ),
        (
            File("ADD", {"FusedActivationFunction": 0})
            .input((1, 2), 64, 0).input((1, 2), 1, 0).output((1, 2), 2.0**-13, 0),
            "its output's scale must be above 0.00012207, not 0.00012207",
        ),
        (
            File("MUL", {"FusedActivationFunction": 0})
            .input((1, 2), 64, 0).input((1, 2), 64, 0).output((1, 2), 2.0**-10, 0),
            "its scales must leave its sums below 2**31, not let them reach 1.37e+11",
        ),
        (
            File("RELU6").input((1, 2), 1e-9, 0).output((1, 2), 1e-9, 0),
            "its scale must be coarse enough to count to 6 in 32 bits, not 1e-09",
        ),
        (
            File("HARD_SWISH").input((1, 2), 0.5, 0).output((1, 2), 257, 0),
            "its output's scale must be at most 512 times its input's",
        ),
        (
            File("HARD_SWISH").input((1, 2), 2e7, 0).output((1, 2), 2e7, 0),
            "its input's scale must be below 1e+07",
        ),
        (
            File("PADV2").input((1, 2), 1, 0).constant([[0, 0], [1, 1]]).constant(3, np.int8, 0.5, 0)
            .output((1, 4), 1, 0),
            "its value t2 must have the scale and zero point of t3",
        ),
        (
            File("CONCATENATION", {"Axis": 1, "FusedActivationFunction": 1})
            .input((1, 2), 1, 0, np.uint8).output((1, 2), 1, 0, np.uint8),
            "a fused activation is not supported",
        ),
    ],
)  # fmt: skip
def test_what_the_runtime_refuses_or_leaves_open_is_refused(file: File, fault: str) -> None:
    assert file.faults() == [fault]


EXTREMES = (1e-45, 1e-38, 1e-9, 1.0, 1e10, 1e29)
NO_OPTIONS = {"FusedActivationFunction": 0}


@pytest.mark.parametrize("scales", list(product(EXTREMES, repeat=2)))
def test_extreme_scales_are_read_or_refused(scales: tuple[float, float]) -> None:
    """Warnings are errors here."""
    x, y = (float(np.float32(scale)) for scale in scales)
    files = [
        File(kind).input((1, 2), x, 3).output((1, 2), y, 3) for kind in ("HARD_SWISH", "RELU6", "TANH", "QUANTIZE")
    ]
    files += [File("LEAKY_RELU", {"Alpha": alpha}).input((1, 2), x, 3).output((1, 2), y, 3) for alpha in (1e5, -1e-5)]
    files += [
        File(kind, NO_OPTIONS).input((1, 2), x, 3).input((1, 2), x, 3).output((1, 2), y, 3) for kind in ("ADD", "MUL")
    ]
    files += [
        layer(kind, dtype, bias_scale=0.0, scale=y, x_scale=x) for kind in LAYERS for dtype in (np.int8, np.uint8)
    ]
    files.append(File("SOFTMAX", {"Beta": 1e5}).input((1, 2), x, 3).output((1, 2), 1 / 256, -128))
    files.append(File("MEAN", {"KeepDims": 0}).input((1, 2, 3, 1), x, 3).constant([1, 2]).output((1, 1), y, 3))
    for file in files:
        try:
            network = file.network()
        except ModelError:
            continue
        values = network.evaluate(
            [np.zeros(network.tensors[i].shape, network.tensors[i].dtype) for i in network.inputs]
        )
        assert all(index in values for index in network.outputs)


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_a_layer_of_one_product(kind: str, dtype: Any) -> None:
    """5 * 1 * 0.25 / 0.5 = 2.5, in the middle, goes away from zero."""
    assert layer(kind, dtype).run([5])[0].reshape(-1).tolist() == [3]


def test_a_fully_connected_layer_has_its_factor_in_float64() -> None:
    """3 * 5 / 14 times 21: in real numbers 22.5, of which float64 keeps the half."""
    file = File("FULLY_CONNECTED", {"WeightsFormat": 0, "KeepNumDims": False, "FusedActivationFunction": 0})
    file.input((1, 1), 3, 0).constant([[1]], np.int8, 5).constant([0]).output((1, 1), 14, 0)
    assert file.run([21])[0].tolist() == [[23]]


@pytest.mark.parametrize(
    ("file", "fault"),
    [
        (
            File("PAD").input((1, 2), 1, 0).constant([[0, 0], [1, -1]]).output((1, 2), 1, 0),
            "its paddings must be 0 to 65536, and 0 along the first axis, not [[0, 0], [1, -1]]",
        ),
        (
            File("PAD").input((1, 2), 1, 0).constant([[0, 0]]).output((1, 2), 1, 0),
            "its paddings t1 must have shape [2, 2], not [1, 2]",
        ),
        (
            File("RESIZE_NEAREST_NEIGHBOR")
            .input((1, 1, 1, 1), 1, 0)
            .constant([1 << 28, 1])
            .output((1, 1 << 28, 1, 1), 1, 0),
            "its size must make 1 to 268435456 elements, 65536 a side, not [268435456, 1]",
        ),
        (
            File("RESIZE_NEAREST_NEIGHBOR").input((1, 2), 1, 0).constant([2, 2]).output((1, 2), 1, 0),
            "t0 must be a map of 4 axes, not of shape [1, 2]",
        ),
        (
            File("MEAN", {"KeepDims": 1}).input((1, 2, 2, 1), 1, 0).constant([1, 3]).output((1, 1, 2, 1), 1, 0),
            "must go over axes 1 and 2 of a map, not over [1, 3] of shape [1, 2, 2, 1]",
        ),
        (
            File("CONCATENATION", {"Axis": 1, "FusedActivationFunction": 0})
            .input((1, 2), 1, 0).input((1, 2), 2, 0).output((1, 4), 1, 0),
            "t1 must have the scale and zero point of t2, 1 and 0, not 2 and 0",
        ),
        (
            File("CONCATENATION", {"Axis": 2, "FusedActivationFunction": 0}).input((1, 2), 1, 0).output((1, 2), 1, 0),
            "its axis must be from -2 to 1, not 2",
        ),
        (
            File("SPLIT", {"NumSplits": 3}).constant(1).input((1, 4), 1, 0).output((1, 2), 1, 0),
            "must cut the 4 elements of axis 1 into equal parts, not into 3",
        ),
        (
            File("SPLIT", {"NumSplits": 2}).constant(1).input((1, 4), 1, 0).output((1, 2), 1, 0),
            "must write 2 tensors, not 1",
        ),
        (
            File("LEAKY_RELU", {"Alpha": float("nan")}).input((1, 2), 1, 0).output((1, 2), 1, 0),
            "its alpha must be -1e+06 to 1e+06, not nan",
        ),
        (
            File("HARD_SWISH").input((1, 2), 1, 0).output((1, 2), 1 / 1024, 0),
            "its output's scale must be above 1/128 of its input's",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_a_sentence(file: File, fault: str) -> None:
    assert file.faults() == [fault]
