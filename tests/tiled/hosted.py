"""Small networks of which the host computes some layers: at the end, in the middle, at the beginning."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from tests.networks import Weave
from tilesim.network.graph import Network
from tilesim.network.operators import ArgMax, Concatenation, Softmax, StridedSlice

SOFTMAX = Softmax(0.05, 1 / 256, -128, (-128, 127))
Made = tuple[int, ...]


def every_other(weave: Weave, x: int, rows: int = 2, columns: int = 1) -> int:
    """Every so many rows and columns of a map."""
    _, height, width, channels = shape = weave.samples[x].shape
    size = (1, -(-height // rows), -(-width // columns), channels)
    moved = StridedSlice((0,) * len(shape), (1, rows, columns, 1), size, size)
    return weave.add(moved, x, zero_point=weave.zero_point(x))


def tail(weave: Weave) -> Made:
    """Two steps, and another output that tiles make."""
    maps = weave.convolution(weave.input(10, 10, 4), 8)
    chosen = weave.add(ArgMax(np.dtype(np.int32)), every_other(weave, maps))
    return chosen, weave.convolution(maps, 4)


def middle(weave: Weave) -> Made:
    """Twice in the middle, while tiles go on with what does not wait for the host."""
    maps = weave.convolution(weave.input(10, 10, 4), 8)
    small, other = every_other(weave, maps, 2, 2), weave.convolution(maps, 8, strides=(2, 2))
    both = weave.add(Concatenation(1), other, weave.convolution(small, 8))
    return (weave.convolution(every_other(weave, both), 4),)


def replies(weave: Weave) -> Made:
    """A softmax of the classifier of which the host makes something for tiles, and which is an output, too."""
    likely = weave.add(SOFTMAX, weave.fully_connected(weave.input(6, 6, 4), 10), zero_point=-128)
    some = weave.add(StridedSlice((0, 0), (1, 2), (1, 5), (1, 5)), likely, zero_point=-128)
    return weave.fully_connected(weave.fully_connected(some, 12), 3), likely


def head(weave: Weave) -> Made:
    """Something of an input, of which tiles read only what comes of it."""
    plain, turned = weave.input(10, 10, 4), weave.input(10, 10, 4)
    back = StridedSlice((0, 9, 0, 0), (1, -1, 1, 1), (1, 10, 10, 4), (1, 10, 10, 4))
    turned = weave.add(back, turned, zero_point=weave.zero_point(turned))
    return weave.convolution(plain, 8), weave.convolution(turned, 8)


def pixels(weave: Weave) -> Made:
    """A softmax of each pixel, between layers and at the end."""
    likely = weave.add(SOFTMAX, weave.convolution(weave.input(6, 6, 4), 8), zero_point=-128)
    return (weave.add(SOFTMAX, weave.convolution(likely, 8), zero_point=-128),)


CASES: Mapping[str, Callable[[Weave], Made]] = {made.__name__: made for made in (tail, middle, replies, head, pixels)}


def hosted(name: str) -> tuple[Network, list[np.ndarray]]:
    """A network, and an array for each of its inputs."""
    weave = Weave()
    network = weave.network(*CASES[name](weave))
    return network, [weave.samples[index] for index in network.inputs]
