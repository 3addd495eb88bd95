"""Machines refuse in a sentence what they can't compute yet; differences they run as sums."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilesim
from scripts.tflite_writer import TfliteFile
from tilesim.errors import CapacityError
from tilesim.network.graph import Network

TILES = "edge-1x2"
CHIPS = ("systolic-4", "nnu-1024", "nnu-512")
MOVES = {"Padding": 1, "StrideW": 1, "StrideH": 1}
DILATED = {**MOVES, "DilationWFactor": 1, "DilationHFactor": 1}
MAP = (1, 2, 2, 4)


def network(
    folder: Path, kind: str, dtype: Any, constants: list[tuple[Any, Any]], second: bool, **options: Any
) -> Network:
    """One operator of an input, or of two, with constants; of a transposed convolution these come first."""
    file = TfliteFile()
    given = [file.tensor(MAP, dtype, [0.5], name="x")]
    given += [file.tensor(MAP, dtype, [0.5], name="b")] if second else []
    held = []
    for data, own in constants:
        array = np.asarray(data, own)
        held.append(file.tensor(array.shape, own, [0.5] if array.ndim == 4 else [], data=array))
    made = file.tensor(MAP, dtype, [0.5 if kind != "CONV_2D" else 9.0], name="made")
    inputs = [*held, *given] if kind == "TRANSPOSE_CONV" else [*given, *held]
    file.operator(kind, inputs, [made], **options)
    path = folder / "model.tflite"
    path.write_bytes(file.written(given, [made]))
    return tilesim.load_network(path)


ONES = np.ones((4, 1, 1, 4))
CASES: list[tuple[str, Any, list[tuple[Any, Any]], bool, dict[str, Any]]] = [
    ("CONV_2D", np.int16, [(ONES, np.int8), ([0] * 4, np.int64)], False, DILATED),
    ("DEPTHWISE_CONV_2D", np.int16, [(np.ones((1, 1, 1, 4)), np.int8)], False, {**DILATED, "DepthMultiplier": 1}),
    ("ADD", np.int16, [], True, {"PotScaleInt16": False}),
    ("ADD", np.int16, [], True, {"PotScaleInt16": True}),
    ("SUB", np.int16, [], True, {"PotScaleInt16": False}),
    ("LEAKY_RELU", np.int16, [], False, {"Alpha": 0.25}),
    ("TRANSPOSE_CONV", np.int8, [(MAP, np.int32), (ONES, np.int8)], False, MOVES),
    ("STRIDED_SLICE", np.int8, [([0] * 4, np.int32), (MAP, np.int32), ([1, 1, -1, 1], np.int32)], False,
     {"BeginMask": 15, "EndMask": 15}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("chip", "kind", "dtype", "constants", "second", "options"), [(chip, *case) for chip in CHIPS for case in CASES]
)
def test_what_a_machine_does_not_compute_is_refused_by_its_name(
    chip: str, kind: str, dtype: Any, constants: Any, second: bool, options: dict[str, Any], tmp_path: Path
) -> None:
    one = network(tmp_path, kind, dtype, constants, second, **options)
    with pytest.raises(CapacityError) as caught:
        tilesim.compile(one, tilesim.load_topology(chip))
    assert any("node made (" in fault for fault in caught.value.faults)


@pytest.mark.parametrize(("kind", "dtype", "constants", "second", "options"), CASES)
def test_tiles_or_their_host_compute_it(
    kind: str, dtype: Any, constants: Any, second: bool, options: dict[str, Any], tmp_path: Path
) -> None:
    one = network(tmp_path, kind, dtype, constants, second, **options)
    program = tilesim.compile(one, tilesim.load_topology(TILES))
    assert {layer.place for layer in program.layers} == {"host" if kind == "STRIDED_SLICE" else "tiles"}


def test_the_sentences_say_why(tmp_path: Path) -> None:
    said = []
    for kind, dtype, constants, second, options in CASES[:5]:
        support = tilesim.support(
            _written(tmp_path, kind, dtype, constants, second, options), tilesim.load_topology("systolic-4")
        )
        said += [sentence.partition(") ")[2] for obstacle in support.obstacles for sentence in obstacle["sentences"]]
    assert said == [
        "must have a bias of int32, not t2 of int64",
        "must have a bias of int32, not made/no_bias of int64",
        "must not add int16 with 15 bits of headroom, which no unit does",
        "must not add int16 by shifts, as scales that are powers of two ask for, which no unit does",
        "must not add int16 with 15 bits of headroom, which no unit does",
    ]


def _written(folder: Path, kind: str, dtype: Any, constants: Any, second: bool, options: dict[str, Any]) -> Path:
    network(folder, kind, dtype, constants, second, **options)
    return folder / "model.tflite"


POOL = {**MOVES, "FilterHeight": 1, "FilterWidth": 1}
OF_WORDS: list[tuple[str, list[tuple[Any, Any]], bool, dict[str, Any]]] = [
    *((kind, constants, second, options) for kind, dtype, constants, second, options in CASES if dtype is np.int16),
    ("MAX_POOL_2D", [], False, POOL),
    ("RESHAPE", [], False, {"NewShape": MAP}),
    ("PAD", [(np.zeros((4, 2)), np.int32)], False, {}),
]


@pytest.mark.parametrize(("kind", "constants", "second", "options"), OF_WORDS)
def test_tiles_compute_words_of_16_bits(
    kind: str, constants: Any, second: bool, options: dict[str, Any], tmp_path: Path
) -> None:
    one = network(tmp_path, kind, np.int16, constants, second, **options)
    random = np.random.default_rng(1)
    xs = [random.integers(-32768, 32768, one.tensors[index].shape).astype(np.int16) for index in one.inputs]
    run = tilesim.simulate(tilesim.compile(one, tilesim.load_topology(TILES)), xs)
    np.testing.assert_array_equal(run.outputs[0], one.evaluate(xs)[one.outputs[0]])


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_differences_of_bytes_are_run(dtype: Any, chip: str, tmp_path: Path) -> None:
    one = network(tmp_path, "SUB", dtype, [], True)
    program, rng = tilesim.compile(one, tilesim.load_topology(chip)), np.random.default_rng(0)
    limits = np.iinfo(dtype)
    inputs = [rng.integers(limits.min, limits.max, MAP, endpoint=True).astype(dtype) for _ in range(2)]
    np.testing.assert_array_equal(tilesim.simulate(program, inputs).outputs[0], one.evaluate(inputs)[one.outputs[0]])
    if chip != "systolic-4":
        assert tilesim.verify(program, inputs).agree


@pytest.mark.parametrize("shape", [(1, 2, 2, 1), (4,), (1, 1, 2, 4), (1, 2, 1, 4)])
def test_a_rotating_machine_refuses_constants_of_another_shape(shape: tuple[int, ...], tmp_path: Path) -> None:
    file = TfliteFile()
    x, y = (file.tensor(MAP, np.int8, [0.5], name=name) for name in ("x", "y"))
    held = file.tensor(shape, np.int8, [0.5], name="held", data=np.ones(shape, np.int8))
    file.operator("ADD", [x, held], [y])
    (tmp_path / "model.tflite").write_bytes(file.written([x], [y]))
    with pytest.raises(CapacityError, match=r"node y \(add\) must read constants of the \(2, 2, 4\) that it makes"):
        tilesim.compile(tilesim.load_network(tmp_path / "model.tflite"), tilesim.load_topology("nnu-1024"))


def test_a_rotating_machine_slices_what_a_reshape_made_a_vector(tmp_path: Path) -> None:
    file = TfliteFile()
    shapes = ((1, 1, 1, 3), (1, 1, 1, 3), (1, 3), (1, 1))
    x, pooled, flat, y = (file.tensor(shape, np.int8, [0.5]) for shape in shapes)
    begin, size = (file.tensor((2,), np.int32, data=np.array(each, np.int32)) for each in ([0, 2], [1, 1]))
    file.operator("MAX_POOL_2D", [x], [pooled], **MOVES, FilterHeight=1, FilterWidth=1)
    file.operator("RESHAPE", [pooled], [flat], NewShape=(1, 3))
    file.operator("SLICE", [flat, begin, size], [y])
    (tmp_path / "model.tflite").write_bytes(file.written([x], [y]))
    one = tilesim.load_network(tmp_path / "model.tflite")
    program = tilesim.compile(one, tilesim.load_topology("nnu-512"))
    run = tilesim.simulate(program, [np.array([1, 2, 3], np.int8).reshape(shapes[0])])
    assert run.outputs[0].tolist() == [[3]]
