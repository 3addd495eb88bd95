"""Random maps and windows over them, laid out in a small unified buffer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from tilesim.network.operators import Padding
from tilesim.sim.core.memory import Memory
from tilesim.systolic.datapath.memories import Memories
from tilesim.systolic.isa.model.instructions import Element, Window

SIZE = 1 << 16
ELEMENTS = st.sampled_from(["int8", "uint8", "int16"])


def memories(samples: int = 1, entries: int = 512, outputs: int = 32) -> Memories:
    """Everything is full of something, so that what is read or written by mistake shows."""
    buffer = Memory("the unified buffer", SIZE, samples)
    buffer.bytes[...] = np.random.default_rng(1).integers(0, 256, buffer.bytes.shape)
    sums = np.full((samples, entries, outputs), 12345, np.int32)
    return Memories(buffer, Memory("weight memory", SIZE), sums)


def integers(rng: np.random.Generator, shape: tuple[int, ...], element: str) -> NDArray[Any]:
    limits = np.iinfo(element)
    return rng.integers(limits.min, limits.max + 1, shape).astype(element)


@dataclass(frozen=True)
class Case:
    """Maps (samples, images, height, width, all channels); the window sees some channels, from ``channel`` on."""

    memories: Memories
    x: NDArray[Any]
    window: Window
    channel: int
    element: Element
    zero_point: int
    rng: np.random.Generator

    @property
    def seen(self) -> NDArray[Any]:
        """Every map that the window sees, for operators: (samples * images, height, width, channels)."""
        own = self.x[..., self.channel : self.channel + self.window.channels]
        return own.reshape(-1, *own.shape[2:])

    @property
    def padding(self) -> Padding:
        """All four sides, so that an operator has as many positions."""
        w = self.window
        after = [
            max(0, (out - 1) * stride + (kernel - 1) * dilation + 1 - before - size)
            for out, stride, kernel, dilation, before, size in zip(
                (w.output_height, w.output_width), w.strides, w.kernel, w.dilations, w.padding, (w.height, w.width),
                strict=True,
            )
        ]  # fmt: skip
        return Padding(*w.padding, *after)

    def by_position(self, y: NDArray[Any]) -> NDArray[Any]:
        """An operator's output as (samples, positions, channels)."""
        return y.reshape(len(self.x), self.window.positions, y.shape[-1])


@st.composite
def cases(draw: Any, dilated: bool = True, elements: Any = ELEMENTS, many: int = 3) -> Case:
    """``many`` images at most; without ``dilated`` all windows are dense."""
    small = st.integers(1, 3)
    kernel, strides = draw(st.tuples(small, small)), draw(st.tuples(small, small))
    dilations = draw(st.tuples(small, small)) if dilated else (1, 1)
    padding = tuple(draw(st.integers(0, (k - 1) * d)) for k, d in zip(kernel, dilations, strict=True))
    after = tuple(draw(st.integers(0, (k - 1) * d)) for k, d in zip(kernel, dilations, strict=True))
    reach = tuple((k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True))
    size = tuple(max(1, r - p - a) + draw(st.integers(0, 5)) for r, p, a in zip(reach, padding, after, strict=True))
    out = tuple((n + p + a - r) // s + 1 for n, p, a, r, s in zip(size, padding, after, reach, strides, strict=True))
    channels, before, behind = draw(st.tuples(st.integers(1, 5), st.integers(0, 2), st.integers(0, 2)))
    images, samples, element = draw(st.integers(1, many)), draw(st.integers(1, 2)), draw(elements)
    rng = np.random.default_rng(draw(st.integers(0, 1 << 16)))
    x = integers(rng, (samples, images, *size, before + channels + behind), element)
    limits = np.iinfo(element)
    zero_point = draw(st.sampled_from([0, 3, int(limits.min), int(limits.max)]))
    gaps = draw(st.tuples(*[st.integers(0, 3)] * 3))
    memory, address = memories(samples), draw(st.integers(0, 99))
    image, row, pixel = _lay(memory, address, x, gaps)
    window = Window(
        address + before * x.itemsize, images, image, size[0], size[1], row, pixel, channels, out[0], out[1],
        kernel, strides, dilations, (padding[0], padding[1]),
    )  # fmt: skip
    return Case(memory, x, window, before, element, zero_point, rng)


def _lay(memory: Memories, address: int, x: NDArray[Any], gaps: tuple[int, ...]) -> tuple[int, int, int]:
    """Put the maps element by element, with gaps after each pixel, row and image."""
    _, images, height, width, channels = x.shape
    pixel = channels * x.itemsize + gaps[0]
    row = width * pixel + gaps[1]
    image = height * row + gaps[2]
    for n, y, z in np.ndindex(images, height, width):
        start = address + n * image + y * row + z * pixel
        memory.buffer.bytes[:, start : start + channels * x.itemsize] = as_bytes(x[:, n, y, z])
    return image, row, pixel


def as_bytes(x: NDArray[Any]) -> NDArray[np.uint8]:
    """The bytes of each sample of an array, one after the other."""
    return np.ascontiguousarray(x).reshape(len(x), -1).view(np.uint8)
