"""Memories seen through a loop nest: an axis a loop, instead of an address an access.

An affine address stream over a nest is a strided view of the memory's bytes. Reading a view reads just the bytes that
the stream's addresses name, in its order; so does writing one, as long as no two of its elements are the same byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from math import prod
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tilesim.tiled.isa.model.fields import Alternate, Loop, Reference
from tilesim.tiled.units.memories import TileMemories

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


def parted(blocks: Sequence[NDArray[Any]], samples: int) -> Iterator[Sequence[NDArray[Any]]]:
    """Blocks of samples in parts of about so many, 1 at least."""
    some: list[NDArray[Any]] = []
    room = samples = max(1, samples)
    for block in blocks:
        for first in range(0, len(block), samples):
            if some and room < len(block) - first:
                yield some
                some, room = [], samples
            some.append(block[first : first + samples])
            room -= len(some[-1])
    yield some


def extent(bounds: Sequence[int], strides: Sequence[int], width: int) -> Range:
    """The bytes, counted from the base, that accesses of ``width`` bytes lie in."""
    low = high = 0
    for bound, stride in zip(bounds, strides, strict=True):
        if stride < 0:
            low += (bound - 1) * stride
        else:
            high += (bound - 1) * stride
    return low, high + width


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


WORD_BYTES = (2, 4, 8)


class StridedView(Struct, frozen=True, dict=True):
    """How ``view`` shows a memory: from byte ``base`` of each sample on, axes of so many elements and bytes apart."""

    base: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]

    def view(self, memory: NDArray[Any], at: int = 0) -> NDArray[Any]:
        """What ``memory``, (samples, elements), has there, counted from byte ``at`` on: (samples, *shape), in place.
        Its samples may lie apart.
        """
        strides = (memory.strides[0], *self.strides)
        whole, base = memory, self.base + at
        if not memory.flags.c_contiguous and memory.base is not None:
            whole = memory.base
            base += memory.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
        return np.ndarray((len(memory), *self.shape), self.dtype, whole, base, strides)

    def views(self, blocks: Sequence[NDArray[Any]], at: int = 0) -> Iterator[tuple[slice, NDArray[Any]]]:
        """The same of each of several blocks of samples, with these among all."""
        first = 0
        for block in blocks:
            yield slice(first, first + len(block)), self.view(block, at)
            first += len(block)

    def read(self, blocks: Sequence[NDArray[Any]], dtype: np.dtype[Any] | None = None, at: int = 0) -> NDArray[Any]:
        """What all of them have there, (samples, *shape), as numbers of a type; in place where nothing has to move."""
        if len(blocks) == 1 and dtype in (None, self.dtype):
            return self.view(blocks[0], at)
        count = sum(map(len, blocks))
        if self.in_words is not None:
            words = np.ascontiguousarray(self.in_words.read(blocks, at=at))
            return words.view(self.dtype).astype(dtype or self.dtype).reshape(count, *self.shape)
        found = np.empty((count, *self.shape), dtype or self.dtype)
        for samples, view in self.views(blocks, at):
            found[samples] = view
        return found

    @cached_property
    def in_words(self) -> StridedView | None:
        """The same in larger elements, where a few that follow one another lie apart from the next ones: NumPy moves
        them sooner than it converts them one by one.
        """
        if len(self.shape) < 2:
            return None
        width = self.shape[-1] * self.dtype.itemsize
        if width not in WORD_BYTES or self.strides[-1] != self.dtype.itemsize or self.strides[-2] == width:
            return None
        return StridedView(self.base, self.shape[:-1], self.strides[:-1], np.dtype(f"u{width}"))


class Moved(Struct, frozen=True):
    """An operand's base and how far each loop moves it: those of the groups, and those of the reduction inside."""

    base: int
    groups: tuple[int, ...]
    steps: tuple[int, ...]

    @classmethod
    def of(cls, reference: Reference, groups: Sequence[Loop], steps: Sequence[Loop]) -> Moved:
        strides = dict(reference.strides)
        by_group = [strides.get(loop.name, 0) for loop in groups]
        return cls(reference.base, tuple(by_group), tuple([strides.get(loop.name, 0) for loop in steps]))

    def first(self, box: Box) -> int:
        """The address of the first step of the first group of a box."""
        return self.base + sum(start * stride for (start, _), stride in zip(box, self.groups, strict=True))


class GroupGrid(Struct, frozen=True, dict=True):
    """The groups of a tensorop as rows times columns: which of their loops, and lanes, count the one or the other.

    In a box of consecutive groups the columns are consecutive, too: its outer loops stand still, its inner ones are
    whole.
    """

    groups: tuple[Loop, ...]
    steps: tuple[Loop, ...]
    lanes: int
    row_places: tuple[int, ...]
    column_places: tuple[int, ...]

    @classmethod
    def of(cls, groups: Sequence[Loop], steps: Sequence[Loop], lanes: int, moving: Sequence[Moved]) -> GroupGrid:
        """Loops that move one of ``moving`` count columns."""
        columns = {k for moved in moving for k, stride in enumerate(moved.groups) if stride}
        rows = tuple([k for k in range(len(groups)) if k not in columns])
        return cls(tuple(groups), tuple(steps), lanes, rows, tuple(sorted(columns)))

    @cached_property
    def bounds(self) -> tuple[int, ...]:
        return tuple([loop.bound for loop in self.groups])

    @cached_property
    def step_bounds(self) -> tuple[int, ...]:
        return tuple([loop.bound for loop in self.steps])

    @cached_property
    def column_loops(self) -> tuple[Loop, ...]:
        return tuple([self.groups[k] for k in self.column_places])

    @cached_property
    def column_bounds(self) -> tuple[int, ...]:
        return tuple([loop.bound for loop in self.column_loops])

    @cached_property
    def row_bounds(self) -> tuple[int, ...]:
        return tuple([self.groups[k].bound for k in self.row_places])

    @cached_property
    def columns(self) -> int:
        """How many there are, with lanes that an alternate limit leaves out."""
        return prod(self.column_bounds) * self.lanes

    def columns_within(self, alternate: Alternate | None) -> int | None:
        """How many columns the alternate limit lets be; None if it does not just leave out the last ones."""
        if alternate is None:
            return self.columns
        several = [loop.name for loop in self.column_loops if loop.bound > 1]
        [loop] = (loop for loop in self.groups if loop.name == alternate.loop)
        if several not in ([], [loop.name]) or (loop.bound > 1 and loop.name not in several):
            return None
        return self.columns - self.lanes + alternate.limit

    def of_rows(self, strides: Sequence[int]) -> tuple[int, ...]:
        return tuple([strides[k] for k in self.row_places])

    def of_columns(self, strides: Sequence[int]) -> tuple[int, ...]:
        return tuple([strides[k] for k in self.column_places])

    def rows_in(self, box: Box) -> tuple[int, ...]:
        """How many iterations of each of the rows' loops there are in a box."""
        return tuple([box[k][1] - box[k][0] for k in self.row_places])

    def blocks_in(self, box: Box) -> tuple[int, ...]:
        """Likewise of the columns' loops."""
        return tuple([box[k][1] - box[k][0] for k in self.column_places])

    def columns_in(self, box: Box) -> Range:
        """The columns in a box, with lanes that an alternate limit leaves out."""
        first = 0
        for k in self.column_places:
            first = first * self.groups[k].bound + box[k][0]
        return first * self.lanes, (first + prod(self.blocks_in(box))) * self.lanes

    def span(self, moved: Moved, by_step: bool, width: int) -> Range:
        """The bytes that accesses of ``width`` of them lie in, moved by the steps of the reduction or not."""
        low, end = extent(self.bounds, moved.groups, width)
        first, last = extent(self.step_bounds, moved.steps, 0) if by_step else (0, 0)
        return moved.base + low + first, moved.base + end + last


def exist(spans: Mapping[str, Range], memories: TileMemories) -> bool:
    """Whether the memories have all bytes in ``spans``, by operand."""
    sizes = dict.fromkeys(("input", "input_b", "output"), memories.narrow.size_bytes)
    return all(first >= 0 and end <= sizes.get(name, memories.wide.size_bytes) for name, (first, end) in spans.items())
