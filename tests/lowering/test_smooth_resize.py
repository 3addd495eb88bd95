"""Bilinear resizes made of copies and a mean: the same bits, wherever they are made so."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import tilesim
from tests.networks import Weave
from tilesim.lowering.smooth_resize import is_smooth, with_smooth_resizes
from tilesim.network.graph import Network
from tilesim.network.operators import ResizeBilinear

RULES = {np.int8: "fixed", np.uint8: "real"}


def resized(shape: tuple[int, int], size: tuple[int, int], dtype: Any, seed: int = 0, **more: bool) -> Network:
    weave = Weave(rng=np.random.default_rng(seed))
    x = weave.input(*shape, 5, dtype=dtype)
    how = {"align": False, "centred": True, **more}
    return weave.network(weave.add(ResizeBilinear(size, rule=RULES.get(dtype, "fixed"), **how), x, zero_point=-7))


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("dtype", RULES)
def test_all_powers_of_two_give_the_same_bits(dtype: Any, centred: bool) -> None:
    times = (1, 2, 4, 8)
    for seed, (fy, fx, (height, width)) in enumerate(product(times, times, ((1, 1), (1, 3), (2, 3), (5, 4)))):
        network = resized((height, width), (fy * height, fx * width), dtype, seed, centred=centred)
        x = Weave(rng=np.random.default_rng(seed)).integers((3, height, width, 5), dtype)
        [output] = network.outputs
        smooth = with_smooth_resizes(network, {output})
        assert all(node.kind != "resizebilinear" for node in smooth.nodes)
        np.testing.assert_array_equal(smooth.evaluate(x)[output], network.evaluate(x)[output])
        assert smooth.evaluate(x)[output].dtype == dtype


def test_one_pixel_is_copied_to_any_size() -> None:
    network = resized((1, 1), (6, 7), np.int8)
    smooth = with_smooth_resizes(network, {*network.outputs})
    assert [node.kind for node in smooth.nodes] == ["resizenearest"]
    x = Weave().integers((1, 1, 1, 5))
    np.testing.assert_array_equal(smooth.evaluate(x)[network.outputs[0]], network.evaluate(x)[network.outputs[0]])


@pytest.mark.parametrize(
    ("size", "more"),
    [
        ((9, 8), {}),
        ((16, 8), {"align": True, "centred": False}),
        ((64, 4), {}),
        ((3, 8), {}),
    ],
)
def test_others_are_left_as_they_are(size: tuple[int, int], more: dict[str, bool]) -> None:
    network = resized((4, 4), size, np.int8, **more)
    assert not is_smooth(network, network.nodes[0])
    assert with_smooth_resizes(network, {*network.outputs}) is network


def test_int16_is_left_as_it_is() -> None:
    network = resized((4, 4), (8, 8), np.int16)
    assert not is_smooth(network, network.nodes[0])


def test_those_that_nobody_asks_for_are_left_as_they_are() -> None:
    network = resized((4, 4), (8, 8), np.int8)
    assert with_smooth_resizes(network, ()) is network


@pytest.mark.parametrize("chip", ["edge-1x1", "edge-2x2", "edge-4x4"])
@pytest.mark.parametrize("dtype", RULES)
def test_tiles_make_them_between_their_layers(dtype: Any, chip: str) -> None:
    """At the end of a network the host does: the map would leave the tiles larger than need be."""
    weave = Weave()
    maps = weave.convolution(weave.input(5, 6, 4, dtype=dtype, zero_point=3), 8)
    larger = weave.add(ResizeBilinear((10, 24), False, True, RULES[dtype]), maps, zero_point=weave.zero_point(maps))
    again = weave.add(ResizeBilinear((10, 12), False, True, RULES[dtype]), maps, zero_point=weave.zero_point(maps))
    network = weave.network(weave.convolution(larger, 8), again)
    program = tilesim.compile(network, tilesim.load_topology(chip))
    assert [(layer.name, layer.place) for layer in program.layers] == [
        ("Convolution0", "tiles"), ("ResizeBilinear1/nearest", "tiles"), ("ResizeBilinear1", "tiles"),
        ("ResizeBilinear2", "host"), ("Convolution3", "tiles"),
    ]  # fmt: skip
    x = weave.samples[network.inputs[0]]
    for index, output in zip(network.outputs, tilesim.simulate(program, [x]).outputs, strict=True):
        np.testing.assert_array_equal(output, weave.samples[index])


def test_where_there_is_no_room_for_them_the_host_does() -> None:
    weave = Weave()
    maps = weave.convolution(weave.input(16, 16, 4), 16)
    larger = weave.add(ResizeBilinear((64, 64), False, True, "fixed"), maps, zero_point=weave.zero_point(maps))
    network = weave.network(weave.fully_connected(larger, 4))
    for size, places in (("192KiB", "tttt"), ("70KiB", "tht")):
        program = tilesim.compile(network, tilesim.load_topology("edge-1x1", {"narrow_memory.size_bytes": size}))
        assert "".join(layer.place[0] for layer in program.layers) == places
