"""Host tensors to rows and back, in any blocks."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tiled.programs import program
from tilesim.sim.core.memory import Bytes
from tilesim.tiled.isa.checks.tensors import input_faults, output_faults
from tilesim.tiled.isa.model.program import Block, HostTensor
from tilesim.tiled.run.host_driver import HostSide, output_array

ROW = 16  # of pocket-2x1
SHAPES = st.tuples(*[st.integers(1, 6)] * 3)
AXES = st.permutations([1, 2, 3]).map(lambda axes: (0, *axes))


def block(
    origin: tuple[int, int, int], extent: tuple[int, int, int], spare_bytes: int = 0, spare_rows: int = 0
) -> Block:
    pixel_bytes = extent[2] + spare_bytes
    return Block(origin, extent, pixel_bytes, -(-extent[0] * extent[1] * pixel_bytes // ROW) + spare_rows)


@st.composite
def tilings(draw: st.DrawFn) -> HostTensor:
    """A tensor cut into a grid of blocks, in any order, each padded in its own way."""
    extent, axes = draw(SHAPES), draw(AXES)
    cuts = [sorted({0, size, *draw(st.lists(st.integers(1, size), max_size=2))}) for size in extent]
    spans = [list(pairwise(cut)) for cut in cuts]
    boxes = [(y, x, c) for y in spans[0] for x in spans[1] for c in spans[2]]
    blocks = [
        block(
            (y[0], x[0], c[0]),
            (y[1] - y[0], x[1] - x[0], c[1] - c[0]),
            draw(st.integers(0, 3)),
            draw(st.integers(0, 1)),
        )
        for y, x, c in draw(st.permutations(boxes))
    ]
    canonical = (1, *extent)
    shape = tuple(canonical[axis] for axis in axes)
    return HostTensor("t", 0, "int8", shape, axes, "i8", extent, tuple(blocks), pad=-7)


def model_array(tensor: HostTensor, samples: int) -> np.ndarray:
    return np.random.default_rng(1).integers(-128, 128, (samples, *tensor.shape[1:])).astype(np.int8)


def sent(tensor: HostTensor, array: np.ndarray) -> Bytes:
    rows = HostSide(replace(program(""), inputs=(tensor,)), [array]).rows
    assert {row.shape for row in rows} == {(len(array) // tensor.shape[0], ROW)}
    assert len(rows) == tensor.rows
    return np.concatenate(rows, axis=1)


@given(tilings(), st.integers(1, 3))
def test_what_goes_in_block_by_block_comes_out_the_same(tensor: HostTensor, samples: int) -> None:
    array = model_array(tensor, samples)
    assert list(output_faults(tensor, ROW)) == []
    assert np.array_equal(output_array(tensor, sent(tensor, array)), array)


@given(SHAPES, st.data())
def test_a_block_is_a_slice_with_each_pixel_and_then_the_rows_padded(
    extent: tuple[int, int, int], data: st.DataObject
) -> None:
    origin = tuple(data.draw(st.integers(0, size - 1)) for size in extent)
    size = tuple(data.draw(st.integers(1, whole - start)) for whole, start in zip(extent, origin, strict=True))
    part = block(origin, size, data.draw(st.integers(0, 3)), 1)  # type: ignore[arg-type]
    tensor = HostTensor("t", 0, "int8", (1, *extent), (0, 1, 2, 3), "i8", extent, (part, part), pad=-7)
    array = model_array(tensor, 2)
    [y, x, c] = part.place
    padded = np.pad(array[:, y, x, c], [(0, 0)] * 3 + [(0, part.pixel_bytes - size[2])], constant_values=-7)
    flat = padded.reshape(2, -1)
    once = np.pad(flat, [(0, 0), (0, part.rows * ROW - flat.shape[1])], constant_values=-7)
    assert np.array_equal(sent(tensor, array).view(np.int8), np.concatenate([once, once], axis=1))


@pytest.mark.parametrize("model_shape", [(1, 24), (24,), (2, 12), (1, 2, 3, 4)])
def test_a_model_tensor_of_any_shape_folds_into_the_map(model_shape: tuple[int, ...]) -> None:
    """A flattened output has the blocks of the map that it was flattened from."""
    halves = tuple(block((y, 0, 0), (1, 3, 4), 4) for y in range(2))
    axes = tuple(range(len(model_shape)))
    tensor = HostTensor("t", 0, "float32", model_shape, axes, "u8", (2, 3, 4), halves, scale=0.5, zero_point=3)
    numbers = np.arange(prod(model_shape), dtype=np.float32).reshape(model_shape) / 2
    assert np.array_equal(output_array(tensor, sent(tensor, numbers)), numbers)


def finished(rows: np.ndarray, **steps: Any) -> np.ndarray:
    """What becomes of a map of 1 x 2 pixels of 4 channels, bytes as they come."""
    tensor = HostTensor("t", 0, steps.pop("dtype", "int8"), (1, 1, 2, 4), (0, 1, 2, 3), "i8", (1, 2, 4), (), **steps)
    tensor = replace(tensor, blocks=(block((0, 0, 0), (1, 2, 4)),))
    assert not list(output_faults(tensor, ROW))
    data = np.zeros((1, ROW), np.uint8)
    data[0, :8] = rows
    return output_array(tensor, data)


def test_the_host_finishes_an_output() -> None:
    """A softmax of equal channels, a look-up, and a dequantisation of what was looked up."""
    one, half = (int(np.float32(real).view(np.int32)) for real in (1.0, 1 / 64))
    steps = {"function": "softmax", "scaling": (one, half, -100, -128, 127)}
    assert (finished(np.full(8, 5), **steps) == 16 - 100).all()
    lookup = tuple(range(255, -1, -1))
    assert finished(np.arange(8), lookup=lookup, dtype="uint8").tolist()[0][0][1] == [251, 250, 249, 248]
    reals = finished(np.full(8, 5), lookup=lookup, scale=0.5, zero_point=50, dtype="float32")
    assert (reals == 100).all()
    assert reals.dtype == np.float32


@pytest.mark.parametrize(
    ("steps", "fault"),
    [
        ({"lookup": (1, 2)}, "lookup must be 256 numbers from -128 to 255, not 2"),
        ({"lookup": (300,) * 256}, "lookup must be 256 numbers from -128 to 255, not 256"),
        (
            {"function": "softmx"},
            "function must be a function of the classifier, not 'softmx'; did you mean 'softmax'?",
        ),
        ({"function": "softmax"}, "scaling must hold 5 numbers for softmax, not 0"),
        ({"scaling": (1,)}, "scaling must hold no numbers without a function, not 1"),
        ({"function": "top_k_values", "scaling": (5,)}, "scaling must choose from 1 to 4 for top_k_values, not 5"),
        ({"function": "argmax"}, "dtype must be int32, or int64, or float32 with a scale, not int8 with the scale 0.0"),
        ({"function": "argmax"}, "extent must be that of a map of 4 elements, not (1, 1, 1)"),
        ({"function": "argmax", "scale": 0.5}, "lookup and scale must not be given for argmax, which makes places"),
        ({"lookup": (200,) * 256}, "dtype must be uint8, or float32 with a scale, not int8 with the scale 0.0"),
    ],
)
def test_steps_without_a_meaning_are_faults(steps: dict[str, Any], fault: str) -> None:
    tensor = HostTensor("t", 0, "int8", (1, 4), (0, 1), "i8", (1, 1, 4), (block((0, 0, 0), (1, 1, 4)),), **steps)
    assert fault in list(output_faults(tensor, ROW))


def test_the_host_chooses_from_the_channels_of_each_pixel() -> None:
    data = np.zeros((1, ROW), np.uint8)
    data[0, :8] = [1, 7, 7, 0, 250, 3, 2, 3]
    tensor = HostTensor("t", 0, "int64", (1, 1, 2), (0, 1, 2), "i8", (1, 2, 4), (block((0, 0, 0), (1, 2, 4)),))
    places = output_array(replace(tensor, function="argmax"), data)
    assert (places.tolist(), places.dtype) == ([[[1, 1]]], np.int64)
    largest = replace(
        tensor, function="top_k_values", scaling=(2,), dtype="int8", shape=(1, 1, 2, 2), axes=(0, 1, 2, 3)
    )
    assert not list(output_faults(largest, ROW))
    assert output_array(largest, data).tolist() == [[[[7, 7], [3, 3]]]]


def test_places_come_in_four_bytes() -> None:
    reply = HostTensor("t", 0, "int64", (1, 3), (0, 1), "i32", (1, 1, 3), (Block((0, 0, 0), (1, 1, 3), 12, 1),))
    assert not list(output_faults(reply, ROW))
    data = np.zeros((2, ROW), np.uint8)
    data[:, :12] = np.array([[1, 300, 70000], [2, 0, 5]], "<i4").view(np.uint8)
    found = output_array(reply, data)
    assert (found.tolist(), found.dtype) == ([[1, 300, 70000], [2, 0, 5]], np.int64)
    for steps in ({"lookup": (1,) * 256}, {"function": "argmax"}, {"scale": 0.5}):
        fault = "function, lookup and scale must not be given for places, which the host takes as they are"
        assert fault in list(output_faults(replace(reply, **steps), ROW))
    (fault,) = input_faults(reply, ROW)
    assert fault.startswith("element must be a type, not 'i32'")
    tight = replace(reply, blocks=(Block((0, 0, 0), (1, 1, 3), 3, 1),))
    assert list(output_faults(tight, ROW)) == ["block 0: pixel_bytes must hold the 3 channels, not 3"]
