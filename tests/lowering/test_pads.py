"""What borders vanish into."""

from __future__ import annotations

from tests.networks import Weave
from tilesim.lowering.pads import absorb_pads
from tilesim.network.operators import Convolution, DepthwiseConvolution, MaxPool, Pad, Padding

BORDER = Pad((0, 1, 2, 0), (0, 3, 0, 0), -7)


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
