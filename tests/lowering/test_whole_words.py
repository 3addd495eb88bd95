"""Channels that don't fill words, put together and cut with products by 0 and 1: the same bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilesim
from tests.networks import Weave
from tilesim.lowering.whole_words import is_odd, with_whole_words
from tilesim.network.graph import Network
from tilesim.network.operators import Concatenation, Slice

WORD = 4


def together(channels: tuple[int, ...], dtype: Any = np.int8, axis: int = 3) -> Network:
    weave = Weave()
    inputs = [weave.input(3, 5, count, dtype=dtype, zero_point=3) for count in channels]
    return weave.network(weave.add(Concatenation(axis), *inputs, zero_point=3))


def cut(begin: tuple[int, ...], size: tuple[int, ...], dtype: Any = np.int8) -> Network:
    weave = Weave()
    return weave.network(weave.add(Slice(begin, size), weave.input(5, 6, 11, dtype=dtype, zero_point=3), zero_point=3))


def must_be_the_same(network: Network, kinds: list[str]) -> None:
    [output] = network.outputs
    other = with_whole_words(network, {output}, WORD)
    assert [node.kind for node in other.nodes] == kinds
    weave = Weave()
    inputs = [
        weave.integers((2, *tensor.shape[1:]), tensor.dtype) for tensor in map(network.tensors.get, network.inputs)
    ]
    ours, theirs = network.evaluate(inputs)[output], other.evaluate(inputs)[output]
    assert ours.dtype == theirs.dtype
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize(("channels", "widened"), [((3, 5), 1), ((3, 8, 6, 1), 2), ((1, 1, 1), 2), ((4, 6, 8), 1)])
def test_what_is_put_together_is_widened_and_picked(channels: tuple[int, ...], widened: int, dtype: Any) -> None:
    must_be_the_same(together(channels, dtype), [*["convolution"] * widened, "concatenation", "convolution"])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_a_slice_is_picked(dtype: Any) -> None:
    must_be_the_same(cut((0, 0, 0, 3), (1, 5, 6, 5), dtype), ["convolution"])
    must_be_the_same(cut((0, 1, 2, 3), (1, 3, 4, 8), dtype), ["slice", "convolution"])


@pytest.mark.parametrize(
    "network",
    [together((4, 8, 3)), together((4, 4), axis=2), together((3, 3), np.int16), cut((0, 1, 1, 4), (1, 3, 3, 5))],
)
def test_others_are_left_as_they_are(network: Network) -> None:
    assert not is_odd(network, network.nodes[0], WORD)
    assert with_whole_words(network, {*network.outputs}, WORD) is network


@pytest.mark.parametrize("chip", ["edge-1x1", "edge-2x2", "edge-4x4"])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_tiles_make_them_between_their_layers(dtype: Any, chip: str) -> None:
    weave = Weave()
    maps = weave.convolution(weave.input(6, 7, 4, dtype=dtype, zero_point=3), 10)
    zero = weave.zero_point(maps)
    some = weave.add(Slice((0, 1, 0, 3), (1, 4, 7, 6)), maps, zero_point=zero)
    other = weave.add(Slice((0, 1, 0, 0), (1, 4, 7, 5)), maps, zero_point=zero)
    both = weave.add(Concatenation(3), some, other, some, zero_point=zero)
    network = weave.network(weave.convolution(both, 8))
    program = tilesim.compile(network, tilesim.load_topology(chip))
    assert {layer.place for layer in program.layers} == {"tiles"}
    x = weave.samples[network.inputs[0]]
    np.testing.assert_array_equal(tilesim.simulate(program, [x]).outputs[0], weave.samples[network.outputs[0]])


def test_at_the_end_the_host_does_it() -> None:
    weave = Weave()
    maps = weave.convolution(weave.input(6, 7, 4), 10)
    both = weave.add(Concatenation(3), maps, maps, zero_point=weave.zero_point(maps))
    program = tilesim.compile(weave.network(both), tilesim.load_topology("edge-2x2"))
    assert [layer.place for layer in program.layers] == ["tiles", "host"]
