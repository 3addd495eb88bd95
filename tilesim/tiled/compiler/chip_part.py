"""The chip's part of a network of which the host computes some layers itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from tilesim.network.graph import Network


@dataclass(frozen=True, repr=False)
class ChipPart(Network):
    """The chip's part of a network. ``layers`` are the numbers of its nodes in the whole network; ``awaits`` says
    of which of its outputs the host makes an input, for those that it makes of some. Inputs and outputs among
    ``passing`` are bands of maps, or put together from such: they come right before they are read, leave when they are
    made, and do both through the same rows of wide memory.
    """

    layers: tuple[int, ...] = ()
    awaits: Mapping[int, frozenset[int]] = field(default_factory=dict)
    passing: frozenset[int] = frozenset()

    @cached_property
    def early(self) -> frozenset[int]:
        """The outputs that must leave before all is computed."""
        return self.passing.intersection(self.outputs).union(*self.awaits.values())


def is_passing(network: Network, index: int) -> bool:
    """Whether an input or output is a band, or put together from bands."""
    return isinstance(network, ChipPart) and index in network.passing


def has_bands(network: Network) -> bool:
    """Whether some of its inputs and outputs are bands."""
    return isinstance(network, ChipPart) and bool(network.passing)


def comes_late(network: Network, index: int) -> bool:
    """Whether an input comes right before it is read."""
    return index in awaits_of(network) or is_passing(network, index)


def awaits_of(network: Network) -> Mapping[int, frozenset[int]]:
    """Of which outputs the host makes inputs, by these."""
    return network.awaits if isinstance(network, ChipPart) else {}


def early_outputs(network: Network) -> frozenset[int]:
    """The outputs that must leave before all is computed."""
    return network.early if isinstance(network, ChipPart) else frozenset()


def layer_number(network: Network, node: int) -> int:
    """The number of a node in the whole network."""
    return network.layers[node] if isinstance(network, ChipPart) else node
