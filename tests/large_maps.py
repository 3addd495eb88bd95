"""Networks with maps too large for the tiles of public chips, of any size: the shapes of PoseNet on MobileNet v1, and
of DeepLab v3 on MobileNet v2; their weights are random. No sample runs along: that would take as long as the network.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.networks import Weave
from tilesim.arithmetic.add import add_scaling_fixed
from tilesim.network.graph import Network, Operator
from tilesim.network.operators import Add, AveragePool, Concatenation, Padding, ResizeBilinear
from tilesim.network.operators.windows import output_size

CLAMP = (-128, 127)
V1 = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *((512, 1),) * 5, (1024, 1), (1024, 1))
"""Of MobileNet v1: channels and stride of each pair, with output stride 16; the last is dilated instead."""
V2 = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 1), (6, 320, 1, 1))
"""Of MobileNet v2: how much wider inside, channels, how many blocks, and the stride of the first."""
DILATED = 2
"""So many rows at the end of the table, where strides have been taken out, have dilated windows."""


class Sketch(Weave):
    """A network of which only shapes are known while it is put together."""

    def add(self, operator: Operator, *inputs: int, zero_point: int = 0) -> int:
        blank = np.broadcast_to(np.int8(0), self._shape(operator, inputs))
        index = self._keep(self.name(operator), blank, zero_point)
        return self.join(operator, inputs, index)

    def _shape(self, operator: Any, inputs: tuple[int, ...]) -> tuple[int, ...]:
        one, height, width, channels = self.samples[inputs[0]].shape
        if isinstance(operator, ResizeBilinear):
            return (one, *operator.size, channels)
        if isinstance(operator, Concatenation):
            return (one, height, width, sum(self.samples[index].shape[3] for index in inputs))
        if isinstance(operator, Add):
            return (one, height, width, channels)
        weights = self.samples[inputs[1]].shape if inputs[1:] else ()
        window = weights[-3:-1] or operator.window
        rest = (operator.strides, operator.padding, getattr(operator, "dilations", (1, 1)))
        made = weights[0] if len(weights) == 4 else channels
        return (one, *output_size((height, width), window, *rest), made)

    def windowed(self, x: int, filters: int, kernel: int = 3, stride: int = 1, dilation: int = 1) -> int:
        """A convolution, or with no ``filters`` a depthwise one, with SAME padding."""
        height, width = self.samples[x].shape[1:3]
        down, across = (_border(size, kernel, stride, dilation) for size in (height, width))
        moves: dict[str, Any] = {
            "strides": (stride, stride),
            "dilations": (dilation, dilation),
            "padding": Padding(down[0], across[0], down[1], across[1]),
        }
        return self.convolution(x, filters, kernel, **moves) if filters else self.depthwise(x, kernel, **moves)


def _border(size: int, kernel: int, stride: int, dilation: int) -> tuple[int, int]:
    """Rows added before and after a map, as TensorFlow Lite's SAME has it."""
    added = max(0, (-(-size // stride) - 1) * stride + (kernel - 1) * dilation + 1 - size)
    return added // 2, added - added // 2


def posenet(height: int, width: int, multiplier: float = 1.0) -> Network:
    """PoseNet's maps: MobileNet v1 with output stride 16, then heat maps and offsets by three convolutions."""
    net = Sketch()
    x = net.windowed(net.input(height, width, 3), _wide(32, multiplier), 3, stride=2)
    for number, (channels, stride) in enumerate(V1, 1):
        x = net.windowed(x, 0, 3, stride, dilation=2 if number == len(V1) else 1)
        x = net.windowed(x, _wide(channels, multiplier), 1)
    return net.network(*(net.windowed(x, channels, 1) for channels in (17, 34, 64)))


def deeplab(
    size: int, multiplier: float = 1.0, classes: int = 21, table: Sequence[tuple[int, int, int, int]] = V2
) -> Network:
    """DeepLab v3's maps: MobileNet v2 with output stride 16, a branch that pools the whole map, a resize to the input's
    size.
    """
    net = Sketch()
    x = net.windowed(net.input(size, size, 3), _wide(32, multiplier), 3, stride=2)
    for row, (times, channels, count, stride) in enumerate(table):
        for block in range(count):
            dilation = 2 if row >= len(table) - DILATED else 1
            x = _inverted(net, x, times, _wide(channels, multiplier), stride if not block else 1, dilation)
    pooled = _pooled(net, x, _wide(256, multiplier))
    x = net.add(Concatenation(3), pooled, net.windowed(x, _wide(256, multiplier), 1))
    x = net.windowed(net.windowed(x, _wide(256, multiplier), 1), classes, 1)
    return net.network(net.add(ResizeBilinear((size, size), True, False, "fixed"), x))


def _inverted(net: Sketch, x: int, times: int, channels: int, stride: int, dilation: int) -> int:
    """A block that is wide inside, with a way around if its ends are alike."""
    inside = net.windowed(x, net.samples[x].shape[3] * times, 1) if times > 1 else x
    y = net.windowed(net.windowed(inside, 0, 3, stride, dilation), channels, 1)
    if net.samples[x].shape != net.samples[y].shape:
        return y
    zeros = (net.zero_point(x), net.zero_point(y), 0)
    return net.add(Add("double", add_scaling_fixed((0.05, 0.05, 0.1), zeros, "double"), CLAMP), x, y)


def _pooled(net: Sketch, x: int, channels: int) -> int:
    """The mean of a whole map, convolved, then as large as the map again."""
    height, width = net.samples[x].shape[1:3]
    scales, zero_point = (0.05, 0.05), net.zero_point(x)
    size = (height, width)
    pool = AveragePool(size, size, Padding(), False, 0, 0, "divide", scales, CLAMP)
    y = net.windowed(net.add(pool, x, zero_point=zero_point), channels, 1)
    return net.add(ResizeBilinear(size, False, False, "fixed"), y, zero_point=net.zero_point(y))


def _wide(channels: int, multiplier: float) -> int:
    return max(8, int(channels * multiplier) // 8 * 8)
