"""What is the chip's and what the host's of a network."""

from __future__ import annotations

import numpy as np

import tilesim
from tests.networks import Weave
from tilesim.lowering.operator_plan import network_inputs, nodes_and_root, stored
from tilesim.network.operators import Pad, Quantise, Reshape


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
    assert stored(network, root, again).index == made
    assert list(nodes_and_root(network, {max(nodes)})[0]) == [min(nodes)]
