"""Operators that move or look up bytes, between layers that read across tiles: every tensor is the golden one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilesim
from tests.networks import Weave
from tilesim.network.graph import Network
from tilesim.network.operators import (
    Add,
    Concatenation,
    Dequantise,
    MaxPool,
    Mean,
    Multiply,
    Pad,
    Padding,
    Rescale,
    ResizeNearest,
    Slice,
    Softmax,
    Table,
)
from tilesim.network.readers.tflite_data_movement import nearest
from tilesim.run import Run
from tilesim.tiled.compiler.tile_plan import plan_operators

CHIPS = ("edge-1x1", "edge-2x2", "edge-4x4")
CLAMP = (-128, 127)
TWICE = Rescale(-3, 4, "double", 1 << 30, 2, (0, 255), np.dtype(np.uint8))
SOFTMAX = Softmax(0.05, 1 / 256, -128, CLAMP)


def table(weave: Weave, dtype: Any = np.int8) -> Table:
    return Table("random", weave.integers((256,), dtype))


def check(network: Network, chip: str, missing: set[int] | None = None, **keys: Any) -> Run:
    """Two samples of every tensor, but for those ``missing``, and every output."""
    rng = np.random.default_rng(1)
    shapes = [network.tensors[i] for i in network.inputs]
    limits = [np.iinfo(tensor.dtype) for tensor in shapes]
    xs = [
        rng.integers(limit.min, limit.max + 1, (2, *tensor.shape[1:])).astype(tensor.dtype)
        for tensor, limit in zip(shapes, limits, strict=True)
    ]
    run = tilesim.simulate(tilesim.compile(network, tilesim.load_topology(chip, keys)), xs, keep_tensors=True)
    expected = network.evaluate(xs)
    for index, found in run.tensors.items():
        np.testing.assert_array_equal(found, expected[index], network.tensors[index].name)
    for index, output in zip(network.outputs, run.outputs, strict=True):
        assert output.dtype == expected[index].dtype
        np.testing.assert_array_equal(output, expected[index])
    assert {node.output for node in network.nodes} - run.tensors.keys() == (missing or set())
    return run


def around(make: Callable[[Weave, int], int], size: tuple[int, int, int] = (9, 11, 8)) -> Network:
    """A convolution, what ``make`` adds to it, and another convolution."""
    return around_of(make, np.dtype(np.int8), size)


def around_of(
    make: Callable[[Weave, int], int], dtype: np.dtype[Any], size: tuple[int, int, int] = (9, 11, 8)
) -> Network:
    """The same of a dtype."""
    weave = Weave(wide_sums=True)
    x = weave.input(*size, dtype=dtype, zero_point=-7 if dtype == np.int8 else 0)
    return weave.network(weave.convolution(make(weave, weave.convolution(x, 12)), 5))


def resized(height: int, width: int, *, align: bool = False, centred: bool = False) -> Callable[[Weave, int], int]:
    def make(weave: Weave, x: int) -> int:
        old = weave.samples[x].shape[1:3]
        rows, columns = (nearest(n, m, align=align, centred=centred) for n, m in zip(old, (height, width), strict=True))
        return weave.add(ResizeNearest(rows, columns), x, zero_point=weave.zero_point(x))

    return make


def multiplied(weave: Weave, x: int) -> int:
    scaling = (weave.zero_point(x), 5, -20, 1 << 30, -5)
    other = weave.add(table(weave), x, zero_point=5)
    return weave.add(Multiply("double", scaling, (-100, 127)), x, other, zero_point=-20)


def put_together(weave: Weave, x: int) -> int:
    zero_point = weave.zero_point(x)
    parts = x, weave.convolution(x, 4, 1), weave.convolution(x, 6, 1)
    return weave.add(Concatenation(3), *parts, zero_point=zero_point)


def cut_apart(weave: Weave, x: int) -> int:
    zero_point, shape = weave.zero_point(x), weave.samples[x].shape
    parts = [
        weave.add(Slice((0, 0, 0, k), (*shape[:3], count)), x, zero_point=zero_point)
        for k, count in ((0, 4), (8, 4), (4, 4))
    ]
    summed = weave.add(Multiply("double", (0, 0, 3, 1 << 30, -5), CLAMP), *parts[:2], zero_point=3)
    return weave.add(Concatenation(3), parts[2], summed, zero_point=3)


def bordered(weave: Weave, x: int) -> int:
    zero_point = weave.zero_point(x)
    wide = weave.add(Pad((0, 2, 1, 0), (0, 1, 3, 0), zero_point), x, zero_point=zero_point)
    return weave.add(MaxPool((3, 2), (2, 1), Padding(), CLAMP), wide, zero_point=zero_point)


def cropped(weave: Weave, x: int) -> int:
    return weave.add(Slice((0, 3, 2, 4), (1, 5, 7, 6)), x, zero_point=weave.zero_point(x))


LAYERS = {
    "table": lambda weave, x: weave.add(table(weave), x, zero_point=9),
    "unsigned": lambda weave, x: weave.convolution(weave.add(TWICE, x, zero_point=4), 8, unsigned=True),
    "dilated": lambda weave, x: weave.convolution(x, 8, padding=Padding(2, 4, 2, 4), dilations=(2, 4)),
    "multiply": multiplied,
    "concatenation": put_together,
    "split": cut_apart,
    "border": bordered,
    "crop": cropped,
    "twice": resized(18, 22),
    "odd": resized(13, 25),
    "smaller": resized(4, 5),
    "corners": resized(20, 7, align=True),
    "centres": resized(30, 16, centred=True),
}


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_between_layers_that_read_across_tiles(layer: str, chip: str) -> None:
    check(around(LAYERS[layer]), chip)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("kernel", ["convolution", "depthwise"])
def test_a_border_of_zero_points_becomes_padding(kernel: str, chip: str) -> None:
    weave = Weave()
    x = weave.convolution(weave.input(8, 9, 3), 8)
    wide = weave.add(Pad((0, 1, 2, 0), (0, 2, 1, 0), weave.zero_point(x)), x, zero_point=weave.zero_point(x))
    moves = {"strides": (2, 2), "padding": Padding()}
    y = weave.convolution(wide, 6, **moves) if kernel == "convolution" else weave.depthwise(wide, **moves)
    program_run = check(weave.network(y), chip, missing={wide})
    assert program_run.statistics["layers"][1]["breakdown"].get("busy", 0) == 0


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("kept", [True, False])
def test_means_feed_fully_connected_layers(kept: bool, chip: str) -> None:
    weave = Weave()
    x = weave.convolution(weave.input(7, 6, 4), 70)
    shape = (1, 1, 1, 70) if kept else (1, 70)
    mean = Mean(shape, weave.zero_point(x), 3, "double", (1 << 30) // 42, 2, CLAMP)
    check(weave.network(weave.fully_connected(weave.add(mean, x, zero_point=3), 130, unsigned=True)), chip)


@pytest.mark.parametrize("chip", CHIPS)
def test_vectors_are_looked_up_and_put_together_too(chip: str) -> None:
    weave = Weave()
    x = weave.input(5, 4, 4)
    parts = [weave.fully_connected(x, units) for units in (132, 70)]
    whole = weave.add(Concatenation(1), *parts, zero_point=weave.zero_point(parts[0]))
    half = weave.add(Slice((0, 100), (1, 90)), weave.add(table(weave), whole))
    check(weave.network(weave.fully_connected(half, 9)), chip)


@pytest.mark.parametrize("chip", CHIPS)
def test_several_outputs_and_what_the_host_does_to_them(chip: str) -> None:
    weave = Weave()
    x = weave.convolution(weave.input(6, 7, 4), 8)
    map_ = weave.add(SOFTMAX, x, zero_point=-128)
    to_unsigned = Rescale(-128, 0, "double", 1 << 30, 1, (0, 255), np.dtype(np.uint8))
    unsigned = weave.add(to_unsigned, map_)
    vector = weave.add(SOFTMAX, weave.fully_connected(x, 10), zero_point=-128)
    looked_up = weave.add(table(weave, np.uint8), vector)
    reals = weave.add(Dequantise(0.25, 3), looked_up), weave.add(Dequantise(0.5, -1), x)
    network = weave.network(map_, unsigned, *reals, x)
    check(network, chip, missing={vector, looked_up})


def test_a_table_in_rows_of_other_sizes() -> None:
    for row_bytes, lanes in ((128, 32), (512, 64)):
        check(around(LAYERS["table"]), "edge-2x2", **{"wide_memory.row_bytes": row_bytes, "tile.lanes": lanes})


def test_what_tiles_cannot_do_is_said_at_once_and_the_host_does_it() -> None:
    weave = Weave()
    x = weave.input(4, 4, 6)
    zero_point = weave.zero_point(x)
    first = weave.add(Pad((0, 0, 0, 2), (0, 0, 0, 0), zero_point), x)
    second = weave.add(Pad((0, 1, 1, 0), (0, 1, 1, 0), 99), x)
    third = weave.add(Slice((0, 0, 0, 2), (1, 4, 4, 4)), x)
    fourth = weave.add(Concatenation(3), x, x)
    fifth = weave.add(Concatenation(1), x, x)
    sixth = weave.add(Multiply("double", (0, 0, 0, 1 << 30, 0), CLAMP), x, weave.add(LAST_ROW, x))
    seventh = weave.add(Add("double", (0,) * 9, CLAMP), x, weave.constant(np.ones((1, 4, 4, 6), np.int8)))
    network = weave.network(first, second, third, fourth, fifth, sixth, seventh)
    with pytest.raises(tilesim.CapacityError) as caught:
        plan_operators(network, 4)
    assert [fault.split(") ", 1)[1] for fault in caught.value.faults] == [
        "must pad the rows and columns of a map, not its channels",
        "must pad with its input's zero point -7, not with 99",
        "must begin at a multiple of 4 channels, not at channel 2",
        "must have multiples of 4 channels in all inputs but the last, not 6",
        "must put tensors together along their channels, not along axis 1",
        "must multiply tensors of one shape, not (1, 1, 4, 6) and (1, 4, 4, 6)",
        "must work on activations, not on the constant constant",
    ]
    program = tilesim.compile(network, tilesim.load_topology("edge-2x2"))
    assert [layer.place for layer in program.layers] == ["host"] * 8
    run = tilesim.simulate(program, [weave.samples[index] for index in network.inputs])
    for index, output in zip(network.outputs, run.outputs, strict=True):
        np.testing.assert_array_equal(output, weave.samples[index])


LAST_ROW = Slice((0, 3, 0, 0), (1, 1, 4, 6))


@pytest.mark.parametrize("columns", [1, 3, 5])
def test_a_tile_whose_part_is_all_border_has_a_place_for_it(columns: int) -> None:
    """Two columns a tile, and the third one begins where the map before ends."""
    weave = Weave()
    x = weave.convolution(weave.input(10, 4, 3), 12)
    zero_point = weave.zero_point(x)
    wide = weave.add(Pad((0, 0, 0, 0), (0, 0, columns, 0), zero_point), x, zero_point=zero_point)
    check(weave.network(wide), "edge-4x4", grid="1x3")
