"""Boxes of tensors, and the images of several inferences that one instruction takes, as loops over bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from tilesim.systolic.isa.model.instructions import Nest, Window

ANY: Mapping[int, int] = {}


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


def windows_over(shape: Sequence[int], output: tuple[int, int], element_bytes: int) -> Window:
    """Windows of one element at ``output`` positions of a map of ``shape``, which lies contiguous at address 0."""
    _, height, width, channels = shape
    row = width * channels * element_bytes
    return Window(
        address=0,
        images=1,
        image_bytes=height * row,
        height=height,
        width=width,
        row_bytes=row,
        pixel_bytes=channels * element_bytes,
        channels=channels,
        output_height=output[0],
        output_width=output[1],
    )


@dataclass(frozen=True)
class Together:
    """``count`` inferences from number ``first`` of a step on, whose images lie ``pitches`` bytes apart, for each
    operand; 0 for a single one.
    """

    first: int
    count: int
    pitches: tuple[int, ...]

    @property
    def end(self) -> int:
        return self.first + self.count


def together(*operands: Sequence[int], pitches: Mapping[int, int] = ANY) -> Iterator[Together]:
    """Cut the inferences of a step where the images of an operand, whose addresses are given, are no longer equally far
    apart. ``pitches``: of some operands, by number, the only distance that will do.
    """
    first, count = 0, len(operands[0])
    while first < count:
        end = first + 1
        steps = tuple(own[end] - own[first] if end < count else 0 for own in operands)
        while end < count and _fits(operands, end, steps, pitches):
            end += 1
        yield Together(first, end - first, steps if end - first > 1 else (0,) * len(operands))
        first = end


def _fits(operands: Sequence[Sequence[int]], k: int, steps: tuple[int, ...], pitches: Mapping[int, int]) -> bool:
    """Whether image ``k`` of each operand lies as far from the one before as it has to."""
    return all(
        own[k] - own[k - 1] == step == pitches.get(number, step) and step >= 0
        for number, (own, step) in enumerate(zip(operands, steps, strict=True))
    )
