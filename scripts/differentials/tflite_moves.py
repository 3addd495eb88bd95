"""Operators of TensorFlow Lite that put what a tensor has into other places, other shapes, other tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scripts.differentials.tflite_draft import Draft, Wire
from scripts.differentials.tflite_elements import like

LONG = 150
"""Axes that grow no longer: a softmax over 512 elements or more ends the runtime where its largest are equal."""


def plain(draft: Draft, shape: Sequence[int], dtype: Any) -> Wire:
    """A tensor without a quantisation."""
    return Wire(draft.file.tensor(shape, dtype), tuple(shape), np.dtype(dtype))


def several(draft: Draft, kind: str, inputs: Sequence[int], outputs: Sequence[Wire], **options: Any) -> Wire:
    """An operator of several outputs, of which one, any, is handed on and the others are outputs of the file."""
    draft.file.operator(kind, inputs, [output.index for output in outputs], **options)
    chosen = draft.number(0, len(outputs) - 1)
    draft.outputs += [*outputs[:chosen], *outputs[chosen + 1 :]]
    return outputs[chosen]


def axis_of(draft: Draft, rank: int) -> tuple[int, int]:
    """An axis, and one of its two names; the first one less often."""
    axis = draft.number(0, rank - 1) if draft.chance(0.3) else draft.number(min(1, rank - 1), rank - 1)
    return axis, draft.pick(axis, axis - rank)


def split(draft: Draft, x: Wire) -> Wire:
    axis, named = axis_of(draft, len(x.shape))
    parts = draft.pick(*(count for count in range(1, x.shape[axis] + 1) if x.shape[axis] % count == 0))
    shape = (*x.shape[:axis], x.shape[axis] // parts, *x.shape[axis + 1 :])
    inputs = [draft.constant(named, np.int32), x.index]
    return several(draft, "SPLIT", inputs, [like(draft, x, shape) for _ in range(parts)], NumSplits=parts)


def split_v(draft: Draft, x: Wire) -> Wire:
    """Of sizes that are given, but for one perhaps."""
    axis, named = axis_of(draft, len(x.shape))
    cuts = sorted({draft.number(1, x.shape[axis]) for _ in range(draft.number(0, 3))} - {x.shape[axis]})
    sizes = [int(size) for size in np.diff([0, *cuts, x.shape[axis]])]
    outputs = [like(draft, x, (*x.shape[:axis], size, *x.shape[axis + 1 :])) for size in sizes]
    if draft.chance(0.3):
        sizes[draft.number(0, len(sizes) - 1)] = -1
    inputs = [x.index, draft.constant(sizes, draft.pick(np.int32, np.int64)), draft.constant(named)]
    return several(draft, "SPLIT_V", inputs, outputs, NumSplits=len(sizes))


def pack(draft: Draft, x: Wire) -> Wire:
    """Inputs, constants, and the same one twice."""
    axis, named = axis_of(draft, len(x.shape) + 1)
    parts = [x, *(draft.pick(x, _other(draft, x), _fixed(draft, x)) for _ in range(draft.number(0, 3)))]
    y = like(draft, x, (*x.shape[:axis], len(parts), *x.shape[axis:]))
    order = draft.rng.permutation([part.index for part in parts]).tolist()
    return draft.made("PACK", order, y, Axis=named, ValuesCount=len(parts))


def _other(draft: Draft, x: Wire) -> Wire:
    return draft.input(x.shape, x.dtype, x.scale, x.zero_point)


def _fixed(draft: Draft, x: Wire) -> Wire:
    index = draft.constant(draft.data(x.shape, x.dtype), x.dtype, [x.scale], zero_point=x.zero_point)
    return Wire(index, x.shape, x.dtype, x.scale, x.zero_point)


def unpack(draft: Draft, x: Wire) -> Wire:
    axis, named = axis_of(draft, len(x.shape))
    shape = (*x.shape[:axis], *x.shape[axis + 1 :])
    outputs = [like(draft, x, shape) for _ in range(x.shape[axis])]
    return several(draft, "UNPACK", [x.index], outputs, Axis=named, Num=x.shape[axis])


def concatenation(draft: Draft, x: Wire) -> Wire:
    """Along the first axis, and of constants, too."""
    axis, named = draft.pick((0, 0), (0, -len(x.shape)), axis_of(draft, len(x.shape)))
    parts = [x, *(draft.pick(x, _other(draft, x), _fixed(draft, x)) for _ in range(draft.number(0, 3)))]
    y = like(draft, x, (*x.shape[:axis], len(parts) * x.shape[axis], *x.shape[axis + 1 :]))
    return draft.made("CONCATENATION", draft.rng.permutation([p.index for p in parts]).tolist(), y, Axis=named)


def tile(draft: Draft, x: Wire) -> Wire:
    times = [draft.pick(1, 1, 2, 3) if length < LONG else 1 for length in x.shape]
    y = like(draft, x, [length * count for length, count in zip(x.shape, times, strict=True)])
    return draft.made("TILE", [x.index, draft.constant(times, draft.pick(np.int32, np.int64))], y)


def transpose(draft: Draft, x: Wire) -> Wire:
    axes = draft.rng.permutation(len(x.shape)).tolist()
    named = [draft.pick(axis, axis - len(axes)) for axis in axes]
    return draft.made("TRANSPOSE", [x.index, draft.constant(named)], like(draft, x, [x.shape[axis] for axis in axes]))


def expand_dims(draft: Draft, x: Wire) -> Wire:
    axis, named = axis_of(draft, len(x.shape) + 1)
    y = like(draft, x, (*x.shape[:axis], 1, *x.shape[axis:]))
    return draft.made("EXPAND_DIMS", [x.index, draft.constant(draft.pick(named, [named]))], y)


def squeeze(draft: Draft, x: Wire) -> Wire:
    """Axes of one element; all, or those that are named."""
    ones = [axis for axis, length in enumerate(x.shape) if length == 1]
    gone = ones if draft.chance(0.4) else [axis for axis in ones if draft.chance(0.5)]
    if len(gone) == len(x.shape):
        gone = gone[1:]
    shape = [length for axis, length in enumerate(x.shape) if axis not in gone]
    named = () if gone == ones else tuple(gone)
    if not named and gone != ones:
        return expand_dims(draft, x)
    return draft.made("SQUEEZE", [x.index], like(draft, x, shape), SqueezeDims=named)


def shape(draft: Draft, x: Wire) -> Wire:
    """The shape of a tensor, taken apart and put together, as converters write it for a reshape."""
    lengths = plain(draft, (len(x.shape),), np.int32)
    draft.made("SHAPE", [x.index], lengths, OutType=2)
    first = plain(draft, (), np.int32)
    cut = [draft.constant([number]) for number in (0, 1, 1)]
    draft.made("STRIDED_SLICE", [lengths.index, *cut], first, ShrinkAxisMask=1)
    packed = plain(draft, (2,), np.int32)
    draft.made("PACK", [first.index, draft.constant(-1)], packed, Axis=0, ValuesCount=2)
    y = like(draft, x, (x.shape[0], int(np.prod(x.shape[1:]))))
    return draft.made("RESHAPE", [x.index, packed.index], y, NewShape=y.shape)


def gather(draft: Draft, x: Wire) -> Wire:
    axis, named = axis_of(draft, len(x.shape))
    shared = draft.number(0, axis) if draft.chance(0.3) else 0
    shape = [*x.shape[:shared], *(draft.number(1, 4) for _ in range(draft.number(0, 2)))]
    places = _places(draft, shape, x.shape[axis], constant=draft.chance(0.7))
    y = like(draft, x, (*x.shape[:axis], *shape[shared:], *x.shape[axis + 1 :]))
    return draft.made(
        "GATHER", [x.index, places], y, Axis=named, BatchDims=draft.pick(shared, shared - len(shape)) if shape else 0
    )


def _places(draft: Draft, shape: Sequence[int], length: int, constant: bool) -> int:
    data = draft.rng.integers(0, length, shape)
    dtype = draft.pick(np.int32, np.int64)
    if constant or not shape:
        return draft.constant(data, dtype)
    return draft.feed(plain(draft, shape, dtype), np.asarray(data, dtype)).index


def gather_nd(draft: Draft, x: Wire) -> Wire:
    count = draft.number(1, len(x.shape))
    shape = [draft.number(1, 4) for _ in range(draft.number(0, 2))]
    columns = [draft.rng.integers(0, length, shape) for length in x.shape[:count]]
    data, dtype = np.stack(columns, axis=-1), draft.pick(np.int32, np.int64)
    made = (*shape, *x.shape[count:])
    if not made:
        return expand_dims(draft, x)
    if draft.chance(0.7):
        places = draft.constant(data, dtype)
    else:
        places = draft.feed(plain(draft, data.shape, dtype), np.asarray(data, dtype)).index
    return draft.made("GATHER_ND", [x.index, places], like(draft, x, made))


def cast(draft: Draft, x: Wire) -> Wire:
    dtype = draft.pick(np.int8, np.uint8, np.int16, np.int32, np.int64, np.float32)
    return draft.made("CAST", [x.index], plain(draft, x.shape, dtype))


def depth_to_space(draft: Draft, x: Wire) -> Wire:
    block = draft.number(1, 3)
    n, height, width, channels = x.shape
    x = draft.input((n, height, width, channels * block**2), x.dtype, x.scale, x.zero_point)
    y = like(draft, x, (n, height * block, width * block, channels))
    return draft.made("DEPTH_TO_SPACE", [x.index], y, BlockSize=block)


def space_to_depth(draft: Draft, x: Wire) -> Wire:
    block = draft.number(1, 3)
    n, height, width, channels = x.shape
    x = draft.input((n, height * block, width * block, channels), x.dtype, x.scale, x.zero_point)
    return draft.made(
        "SPACE_TO_DEPTH", [x.index], like(draft, x, (n, height, width, channels * block**2)), BlockSize=block
    )


def arg_max(draft: Draft, x: Wire) -> Wire:
    """Along any axis; of a vector's only one nothing would be left."""
    dtype, code = draft.pick((np.int32, 2), (np.int64, 4))
    axis, named = axis_of(draft, len(x.shape))
    y = plain(draft, (*x.shape[:axis], *x.shape[axis + 1 :]), dtype)
    return draft.made("ARG_MAX", [x.index, draft.constant(named)], y, OutputType=code)


def resize_bilinear(draft: Draft, x: Wire) -> Wire:
    size = tuple(draft.pick(draft.number(1, 3 * length), 2 * length, 2 * length - 1) for length in x.shape[1:3])
    align, centred = draft.pick((False, False), (True, False), (False, True))
    y = like(draft, x, (x.shape[0], *size, x.shape[3]))
    inputs = [x.index, draft.constant(size)]
    return draft.made("RESIZE_BILINEAR", inputs, y, AlignCorners=align, HalfPixelCenters=centred)


def extreme(kind: str, draft: Draft, x: Wire) -> Wire:
    """MAXIMUM and MINIMUM, alike or broadcast, of an input or a constant."""
    shape = x.shape if draft.chance(0.5) else tuple(length if draft.chance(0.6) else 1 for length in x.shape)
    shape = shape if draft.chance(0.7) else draft.pick((1,), (), shape[-1:])
    other = Wire(0, shape, x.dtype, x.scale, x.zero_point)
    other = _fixed(draft, other) if draft.chance(0.5) or len(shape) < len(x.shape) else _other(draft, other)
    both = [x, other] if draft.chance(0.7) else [other, x]
    return draft.made(kind, [wire.index for wire in both], like(draft, x, x.shape))
