"""How many inferences a layer should take at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from tilesim.batching.graph import WeightedLayer


@dataclass(frozen=True)
class LayerBatch:
    """A layer's name, how often an inference uses each of its weights, and the inferences that it takes at once."""

    name: str
    reuse: int
    batch: int


def weight_reuse_value(
    tile_bytes: int, clock_hz: int, memory_clock_hz: int, channels: int, channel_bytes: int
) -> Fraction:
    """How often a weight must be used so that computing takes as long as the fetch of the weights that come next.

    While an array holds a tile of weights it uses each of them once a cycle, so this is the cycles in which weight
    memory delivers a tile.

    Args:
        tile_bytes: the weights that the array holds at once: a byte for each of its cells.
        clock_hz: cycles of the array a second.
        memory_clock_hz: transfers of weight memory a second.
        channels, channel_bytes: channels that transfer at once, and the bytes of each.

    Timing: ``ceil(tile_bytes / (channels * channel_bytes)) * clock_hz / memory_clock_hz`` cycles.

    Source: JP 7561916 B2 names the memory's clock, its channels and the array's units; the formula is an assumption
    that gives 1349.3 of TPU v1, near which its roofline has its knee (Jouppi et al., ISCA 2017).
    """
    return Fraction(ceil(Fraction(tile_bytes, channels * channel_bytes)) * clock_hz, memory_clock_hz)


def batch_size(value: Fraction | int, reuse: int, power_of_two: bool = False) -> int:
    """Inferences that use each weight ``value`` times where one of them uses it ``reuse`` times; up to a power of two
    if so wanted.

    Source: JP 7561916 B2, on its Fig. 6.
    """
    batch = ceil(Fraction(value) / reuse)
    return 1 << (batch - 1).bit_length() if power_of_two else batch


def layer_batches(
    layers: Sequence[WeightedLayer], value: Fraction | int, power_of_two: bool = False
) -> tuple[LayerBatch, ...]:
    """The batch of each layer."""
    return tuple(LayerBatch(layer.name, layer.reuse, batch_size(value, layer.reuse, power_of_two)) for layer in layers)
