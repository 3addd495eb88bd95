"""Layers that move bytes: tensors put together, boxes of them, borders around them, copies of their pixels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilesim.lowering.copy_runs import copy_runs
from tilesim.network.operators import Concatenation, Pad, ResizeNearest, Slice
from tilesim.systolic.compiler.boxes import Strided, nests, strides_of, together
from tilesim.systolic.compiler.call import ArrayTraits, TaskCall
from tilesim.systolic.isa.model.instructions import Copy, Fill, Instruction


def lower_concatenation(call: TaskCall, op: Concatenation) -> Iterator[Instruction]:
    """A copy for each input."""
    axis = op.axis % len(call.output.shape)
    place = 0
    for number, tensor in enumerate(call.task.inputs):
        at = tuple(place if k == axis else 0 for k in range(len(tensor.shape)))
        yield from _boxes(call, number, tensor.shape, (0,) * len(at), at)
        place += tensor.shape[axis]


def lower_slice(call: TaskCall, op: Slice) -> Iterator[Instruction]:
    yield from _boxes(call, 0, call.output.shape, (0, *op.begin[1:]), (0,) * len(op.begin))


def lower_pad(call: TaskCall, op: Pad) -> Iterator[Instruction]:
    """The border, then what it is around."""
    shape = call.output.shape
    for axis in range(len(shape)):
        inner = shape[axis + 1 :]
        for first, count in ((0, op.before[axis]), (shape[axis] - op.after[axis], op.after[axis])):
            if count:
                at = (*op.before[:axis], first, *(0 for _ in inner))
                yield from _fills(call, (*call.input.shape[:axis], count, *inner), at, op.value & 0xFF)
    yield from _boxes(call, 0, call.input.shape, (0,) * len(shape), tuple(op.before))


def _fills(call: TaskCall, size: Sequence[int], at: Sequence[int], value: int) -> Iterator[Instruction]:
    for images in together(call.targets):
        box = _box(call.targets[images.first], images.pitches[0], call.output.shape, at, call.output.dtype.itemsize)
        [destination] = nests((images.count, *size), box)
        yield Fill(destination=destination, value=value)


def _boxes(call: TaskCall, number: int, size: Sequence[int], start: Sequence[int], at: Sequence[int]) -> Iterator[Copy]:
    """Copies of a box of input ``number`` from ``start`` on to ``at`` in the output."""
    tensor, bytes_ = call.task.inputs[number], call.output.dtype.itemsize
    for images in together(call.sources[number], call.targets):
        source = _box(call.sources[number][images.first], images.pitches[0], tensor.shape, start, bytes_)
        target = _box(call.targets[images.first], images.pitches[1], call.output.shape, at, bytes_)
        a, b = nests((images.count, *size), source, target)
        yield Copy(source=a, destination=b)


def _box(address: int, pitch: int, shape: Sequence[int], start: Sequence[int], element_bytes: int) -> Strided:
    """Of a tensor, with the images as its first axis."""
    strides = strides_of(shape, element_bytes)
    first = sum(place * stride for place, stride in zip(start, strides, strict=True))
    return Strided(address + first, (pitch, *strides), element_bytes)


def lower_resize_nearest(call: TaskCall, op: ResizeNearest) -> Iterator[Instruction]:
    """A copy for each run of rows and each of columns that repeat alike."""
    channels, size = call.input.shape[3], call.input.dtype.itemsize
    _, *into = strides_of(call.output.shape, size)
    _, *from_ = strides_of(call.input.shape, size)
    columns = copy_runs(0, op.columns)
    for images in together(call.sources[0], call.targets):
        for down in copy_runs(0, op.rows):
            for across in columns:
                counts = (images.count, down.count, down.times, across.count, across.times, channels)
                source = Strided(
                    call.sources[0][images.first] + down.first * from_[0] + across.first * from_[1],
                    (images.pitches[0], down.step * from_[0], 0, across.step * from_[1], 0, size),
                    size,
                )
                target = Strided(
                    call.targets[images.first] + down.start * into[0] + across.start * into[1],
                    (images.pitches[1], down.times * into[0], into[0], across.times * into[1], into[1], size),
                    size,
                )
                a, b = nests(counts, source, target)
                yield Copy(source=a, destination=b)


OPERATORS = {
    Concatenation: ArrayTraits(lower_concatenation),
    Pad: ArrayTraits(lower_pad, bytes_only=True),
    ResizeNearest: ArrayTraits(lower_resize_nearest, on_map=True),
    Slice: ArrayTraits(lower_slice),
}
