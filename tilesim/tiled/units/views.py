"""Memories seen through a loop nest: an axis a loop, instead of an address an access.

An affine address stream over a nest is a strided view of the memory's bytes. Reading a view reads just the bytes that
the stream's addresses name, in its order; so does writing one, as long as no two of its elements are the same byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilesim.sim.memory import Bytes
from tilesim.tiled.isa.fields import Loop, Reference

Range: TypeAlias = tuple[int, int]
"""First and end of the iterations of a loop."""
Box: TypeAlias = tuple[Range, ...]
"""A range of each loop of a nest: all points inside."""


def boxes(bounds: Sequence[int], first: int, end: int) -> Iterator[Box]:
    """The iterations ``first`` to ``end`` of a nest with such ``bounds``, in order, as boxes."""
    if not bounds:
        yield ()
        return
    inner = prod(bounds[1:])
    (low, before), (high, behind) = divmod(first, inner), divmod(end, inner)
    if low == high:
        yield from (((low, low + 1), *box) for box in boxes(bounds[1:], before, behind))
        return
    if before:
        yield from (((low, low + 1), *box) for box in boxes(bounds[1:], before, inner))
        low += 1
    if low < high:
        yield ((low, high), *((0, bound) for bound in bounds[1:]))
    if behind:
        yield from (((high, high + 1), *box) for box in boxes(bounds[1:], 0, behind))


def strides_of(reference: Reference, loops: Sequence[Loop]) -> tuple[int, ...]:
    """How far each of the loops moves the address."""
    strides = dict(reference.strides)
    return tuple(strides.get(loop.name, 0) for loop in loops)


def extent(bounds: Sequence[int], strides: Sequence[int], width: int) -> Range:
    """The bytes, counted from the base, that accesses of ``width`` bytes lie in."""
    reach = [(bound - 1) * stride for bound, stride in zip(bounds, strides, strict=True)]
    return sum(each for each in reach if each < 0), sum(each for each in reach if each > 0) + width


def apart(bounds: Sequence[int], strides: Sequence[int], width: int) -> bool:
    """Whether no two accesses of ``width`` bytes meet, as far as nesting their strides in one another shows."""
    for stride, bound in sorted((abs(stride), bound) for bound, stride in zip(bounds, strides, strict=True)):
        if bound > 1:
            if stride < width:
                return False
            width += stride * (bound - 1)
    return True


def contiguous(bounds: Sequence[int], strides: Sequence[int], width: int) -> bool:
    """Whether accesses of ``width`` bytes follow one another without a gap, in the order of the loops."""
    for bound, stride in zip(reversed(bounds), reversed(strides), strict=True):
        if bound > 1 and stride != width:
            return False
        width *= bound
    return True


@dataclass(frozen=True)
class Window:
    """How ``view`` shows a memory: from byte ``base`` of each sample on, axes of so many elements and bytes apart."""

    base: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]

    def view(self, memory: Bytes) -> NDArray[Any]:
        """The bytes of each sample, (samples, *shape), in place; the samples' rows of ``memory`` are contiguous."""
        samples, size = memory.shape
        return np.ndarray((samples, *self.shape), self.dtype, memory, self.base, (size, *self.strides))

    def fits(self, size_bytes: int) -> bool:
        """Whether a memory of that size has all its bytes."""
        low, end = extent(self.shape, self.strides, self.dtype.itemsize)
        return self.base + low >= 0 and self.base + end <= size_bytes
