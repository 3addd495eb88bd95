"""TensorFlow Lite operators that cut a box out of a tensor, boxes side by side, or every so many elements.

What is cut along the first axis, which is that of the samples elsewhere, is a layer of its own before the rest.

Source: TensorFlow Lite reference kernels SLICE, SPLIT, SPLIT_V and STRIDED_SLICE.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from tilesim.errors import ModelError
from tilesim.network.graph import Tensor
from tilesim.network.operators import Part, Slice, StridedSlice
from tilesim.network.readers.builder import Built, NetworkBuilder
from tilesim.network.readers.moving import box
from tilesim.network.readers.tflite_file import FileOperator
from tilesim.network.readers.tflite_operands import any_axis, constant_integers, moved

REST = -1
"""The size that stands for all that is left."""


def slice_(builder: NetworkBuilder, op: FileOperator) -> Built:
    x = moved(builder, op, 3)
    shape = x.shape
    begin, sizes = (_integers(builder, op.inputs[k], what, len(shape)) for k, what in ((1, "begin"), (2, "size")))
    size = [
        length - start if count == REST else count for start, count, length in zip(begin, sizes, shape, strict=True)
    ]
    for axis, (start, count, length) in enumerate(zip(begin, size, shape, strict=True)):
        if start < 0 or count < 1 or start + count > length:
            raise ModelError(f"must take some of the {length} elements of axis {axis}, not {count} from {start} on")
    whole = (*zip(begin[1:], size[1:], shape[1:], strict=True),)
    if (begin[0], size[0]) != (0, shape[0]) and all((start, count) == (0, length) for start, count, length in whole):
        return box(x, 0, begin[0], size[0])
    x = _first_cut(builder, op, x, _Cut(begin[0], 1, size[0]))
    return Built(Slice((0, *begin[1:]), tuple(size)), (x.index,), tuple(size))


def split(builder: NetworkBuilder, op: FileOperator) -> tuple[Built, ...]:
    """As many boxes as there are outputs, of equal size."""
    x = moved(builder, op, 2, position=1)
    axis, count = _axis(builder, op.inputs[0], x), int(op.options["NumSplits"])
    if not 0 < count <= x.shape[axis] or x.shape[axis] % count:
        raise ModelError(f"must cut the {x.shape[axis]} elements of axis {axis} into equal parts, not into {count}")
    return _boxes(x, axis, [x.shape[axis] // count] * count)


def split_v(builder: NetworkBuilder, op: FileOperator) -> tuple[Built, ...]:
    """Boxes of sizes that are given, of which one may be what the others leave."""
    x = moved(builder, op, 3)
    axis = _axis(builder, op.inputs[2], x)
    sizes = [int(size) for size in constant_integers(builder, op.inputs[1], "sizes").reshape(-1)]
    if sizes.count(REST) == 1:
        sizes[sizes.index(REST)] = x.shape[axis] - sum(size for size in sizes if size != REST)
    if min(sizes, default=0) < 1 or sum(sizes) != x.shape[axis]:
        raise ModelError(f"must cut the {x.shape[axis]} elements of axis {axis} into its sizes, not into {sizes}")
    return _boxes(x, axis, sizes)


def _axis(builder: NetworkBuilder, index: int, x: Tensor) -> int:
    given = constant_integers(builder, index, "axis")
    if given.size != 1:
        raise ModelError(f"its axis must be one number, not {given.size}")
    return any_axis(int(given.reshape(())), len(x.shape))


def _boxes(x: Tensor, axis: int, sizes: list[int]) -> tuple[Built, ...]:
    starts = accumulate(sizes[:-1], initial=0)
    return tuple(box(x, axis, start, size) for start, size in zip(starts, sizes, strict=True))


@dataclass(frozen=True)
class _Cut:
    """What is taken of an axis; ``kept`` says whether the output has it, too."""

    start: int
    step: int
    count: int
    kept: bool = True

    def is_whole(self, length: int) -> bool:
        """Whether it is all of an axis of that length."""
        return self == _Cut(0, 1, length)


def strided_slice(builder: NetworkBuilder, op: FileOperator) -> Built:
    """With steps of 1 and as many axes as before, it is a slice like another."""
    x = moved(builder, op, 4)
    for option, what in (("EllipsisMask", "an ellipsis"), ("NewAxisMask", "new axes"), ("Offset", "ends by offset")):
        if op.options[option]:
            raise ModelError(f"{what} is not supported" if what[0] == "a" else f"{what} are not supported")
    first, *cuts = _cuts(builder, op, x)
    if first.kept and (first.step, first.count) != (1, x.shape[0]) and all(map(_Cut.is_whole, cuts, x.shape[1:])):
        shape = (first.count, *x.shape[1:])
        return Built(Part(x.shape[0], first.start, first.step, first.count), (x.index,), shape)
    x = _first_cut(builder, op, x, first)
    cuts = [_Cut(0, 1, first.count, first.kept), *cuts]
    begin, steps, size = (tuple(getattr(cut, name) for cut in cuts) for name in ("start", "step", "count"))
    shape = tuple(cut.count for cut in cuts if cut.kept)
    if set(steps) == {1} and shape == size:
        return Built(Slice(begin, size), (x.index,), size)
    return Built(StridedSlice(begin, steps, size, shape), (x.index,), shape)


def _first_cut(builder: NetworkBuilder, op: FileOperator, x: Tensor, cut: _Cut) -> Tensor:
    """A tensor with what is taken of its first axis, a node of its own if that is not all."""
    if (cut.start, cut.step, cut.count) == (0, 1, x.shape[0]):
        return x
    part = Part(x.shape[0], cut.start, cut.step, cut.count)
    return builder.derived(f"{builder.tensors[op.outputs[0]].name}/part", part, x, (cut.count, *x.shape[1:]))


def _cuts(builder: NetworkBuilder, op: FileOperator, x: Tensor) -> Iterator[_Cut]:
    names = ("begin", "end", "strides")
    begin, end, steps = (_integers(builder, op.inputs[k + 1], what, len(x.shape)) for k, what in enumerate(names))
    first, last, shrunk = (int(op.options[mask]) for mask in ("BeginMask", "EndMask", "ShrinkAxisMask"))
    for axis, (low, high, step, length) in enumerate(zip(begin, end, steps, x.shape, strict=True)):
        bit = 1 << axis
        if not step:
            raise ModelError(f"its strides must not be 0, as that of axis {axis} is")
        if shrunk & bit:
            yield _one(low, step, length, axis, bool(first & bit))
            continue
        places = range(*slice(None if first & bit else low, None if last & bit else high, step).indices(length))
        if not places:
            raise ModelError(f"must take some of the {length} elements of axis {axis}, not none")
        yield _Cut(places.start, step, len(places))


def _one(place: int, step: int, length: int, axis: int, masked: bool) -> _Cut:
    """One element, whose axis goes."""
    if step != 1 or masked or not -length <= place < length:
        raise ModelError(
            f"axis {axis} must be left with one of its {length} elements by a stride of 1 and no begin mask"
        )
    return _Cut(place % length, 1, 1, kept=False)


def _integers(builder: NetworkBuilder, index: int, what: str, count: int) -> list[int]:
    return [int(number) for number in constant_integers(builder, index, what, (count,))]
