"""Boxes of tensors as loops over contiguous bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from tilesim.systolic.isa.model.instructions import Nest


@dataclass(frozen=True)
class Strided:
    """Where the elements of a box are: from ``address`` on, a stride in bytes for each of its axes, 0 for the same
    again.
    """

    address: int
    strides: tuple[int, ...]
    element_bytes: int = 1


def strides_of(shape: Sequence[int], element_bytes: int = 1) -> tuple[int, ...]:
    """Of a tensor that lies there contiguous."""
    return tuple(element_bytes * prod(shape[axis + 1 :]) for axis in range(len(shape)))


def whole(address: int, shape: Sequence[int], element_bytes: int = 1) -> Strided:
    """A tensor."""
    return Strided(address, strides_of(shape, element_bytes), element_bytes)


def broadcast(address: int, shape: Sequence[int], to: Sequence[int], element_bytes: int = 1) -> Strided:
    """A tensor that is repeated along the axes that it lacks, or of which it has one."""
    own = (1,) * (len(to) - len(shape)) + tuple(shape)
    strides = strides_of(own, element_bytes)
    return Strided(address, tuple(0 if n == 1 else s for n, s in zip(own, strides, strict=True)), element_bytes)


def nests(size: Sequence[int], *operands: Strided, rows: bool = False) -> list[Nest]:
    """A box of ``size`` in each of the operands, in as few loops as all of them allow; with ``rows``, its last axis
    stays what is innermost.
    """
    axes: list[tuple[int, tuple[int, ...]]] = []
    for axis, count in enumerate(size):
        strides = tuple(operand.strides[axis] for operand in operands)
        last = axis == len(size) - 1
        if count == 1 and not (rows and last):
            continue
        if axes and not (rows and last) and axes[-1][1] == tuple(count * stride for stride in strides):
            axes[-1] = (axes[-1][0] * count, strides)
        else:
            axes.append((count, strides))
    inner = 1
    if axes and (axes[-1][1] == tuple(operand.element_bytes for operand in operands) or axes[-1][0] == 1):
        inner = axes.pop()[0]
    counts = tuple(count for count, _ in axes)
    return [
        Nest(operand.address, inner * operand.element_bytes, counts, tuple(strides[k] for _, strides in axes))
        for k, operand in enumerate(operands)
    ]
