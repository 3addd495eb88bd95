"""Depthwise layers in all lanes: several pixels of a row side by side, as a convolution whose weights are mostly none.

The depthwise operation sends byte j of a word to lane j, so that a word's bytes work and all other lanes rest. Here a
word goes to all lanes, four for each of n pixels: these walk the columns that any of them needs, and where a column is
no tap of a pixel, or a byte no channel of a lane, the weight is the zero point. A group's words belong to n pixels, so
they are written a pixel apart. Where n does not divide the columns, groups overlap, and some pixels are made twice.

Source: US 19/025,090 [0067], [0068] for one activation in all MACs; that it pays for such layers is an observation.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tilesim.network.operators.depthwise_convolution import DepthwiseConvolution
from tilesim.tiled.compiler.feature_map import padded
from tilesim.tiled.compiler.lower.loop_order import ordered
from tilesim.tiled.compiler.parameters import operand_stride
from tilesim.tiled.compiler.task import Level, NestWriter, TileTask
from tilesim.tiled.topology import LANE_BYTES, Topology

WIDE_SHARE = 8
"""Weights of a layer take at most this part of wide memory: others must lie beside them."""
FAR = 1 << 30


class Window(Struct, frozen=True):
    """A depthwise layer as tiles make it: words of channels, rows and columns of the output, and the kernel. Tiles and
    bands may have fewer ``rows``; the way to make them must be the same for all, as their weights are.
    """

    words: int
    rows: int
    columns: int
    kernel: tuple[int, int]
    strides: tuple[int, int]
    dilations: tuple[int, int]

    def reach(self, pixels: int) -> int:
        """Input columns that so many pixels of a row need."""
        return (self.kernel[1] - 1) * self.dilations[1] + 1 + (pixels - 1) * self.strides[1]


class PixelGroups(Struct, frozen=True):
    """``count`` groups of ``pixels`` side by side in each row, each ``step`` pixels behind the one before."""

    pixels: int
    count: int
    step: int

    @staticmethod
    def all(columns: int, most: int) -> Iterator[PixelGroups]:
        """The fewest groups that cover a row, for each number of pixels from 2 to ``most``."""
        for pixels in range(2, min(columns, most) + 1):
            rest = columns - pixels
            least = -(-columns // pixels)
            count = next(n for n in range(least, rest + 2) if n == 1 or rest % (n - 1) == 0)
            yield PixelGroups(pixels, count, rest // (count - 1) if count > 1 else 1)


class LaneCosts(Struct, frozen=True):
    """What a way to make a layer costs a tile of ``topology``; a row of weights ``row_cycles`` to get there."""

    topology: Topology
    window: Window
    row_cycles: int

    def cycles(self, groups: PixelGroups) -> int:
        """Steps, reloads of parameter rows, and the way of the weights."""
        window, down = self.window, self.window.kernel[0]
        steps = max(down * window.reach(groups.pixels), groups.pixels)
        reloads = 3 * -(-window.words // self.words_a_row(groups.pixels))
        rows = self.weight_bytes(groups.pixels) // self.topology.wide_memory.row_bytes
        return window.rows * (window.words * groups.count * steps + reloads) + rows * self.row_cycles

    @property
    def by_bytes(self) -> int:
        """The same of the depthwise operation, but for its few weights."""
        window = self.window
        down, across = window.kernel
        reloads = 3 * -(-window.words // (self.topology.tile.lanes // self.word))
        parts = window.words * (self.word // self.topology.tile.vector_bytes)
        return window.rows * (parts * window.columns * down * across + reloads)

    @property
    def word(self) -> int:
        return self.topology.narrow_memory.word_bytes

    def step_bytes(self, pixels: int) -> int:
        return operand_stride(pixels * self.word, self.word)

    def weight_bytes(self, pixels: int) -> int:
        window = self.window
        return window.words * window.kernel[0] * window.reach(pixels) * self.step_bytes(pixels)

    def words_a_row(self, pixels: int) -> int:
        """Words of channels whose parameters share registers: a divisor of all, so that none is half used."""
        most = self.topology.tile.lanes // (pixels * self.word)
        return max(n for n in range(1, max(1, min(most, self.window.words)) + 1) if self.window.words % n == 0)


def best_groups(costs: LaneCosts) -> PixelGroups | None:
    """The groups with the fewest cycles, by estimate; None if the depthwise operation needs no more."""
    tile = costs.topology.tile
    if tile.inputs_per_cycle != costs.word:
        return None
    room = costs.topology.wide_memory.size_bytes // WIDE_SHARE
    ways = [
        way
        for way in PixelGroups.all(costs.window.columns, tile.lanes // costs.word)
        if costs.weight_bytes(way.pixels) <= room
    ]
    best = min(ways, key=lambda way: (costs.cycles(way), way.pixels), default=None)
    return best if best is not None and costs.cycles(best) < costs.by_bytes else None


def window_of(task: TileTask, op: DepthwiseConvolution) -> Window:
    height, width, _ = task.constants[0].shape
    word, output = task.topology.narrow_memory.word_bytes, task.output
    words = padded(len(task.outputs), word) // word
    return Window(words, task.most_rows, len(output.block_columns), (height, width), op.strides, op.dilations)


def nest_of(task: TileTask, costs: LaneCosts, groups: PixelGroups) -> NestWriter:
    """Loops: output row, block of words of channels, word, group of pixels, or these in the task's order; kernel row
    and input column inside.
    """
    window, word, source, target = costs.window, costs.word, task.inputs[0], task.output
    step, share = costs.step_bytes(groups.pixels), costs.words_a_row(groups.pixels)
    reach, lanes = window.reach(groups.pixels), groups.pixels * word
    each = window.kernel[0] * reach * step
    down, across = window.strides
    row, pixel = source.row_bytes, source.pixel_bytes
    rows = {"input": task.step * down * row, "output": task.step * target.row_bytes}
    words = {"input": word, "weights": each, "output": word}
    blocks = {name: share * stride for name, stride in words.items()} | {
        "parameters": 3 * task.topology.tile.register_bytes
    }
    across_groups = {"input": groups.step * across * pixel, "output": groups.step * target.pixel_bytes}
    outer = [
        [Level("y", len(target.block_rows), rows)],
        [
            Level("cb", window.words // share, blocks),
            Level("cg", share, words | {"parameters": LANE_BYTES * lanes}),
        ],
        [Level("xg", groups.count, across_groups)],
    ]
    return NestWriter(
        [
            *ordered(task.order, outer),
            Level("ky", window.kernel[0], {"input": window.dilations[0] * row, "weights": reach * step}, reduce=True),
            Level("kx", reach, {"input": pixel, "weights": step}, reduce=True),
            Level("lane", lanes, {"output": target.pixel_bytes}),
        ]
    )


def side_by_side(weights: NDArray[np.generic], costs: LaneCosts, groups: PixelGroups, fill: int) -> NDArray[np.generic]:
    """Depthwise weights (kH, kW, C) as (words, kH, columns, step bytes), lanes that see no tap ``fill``, the zero
    point.
    """
    window, word, pixels = costs.window, costs.word, groups.pixels
    height, width, channels = weights.shape
    shape = (window.words, height, window.reach(pixels), pixels, word, word)
    spread = np.full(shape, fill, weights.dtype)
    whole = np.full((height, width, window.words * word), fill, weights.dtype)
    whole[:, :, :channels] = weights
    by_word = whole.reshape(height, width, window.words, word).transpose(2, 0, 1, 3)
    for pixel in range(pixels):
        for tap in range(width):
            column = tap * window.dilations[1] + pixel * window.strides[1]
            for channel in range(word):
                spread[:, :, column, pixel, channel, channel] = by_word[:, :, tap, channel]
    flat = spread.reshape(window.words, height, window.reach(pixels), -1)
    spare = costs.step_bytes(pixels) - flat.shape[-1]
    return np.pad(flat, ((0, 0),) * 3 + ((0, spare),), constant_values=fill)


def repeated(values: NDArray[np.int32], costs: LaneCosts, groups: PixelGroups) -> NDArray[np.int32]:
    """A value a channel as a value a lane: word by word, those of a word once for each pixel."""
    whole = np.zeros((costs.window.words, 1, costs.word), np.int32)
    whole.reshape(-1)[: values.size] = values
    return np.repeat(whole, groups.pixels, axis=1).reshape(-1)
