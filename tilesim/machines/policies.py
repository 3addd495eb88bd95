"""What the user says about how networks are to be laid out on a chip."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tilesim.network.graph import Network, Node, Operator
from tilesim.network.operators.convolution import Convolution
from tilesim.network.operators.depthwise_convolution import DepthwiseConvolution
from tilesim.network.operators.fully_connected import FullyConnected
from tilesim.printable import unknown

SPATIAL, CHANNEL, AUTO, MIXED, ONE = "spatial", "channel", "auto", "mixed", "one"
CHOICES = (SPATIAL, CHANNEL, AUTO, MIXED)
"""By rows and columns of the map; by output channels, each tile of the whole map; whichever the chip is fastest with; a
cut for each layer, and lanes for narrow ones, by estimate.
"""
LAYER_CHOICES = (SPATIAL, CHANNEL, AUTO, ONE)
"""Those that a single layer may have: the estimates are of whole networks. A fully connected layer may be in one tile.
"""

RING, MESH = "ring", "mesh"
WAYS = (AUTO, RING, MESH)
"""How parameters come to tiles from one that keeps them: by ring, from neighbour to neighbour, or each as is faster."""

ROWS, BLOCKS, PIXELS, INPUTS = "rows", "blocks", "pixels", "inputs"
ORDERS = (ROWS, BLOCKS, PIXELS, INPUTS)
"""What the outermost loop of a layer on a tile goes over: output rows, each block of lanes along it; blocks of lanes;
output pixels, all blocks of lanes for each; words of input channels, with partial sums in wide memory.
"""
ORDERED: Mapping[type[Operator], tuple[str, ...]] = {
    Convolution: ORDERS,
    FullyConnected: ORDERS,
    DepthwiseConvolution: (ROWS, BLOCKS, PIXELS),
}
"""The orders that a layer can have: what reads one channel for each output has no partial sums."""


@dataclass(frozen=True)
class PartitionPolicy:
    """One of :data:`CHOICES` for all layers, and one of :data:`LAYER_CHOICES` for some (network, layer, choice), which
    count more than what the network itself says of them; likewise ``orders``, those of :data:`ORDERS` that
    some layers are to have. ``bands``: where maps don't fit, layers may be made from bands of rows that the host sends.
    """

    default: str = MIXED
    layers: tuple[tuple[int, int, str], ...] = ()
    orders: tuple[tuple[int, int, str], ...] = ()
    bands: bool = True

    def wishes(self, number: int, network: Network) -> Wishes:
        """What is asked of the network of that number."""
        own, orders = (_hinted(network, what) for what in ("partition", "loop_order"))
        own |= {layer: choice for of, layer, choice in self.layers if of == number}
        return Wishes(self.default, own, orders | {layer: order for of, layer, order in self.orders if of == number})


def _hinted(network: Network, what: str) -> dict[int, str]:
    """What a network says of its layers."""
    return {k: node.hints[what] for k, node in enumerate(network.nodes) if what in node.hints}


@dataclass(frozen=True)
class Wishes:
    """What is asked of the layers of one network: one of :data:`CHOICES` for all, or of
    :data:`LAYER_CHOICES` for a layer by its number; of some layers, one of :data:`ORDERS`. Several pixels of a row may
    be made ``side_by_side`` where all is as is best by estimate.
    """

    default: str = MIXED
    layers: Mapping[int, str] = field(default_factory=dict)
    orders: Mapping[int, str] = field(default_factory=dict)
    side_by_side: bool = True

    def of(self, layer: int) -> str:
        return self.layers.get(layer, self.default)

    @property
    def mixed(self) -> bool:
        """Whether the compiler may map layers as is best by estimate."""
        return self.default == MIXED


@dataclass(frozen=True)
class CachePolicy:
    """Whether parameters stay in the tiles at all, and who gets room first: networks by number, layers by network and
    number, both in descending order; by which of :data:`WAYS` they come to others from a tile that keeps them.
    """

    cache: bool = True
    network_priority: tuple[int, ...] = ()
    layer_priority: tuple[tuple[int, int], ...] = ()
    parameters_over: str = AUTO


def nameless(networks: Sequence[Network], partition: PartitionPolicy, cache: CachePolicy) -> Iterator[str]:
    """A sentence for each network, layer and way that policies name, and there is not."""
    if cache.parameters_over not in WAYS:
        yield f"parameters_over: {unknown(cache.parameters_over, WAYS)}"
    known, layers = range(len(networks)), [("partition", number, layer) for number, layer, _ in partition.layers]
    for number in cache.network_priority:
        if number not in known:
            yield f"network_priority {number}: must name a network, 0 to {known[-1]}"
    layers += [("layer_priority", *entry) for entry in cache.layer_priority]
    layers += [("loop_order", number, layer) for number, layer, _ in partition.orders]
    for what, number, layer in layers:
        place = f"{what} ({number}, {layer}): must name"
        if number not in known:
            yield f"{place} a layer of a network, 0 to {known[-1]}"
        elif layer not in range(len(networks[number].nodes)):
            yield f"{place} a layer of {networks[number].name}, 0 to {len(networks[number].nodes) - 1}"
        elif what == "layer_priority" and not weighs(networks[number], layer):
            yield f"{place} a layer of {networks[number].name} that has parameters"
    for number, layer, order in partition.orders:
        nodes = networks[number].nodes if number in known else ()
        if layer in range(len(nodes)) and (fault := misordered(nodes[layer], order)):
            yield f"loop_order ({number}, {layer}): {fault}"


def misordered(node: Node, order: str) -> str:
    """Why the loops of a layer can't have an order; empty if they can."""
    can = ORDERED.get(type(node.operator), ())
    if order in can:
        return ""
    return unknown(order, can) if can else f"must name a layer with weights, not one of the kind {node.kind}"


def weighs(network: Network, layer: int) -> bool:
    """Whether a layer has parameters."""
    return any(network.tensors[index].data is not None for index in network.nodes[layer].inputs)


PARTITION = PartitionPolicy()
"""As is best by estimate."""
CACHE = CachePolicy()
"""First come first served, as much as there is room for."""
