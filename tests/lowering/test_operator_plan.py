"""What is the chip's and what the host's of a network, and what borders vanish into."""

from __future__ import annotations

import numpy as np

import tilesim
from tests.networks import Weave
from tilesim.lowering.operator_plan import OperatorPlan, absorb_pads, network_inputs, nodes_and_root
from tilesim.network.operators import Convolution, DepthwiseConvolution, MaxPool, Pad, Padding, Quantise, Reshape

BORDER = Pad((0, 1, 2, 0), (0, 3, 0, 0), -7)


def test_the_host_quantises_what_the_model_names() -> None:
    network = tilesim.load_network("digits")
    [given], layers = network_inputs(network)
    assert [type(network.nodes[layer].operator) for layer in layers] == [Quantise]
    assert given.model.index == network.inputs[0]
    assert (given.model.dtype, given.stored.dtype) == (np.float32, np.int8)
    assert given.quantise is network.nodes[next(iter(layers))].operator


def test_what_needs_no_step_is_stored_as_it_is() -> None:
    weave = Weave()
    network = weave.network(weave.convolution(weave.input(4, 4, 4), 4))
    [given], layers = network_inputs(network)
    assert (given.model, given.quantise, layers) == (given.stored, None, set())


def test_a_plan_has_neither_reshapes_nor_absorbed_pads_nor_what_runs_elsewhere() -> None:
    weave = Weave()
    wide = weave.add(Pad((0, 1, 1, 0), (0, 1, 1, 0), -7), weave.input(4, 4, 4), zero_point=-7)
    made = weave.convolution(wide, 4)
    flat = weave.add(Reshape((1, 144)), made)
    again = weave.add(Reshape((1, 6, 6, 4)), flat)
    network = weave.network(weave.convolution(again, 4))
    nodes, root = nodes_and_root(network, set())
    assert [node.kind for node in nodes.values()] == ["convolution", "convolution"]
    assert root == {flat: made, again: flat}
    assert OperatorPlan(network, nodes, root, (), ()).stored(again).index == made
    assert list(nodes_and_root(network, {max(nodes)})[0]) == [min(nodes)]


def test_a_border_vanishes_into_all_convolutions_that_read_it() -> None:
    weave = Weave()
    wide = weave.add(BORDER, weave.input(4, 4, 4), zero_point=-7)
    one, two = weave.convolution(wide, 4, padding=Padding(1, 0, 0, 0)), weave.depthwise(wide)
    nodes = absorb_pads(weave.network(one, two))
    assert {layer: node.inputs[0] for layer, node in nodes.items()} == {1: 0, 2: 0}
    convolution, depthwise = nodes[1].operator, nodes[2].operator
    assert isinstance(convolution, Convolution)
    assert isinstance(depthwise, DepthwiseConvolution)
    assert (convolution.padding, depthwise.padding) == (Padding(2, 2, 3, 0), Padding(2, 3, 4, 1))


def test_a_border_stays_where_anybody_else_needs_it() -> None:
    weave = Weave()
    wide = weave.add(BORDER, weave.input(4, 4, 4), zero_point=-7)
    read = weave.convolution(wide, 4)
    pooled = weave.add(MaxPool((2, 2), (1, 1), Padding(), (-128, 127)), wide, zero_point=-7)
    other = Weave()
    of_zeros = other.convolution(other.add(BORDER, other.input(4, 4, 4, zero_point=0)), 4)
    for network in (weave.network(read, wide), weave.network(read, pooled), other.network(of_zeros)):
        assert absorb_pads(network) == dict(enumerate(network.nodes))
