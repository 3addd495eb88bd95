"""What operators that only move numbers become, whatever file they come from."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tilesim.errors import ModelError
from tilesim.network.graph import Tensor
from tilesim.network.operators import Concatenation, Part, Reshape, Slice, Stack, Transpose
from tilesim.network.readers.builder import MAX_ELEMENTS, Built, first_of


def transposed(x: Tensor, axes: tuple[int, ...]) -> Built:
    """A tensor with its axes in another order; where only axes of one element move, nothing does."""
    shape = tuple(x.shape[axis] for axis in axes)
    longer = [axis for axis in axes if x.shape[axis] > 1]
    if longer == sorted(longer) and (axes[0] == 0 or x.shape[0] == shape[0] == 1):
        return Built(Reshape(shape), (x.index,), shape)
    return Built(Transpose(axes, x.shape[0]), (x.index,), shape)


def box(x: Tensor, axis: int, start: int, count: int) -> Built:
    """So many elements of an axis."""
    shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
    if not axis:
        return Built(Part(x.shape[0], start, 1, count), (x.index,), shape)
    zeros = (0,) * len(shape)
    return Built(Slice((*zeros[:axis], start, *zeros[axis + 1 :]), shape), (x.index,), shape)


def joined(parts: Sequence[Tensor], axis: int) -> Built:
    """Tensors one after the other along an axis."""
    first, total = parts[0].shape, sum(part.shape[axis] for part in parts)
    shape, indices = (*first[:axis], total, *first[axis + 1 :]), tuple(part.index for part in parts)
    return Built(Concatenation(axis) if axis else Stack(tuple(map(first_of, parts))), indices, shape)


def bearable(shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that is no larger than a map may be."""
    if prod(shape) > MAX_ELEMENTS:
        raise ModelError(f"must make at most {MAX_ELEMENTS} elements, not shape {list(shape)}")
    return shape
