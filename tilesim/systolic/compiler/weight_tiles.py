"""Weights cut to what the array takes: channels packed into blocks, blocks into tiles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.systolic.topology import Topology


@dataclass(frozen=True)
class Portion:
    """What of a window one tile takes: its elements from ``first`` on, ``count`` of them. ``place`` (-1: the window is
    unfolded) is the kernel position whose channels they are.
    """

    first: int
    count: int
    place: int = -1


@dataclass(frozen=True)
class Pack:
    """Groups of channels that go through the array side by side: ``channels`` of the input from ``channel`` on make
    ``outputs`` from ``output`` on.
    """

    channel: int
    channels: int
    output: int
    outputs: int


@dataclass(frozen=True)
class Tiling:
    """How weights (outputs, kernel height, kernel width, channels of a group) of ``groups`` groups are cut."""

    shape: tuple[int, ...]
    groups: int
    together: int
    inputs: int
    outputs: int
    feed: str

    @property
    def positions(self) -> int:
        """Of the kernel."""
        return self.shape[1] * self.shape[2]

    def packs(self) -> Iterator[Pack]:
        return (self._pack(first, count) for first, count in cuts(self.groups, self.together))

    def _pack(self, first: int, count: int) -> Pack:
        """Of ``count`` groups from number ``first`` on."""
        own, outputs = self.shape[3], self.shape[0] // self.groups
        return Pack(first * own, count * own, first * outputs, count * outputs)

    def portions(self, pack: Pack) -> list[Portion]:
        """Of a window over a pack's channels."""
        if self.feed == "window":
            return [Portion(*cut) for cut in cuts(self.positions * pack.channels, self.inputs)]
        channels = cuts(pack.channels, self.inputs)
        return [Portion(*cut, place) for place in range(self.positions) for cut in channels]

    def blocks(self, pack: Pack) -> list[tuple[int, int]]:
        """The first, and the number, of the outputs of a pack that the array makes at once."""
        return cuts(pack.outputs, self.outputs)

    @property
    def tiles(self) -> int:
        full, rest = divmod(self.groups, self.together)
        packs = ((full, self._pack(0, self.together)), (1, self._pack(0, rest)))
        return sum(count * len(self.portions(pack)) * len(self.blocks(pack)) for count, pack in packs)


def cuts(count: int, most: int) -> list[tuple[int, int]]:
    """``count`` things in parts of at most ``most``: the first of each, and how many."""
    return [(first, min(most, count - first)) for first in range(0, count, most)]


def tiling(shape: tuple[int, ...], groups: int, topology: Topology) -> Tiling:
    """As many groups side by side as need the fewest tiles; of several such numbers the largest, as the vector unit
    then takes most sums at once.
    """
    array, feed = topology.array, topology.value_loaders.feed
    most = max(1, min(groups, array.outputs * groups // shape[0]))
    ways = (Tiling(shape, groups, count, array.inputs, array.outputs, feed) for count in range(1, most + 1))
    return min(ways, key=lambda way: (way.tiles, -way.together))


def tiles(cut: Tiling, weights: NDArray[Any], fill: int) -> NDArray[np.uint8]:
    """The bytes of all tiles: pack by pack, block by block, portion by portion; ``fill`` where there is no weight."""
    filled = np.full((cut.tiles, cut.inputs, cut.outputs), fill, weights.dtype)
    number = 0
    for pack in cut.packs():
        matrix = _matrix(cut, pack, weights, fill)
        for first, columns in cut.blocks(pack):
            for portion in cut.portions(pack):
                row = portion.first + max(0, portion.place) * pack.channels
                filled[number, : portion.count, :columns] = matrix[row : row + portion.count, first : first + columns]
                number += 1
    return filled.reshape(-1).view(np.uint8)


def _matrix(cut: Tiling, pack: Pack, weights: NDArray[Any], fill: int) -> NDArray[Any]:
    """The weights of a pack, an element of the unfolded window a row and an output a column."""
    own = weights[pack.output : pack.output + pack.outputs]
    groups, channels = pack.channels // cut.shape[3], cut.shape[3]
    if groups == 1:
        return own.reshape(pack.outputs, -1).T
    spread = np.full((pack.outputs, cut.positions, groups, channels), fill, weights.dtype)
    group = np.arange(pack.outputs) * groups // pack.outputs
    spread[np.arange(pack.outputs), :, group] = own.reshape(pack.outputs, cut.positions, channels)
    return spread.reshape(pack.outputs, prod(spread.shape[1:])).T
