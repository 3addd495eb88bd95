"""Output positions that copy input positions, in runs that a loop nest can follow."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from msgspec import Struct


class CopyRun(Struct, frozen=True):
    """``count`` times ``times`` output positions from ``start`` on, the ``times`` of each alike: copies of the input
    position ``first``, then of the one ``step`` further, and so on.
    """

    start: int
    count: int
    times: int
    first: int
    step: int


def copy_runs(start: int, sources: Sequence[int]) -> list[CopyRun]:
    """The runs that copy the input positions ``sources`` to output positions from ``start`` on, as few as there are if
    each is as long as possible.
    """
    runs: list[CopyRun] = []
    for source, alike in groupby(sources):
        times = len(list(alike))
        last = runs[-1] if runs else None
        if last is not None and last.times == times and last.count == 1:
            runs[-1] = CopyRun(last.start, 2, times, last.first, source - last.first)
        elif last is not None and last.times == times and source == last.first + last.count * last.step:
            runs[-1] = CopyRun(last.start, last.count + 1, times, last.first, last.step)
        else:
            runs.append(CopyRun(start, 1, times, source, 0))
        start += times
    return runs
