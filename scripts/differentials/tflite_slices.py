"""Operators of TensorFlow Lite that take a part of a tensor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scripts.differentials.tflite_draft import Draft, Wire
from scripts.differentials.tflite_elements import like


def slice_(draft: Draft, x: Wire) -> Wire:
    """A box; a size of -1 stands for the rest."""
    begin = [0, *(draft.number(0, length - 1) for length in x.shape[1:])]
    size = [draft.number(1, length - start) for length, start in zip(x.shape, begin, strict=True)]
    size[0] = x.shape[0] if not draft.chance(0.02) else 1
    named = [
        -1 if start + count == length and draft.chance(0.5) else count
        for start, count, length in zip(begin, size, x.shape, strict=True)
    ]
    dtype = draft.pick(np.int32, np.int64)
    inputs = [x.index, draft.constant(begin, dtype), draft.constant(named, dtype)]
    return draft.made("SLICE", inputs, like(draft, x, size))


@dataclass(frozen=True)
class Cut:
    """An axis of a strided slice: its numbers, its bits in the masks, and what is left of it."""

    begin: int
    end: int
    step: int
    first: bool
    last: bool
    shrunk: bool
    count: int


def strided_slice(draft: Draft, x: Wire) -> Wire:
    """Forwards, backwards, counted from either end, beyond the ends; some axes go."""
    cuts = [Cut(0, x.shape[0], 1, draft.chance(0.5), draft.chance(0.5), False, x.shape[0])]
    cuts += [_cut(draft, length) for length in x.shape[1:]]
    masks = {
        mask: sum(1 << axis for axis, cut in enumerate(cuts) if getattr(cut, name))
        for mask, name in (("BeginMask", "first"), ("EndMask", "last"), ("ShrinkAxisMask", "shrunk"))
    }
    numbers = ([getattr(cut, name) for cut in cuts] for name in ("begin", "end", "step"))
    y = like(draft, x, [cut.count for cut in cuts if not cut.shrunk])
    inputs = [x.index, *(draft.constant(values) for values in numbers)]
    return draft.made("STRIDED_SLICE", inputs, y, **masks)


def _cut(draft: Draft, length: int) -> Cut:
    if draft.chance(0.12):
        place = draft.number(-length, length - 1)
        return Cut(place, place + 1, 1, False, draft.chance(0.2), True, 1)
    while True:
        step = draft.pick(1, 1, 1, 2, 3, -1, -1, -2)
        begin, end = (draft.number(-length - 2, length + 2) for _ in range(2))
        first, last = draft.chance(0.4), draft.chance(0.4)
        taken = range(*slice(None if first else begin, None if last else end, step).indices(length))
        if taken:
            return Cut(begin, end, step, first, last, False, len(taken))
