"""What the host computes of a network, and what is left for the chip."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tilesim
from tests.networks import Weave
from tests.tiled.hosted import SOFTMAX, every_other, hosted
from tilesim.machines.options import CompileOptions
from tilesim.machines.policies import CachePolicy, PartitionPolicy, Wishes
from tilesim.network.graph import Network
from tilesim.network.operators import ArgMax, Concatenation, Dequantise, Padding, Quantise, Reshape
from tilesim.network.operators.pad import Pad
from tilesim.tiled.compiler.chip_part import ChipPart, awaits_of, early_outputs, layer_number
from tilesim.tiled.compiler.host_split import HostSplit, of_parts, split
from tilesim.tiled.isa.model.instructions import Infeed, Outfeed

INT32 = np.dtype(np.int32)


def parted(network: Network, word_bytes: int = 4) -> HostSplit:
    return split(network, word_bytes, Wishes())


def test_a_network_that_tiles_can_do_is_left_alone() -> None:
    network = tilesim.load_network("digits")
    assert parted(network).part is network
    assert not parted(network).host
    assert (awaits_of(network), early_outputs(network), layer_number(network, 3)) == ({}, frozenset(), 3)


def test_what_follows_a_step_and_leads_to_no_more_products_stays() -> None:
    """The sum reads what tiles make, too."""
    weave = Weave()
    maps = weave.convolution(weave.input(6, 6, 4), 8)
    likely = weave.add(SOFTMAX, maps, zero_point=-128)
    chosen = weave.add(ArgMax(INT32), weave.add(Concatenation(3), likely, maps))
    assert parted(weave.network(chosen)).host == {1, 2, 3}


def test_what_is_computed_in_between_is_the_tiles() -> None:
    network, _ = hosted("middle")
    both = parted(network)
    assert both.host == {1, 4, 5}
    assert isinstance(both.part, ChipPart)
    assert both.layers == (0, 2, 3, 6)
    assert [layer_number(both.part, k) for k in range(4)] == [0, 2, 3, 6]
    small, other, deep, last = (network.nodes[k].output for k in (1, 2, 3, 5))
    maps = network.nodes[0].output
    assert both.part.outputs == (network.outputs[0], maps, other, deep)
    assert both.part.inputs == (network.inputs[0], small, last)
    assert both.part.awaits == {small: {maps}, last: {other, deep}}
    assert both.part.early == {maps, other, deep}


def test_layers_after_a_convolution_are_the_tiles_again() -> None:
    weave = Weave()
    maps = weave.convolution(every_other(weave, weave.input(12, 12, 4)), 8)
    assert parted(weave.network(weave.add(SOFTMAX, weave.fully_connected(maps, 5)))).host == {0}


def test_what_only_moves_bytes_before_a_step_is_the_hosts() -> None:
    """But not what convolutions read as well."""
    weave = Weave()
    x = weave.input(6, 6, 4)
    border = weave.add(Pad((0, 1, 1, 0), (0, 1, 1, 0), -7), x, zero_point=-7)
    some = weave.add(Reshape((1, 32, 8)), border, zero_point=-7)
    assert parted(weave.network(some)).host == {0, 1}
    other = weave.convolution(border, 8, padding=Padding())
    assert parted(weave.network(some, other)).host == {1}


@pytest.mark.parametrize(
    ("dtype", "zero_point", "places"),
    [(np.int8, -7, "tt"), (np.int16, 0, "tt"), (np.int16, 3, "hh"), (np.int32, 0, "hh")],
)
def test_numbers_that_tiles_do_not_hold_are_the_hosts(dtype: Any, zero_point: int, places: str) -> None:
    weave = Weave()
    x = weave.input(6, 6, 4, dtype=dtype, zero_point=zero_point)
    y = weave.add(Concatenation(3), x, weave.add(Concatenation(3), x, x))
    program = tilesim.compile(weave.network(y), tilesim.load_topology("edge-1x1"))
    assert "".join(layer.place[0] for layer in program.layers) == places
    assert sum(isinstance(op, Infeed | Outfeed) for op in program.run) == (0 if places == "hh" else 2)


def test_reals_in_the_middle_never_cross_the_link() -> None:
    weave = Weave()
    reals = weave.add(Dequantise(0.05, 3), weave.convolution(weave.input(6, 6, 4), 8))
    tensor = weave.tensors[reals]
    weave.tensors[reals] = replace(tensor, quantisation=None)
    again = weave.add(Quantise(0.07, -4, np.dtype(np.int8), "even"), reals, zero_point=-4)
    network = weave.network(weave.convolution(again, 8))
    program = tilesim.compile(network, tilesim.load_topology("edge-2x2"))
    x = weave.samples[network.inputs[0]]
    np.testing.assert_array_equal(tilesim.simulate(program, [x]).outputs[0], network.evaluate(x)[network.outputs[0]])
    assert [*program.at_host] == [1, 2]
    assert [(tensor.element, tensor.dtype) for tensor in (*program.taken, *program.given)] == [("i8", "int8")] * 2


def test_what_is_asked_of_layers_is_asked_of_the_same_ones() -> None:
    splits = [parted(tilesim.load_network("digits")), parted(hosted("middle")[0])]
    asked = CompileOptions(
        PartitionPolicy("spatial", ((0, 1, "channel"), (1, 1, "channel"), (1, 3, "channel")), ((1, 2, "rows"),)),
        CachePolicy(network_priority=(1, 0), layer_priority=((1, 6), (1, 4), (0, 1))),
    )
    options = of_parts(asked, splits)
    assert options.partition.layers == ((0, 1, "channel"), (1, 2, "channel"))
    assert options.partition.orders == ((1, 1, "rows"),)
    assert (options.cache.network_priority, options.cache.layer_priority) == ((1, 0), ((1, 3), (0, 1)))


def test_networks_of_the_host_alone_are_none_for_the_chip() -> None:
    weave = Weave()
    alone = parted(weave.network(weave.add(Concatenation(3), weave.input(6, 6, 4, dtype=np.int32))))
    asked = CompileOptions(PartitionPolicy("spatial", ((0, 0, "channel"), (1, 1, "channel"))))
    options = of_parts(asked, [alone, parted(tilesim.load_network("digits"))])
    assert options.partition.layers == ((0, 1, "channel"),)


def test_steps_that_tiles_wait_for_go_first() -> None:
    """Though the network has others before them."""
    weave = Weave()
    maps = weave.convolution(weave.input(8, 8, 4), 8)
    chosen = weave.add(ArgMax(INT32), every_other(weave, maps))
    again = weave.convolution(every_other(weave, maps, 2, 2), 8)
    network = weave.network(chosen, again)
    program = tilesim.compile(network, tilesim.load_topology("edge-2x2"))
    assert [step.layer for step in program.steps] == [3, 1, 2]
    x = weave.samples[network.inputs[0]]
    for index, output in zip(network.outputs, tilesim.simulate(program, [x]).outputs, strict=True):
        np.testing.assert_array_equal(output, weave.samples[index])
