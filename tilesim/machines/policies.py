"""What the user says about how networks are to be laid out on a chip."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tilesim.network.graph import Network

SPATIAL, CHANNEL, AUTO = "spatial", "channel", "auto"
CHOICES = (SPATIAL, CHANNEL, AUTO)
"""By rows and columns of the map; by output channels, each tile of the whole map; whichever the chip is faster with."""


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


@dataclass(frozen=True)
class CachePolicy:
    """Whether parameters stay in the tiles at all, and who gets room first: networks by number, layers by network and
    number, both in descending order.
    """

    cache: bool = True
    network_priority: tuple[int, ...] = ()
    layer_priority: tuple[tuple[int, int], ...] = ()


SPATIALLY = PartitionPolicy()
CACHE = CachePolicy()
"""First come first served, as much as there is room for."""
