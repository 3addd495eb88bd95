"""The chip's part of a network of which the host computes some layers itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from tilesim.network.graph import Network


@dataclass(frozen=True, repr=False)
class ChipPart(Network):
    """The chip's part of a network. ``layers`` are the numbers of its nodes in the whole network; ``awaits`` says of
    which of its outputs the host makes an input, for those that it makes of some.
    """

    layers: tuple[int, ...] = ()
    awaits: Mapping[int, frozenset[int]] = field(default_factory=dict)

    @cached_property
    def early(self) -> frozenset[int]:
        """The outputs that must leave before all is computed."""
        return frozenset(index for needed in self.awaits.values() for index in needed)


def awaits_of(network: Network) -> Mapping[int, frozenset[int]]:
    """Of which outputs the host makes inputs, by these."""
    return network.awaits if isinstance(network, ChipPart) else {}


def early_outputs(network: Network) -> frozenset[int]:
    """The outputs that must leave before all is computed."""
    return network.early if isinstance(network, ChipPart) else frozenset()


def layer_number(network: Network, node: int) -> int:
    """The number of a node in the whole network."""
    return network.layers[node] if isinstance(network, ChipPart) else node
