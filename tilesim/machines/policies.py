"""What the user says about how networks are to be laid out on a chip."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tilesim.network.graph import Network

SPATIAL, CHANNEL, AUTO, MIXED = "spatial", "channel", "auto", "mixed"
CHOICES = (SPATIAL, CHANNEL, AUTO, MIXED)
"""By rows and columns of the map; by output channels, each tile of the whole map; whichever of these the chip is faster
with; a cut for each layer, and lanes for narrow ones, by estimate.
"""


@dataclass(frozen=True)
class PartitionPolicy:
    """One of :data:`CHOICES` for all layers, and for some layers (network, layer, choice), which count more than what
    the network itself says of them.
    """

    default: str = SPATIAL
    layers: tuple[tuple[int, int, str], ...] = ()

    def wishes(self, number: int, network: Network) -> Wishes:
        """What is asked of the network of that number."""
        own = {k: node.hints["partition"] for k, node in enumerate(network.nodes) if "partition" in node.hints}
        return Wishes(self.default, own | {layer: choice for of, layer, choice in self.layers if of == number})


@dataclass(frozen=True)
class Wishes:
    """What is asked of the layers of one network: one of :data:`CHOICES` for all, or for a layer by its number."""

    default: str = SPATIAL
    layers: Mapping[int, str] = field(default_factory=dict)

    def of(self, layer: int) -> str:
        return self.layers.get(layer, self.default)

    @property
    def mixed(self) -> bool:
        """Whether the compiler may map layers as is best by estimate."""
        return self.default == MIXED


@dataclass(frozen=True)
class CachePolicy:
    """Whether parameters stay in the tiles at all, and who gets room first: networks by number, layers by network and
    number, both in descending order.
    """

    cache: bool = True
    network_priority: tuple[int, ...] = ()
    layer_priority: tuple[tuple[int, int], ...] = ()


def nameless(networks: Sequence[Network], partition: PartitionPolicy, cache: CachePolicy) -> Iterator[str]:
    """A sentence for each network and layer that policies name, and there is not."""
    known, layers = range(len(networks)), [("partition", number, layer) for number, layer, _ in partition.layers]
    for number in cache.network_priority:
        if number not in known:
            yield f"network_priority {number}: must name a network, 0 to {known[-1]}"
    layers += [("layer_priority", *entry) for entry in cache.layer_priority]
    for what, number, layer in layers:
        place = f"{what} ({number}, {layer}): must name"
        if number not in known:
            yield f"{place} a layer of a network, 0 to {known[-1]}"
        elif layer not in range(len(networks[number].nodes)):
            yield f"{place} a layer of {networks[number].name}, 0 to {len(networks[number].nodes) - 1}"
        elif what == "layer_priority" and not weighs(networks[number], layer):
            yield f"{place} a layer of {networks[number].name} that has parameters"


def weighs(network: Network, layer: int) -> bool:
    """Whether a layer has parameters."""
    return any(network.tensors[index].data is not None for index in network.nodes[layer].inputs)


SPATIALLY = PartitionPolicy()
CACHE = CachePolicy()
"""First come first served, as much as there is room for."""
