"""TensorFlow Lite operators that cut a box out of a tensor, or every so many elements.

Source: TensorFlow Lite reference kernels SLICE and STRIDED_SLICE.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tilesim.errors import ModelError
from tilesim.network.graph import Tensor
from tilesim.network.operators import Slice, StridedSlice
from tilesim.network.readers.builder import WIDE_DTYPES, Built, NetworkBuilder
from tilesim.network.readers.tflite_file import FileOperator
from tilesim.network.readers.tflite_operands import constant_integers, ends_of, same_scale

REST = -1
"""The size that stands for all that is left."""


def slice_(builder: NetworkBuilder, op: FileOperator) -> Built:
    ends = ends_of(builder, op, 3, dtypes=WIDE_DTYPES)
    same_scale(ends)
    shape = ends.x.shape
    begin, sizes = (_integers(builder, op.inputs[k], what, len(shape)) for k, what in ((1, "begin"), (2, "size")))
    size = [
        length - start if count == REST else count for start, count, length in zip(begin, sizes, shape, strict=True)
    ]
    for axis, (start, count, length) in enumerate(zip(begin, size, shape, strict=True)):
        if start < 0 or count < 1 or start + count > length:
            raise ModelError(f"must take some of the {length} elements of axis {axis}, not {count} from {start} on")
    _check_first(ends.x, begin[0], 1, size[0])
    return Built(Slice(tuple(begin), tuple(size)), (ends.x.index,), tuple(size))


@dataclass(frozen=True)
class _Cut:
    """What is taken of an axis; ``kept`` says whether the output has it, too."""

    start: int
    step: int
    count: int
    kept: bool = True


def strided_slice(builder: NetworkBuilder, op: FileOperator) -> Built:
    """With steps of 1 and as many axes as before, it is a slice like another."""
    ends = ends_of(builder, op, 4, dtypes=WIDE_DTYPES)
    same_scale(ends)
    for option, what in (("EllipsisMask", "an ellipsis"), ("NewAxisMask", "new axes"), ("Offset", "ends by offset")):
        if op.options[option]:
            raise ModelError(f"{what} is not supported" if what[0] == "a" else f"{what} are not supported")
    cuts = list(_cuts(builder, op, ends.x))
    _check_first(ends.x, cuts[0].start, cuts[0].step, cuts[0].count if cuts[0].kept else 0)
    begin, steps, size = (tuple(getattr(cut, name) for cut in cuts) for name in ("start", "step", "count"))
    shape = tuple(cut.count for cut in cuts if cut.kept)
    if set(steps) == {1} and shape == size:
        return Built(Slice(begin, size), (ends.x.index,), size)
    return Built(StridedSlice(begin, steps, size, shape), (ends.x.index,), shape)


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


def _check_first(x: Tensor, start: int, step: int, count: int) -> None:
    if (start, step, count) != (0, 1, x.shape[0]):
        raise ModelError("must leave the first axis whole, which is that of the samples")


def _integers(builder: NetworkBuilder, index: int, what: str, count: int) -> list[int]:
    return [int(number) for number in constant_integers(builder, index, what, (count,))]
