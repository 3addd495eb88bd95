"""A layer's weights cut along its inputs, so that what must be in wide memory at once is some rows of them.

Each part reads some channels of the layer's input, or of some rows of the kernel; rows of sums of all the outputs stand
in wide memory between one part and the next. The first part makes them, the last one finishes the outputs. The parts
are tensorops of their own, each with parameters of its own, which come, stay or have a home tile as all others do.

Timing: a part reads a row of sums for each of its result groups, but for the first part, and writes one, but for the
last. Source: US 2025/0265455 [0065], [0067] for a layer's parameters that are split further where they find no room;
US 19/025,090 [0064] for partial sums in wide memory; that input channels are cut is an assumption.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from msgspec import Struct
from numpy.typing import NDArray

from tilesim.tiled.isa.model.fields import Reference
from tilesim.tiled.isa.model.instructions import TensorOp


class InputPart(Struct, frozen=True):
    """Some ``rows`` of a kernel, of some ``words`` of input channels: the ``first`` of a layer's parts, the ``last`` or
    one between.
    """

    rows: range
    words: range
    first: bool
    last: bool

    def weights(self, kernel: NDArray[Any], inputs: int) -> NDArray[Any]:
        """The part's weights of a kernel (O, kH, kW, C) with so many ``inputs`` a word."""
        words, rows = self.words, self.rows
        return kernel[:, rows.start : rows.stop, :, words.start * inputs : words.stop * inputs]

    def sums(self, whole: TensorOp, moved_bytes: int, row_bytes: int) -> TensorOp:
        """The tensorop ``whole`` of the part's weights, with references to the sums that it reads and writes, counted
        from 0; its input begins ``moved_bytes`` further on.
        """
        rows = _sum_rows(whole, row_bytes)
        return replace(
            whole,
            input=whole.input._replace(base=whole.input.base + moved_bytes),
            parameters=whole.parameters if self.last else None,
            output=whole.output if self.last else None,
            sums_in=None if self.first else rows,
            sums_out=None if self.last else rows,
        )


def _sum_rows(op: TensorOp, row_bytes: int) -> Reference:
    """A row for each result group, in their order."""
    strides: list[tuple[str, int]] = []
    size = row_bytes
    for loop in reversed([loop for loop in op.nest.loops[:-1] if loop.name not in op.reduce]):
        strides.insert(0, (loop.name, size))
        size *= loop.bound
    return Reference(0, tuple(strides))


def input_parts(rows: int, words: int, row_bytes: int, most_bytes: int) -> list[InputPart]:
    """The parts of a kernel of so many ``rows`` and ``words`` of channels: of at most ``most_bytes`` each, if a row of
    one word fits, which has ``row_bytes``.
    """
    count = most_bytes // (rows * row_bytes)
    if count:
        places = [(range(rows), some) for some in _evenly(words, -(-words // count))]
    else:
        cut = _evenly(rows, -(-rows // max(1, most_bytes // row_bytes)))
        places = [(some, range(word, word + 1)) for word in range(words) for some in cut]
    last = len(places) - 1
    return [InputPart(*place, first=k == 0, last=k == last) for k, place in enumerate(places)]


def _evenly(size: int, parts: int) -> list[range]:
    return [range(size * k // parts, size * (k + 1) // parts) for k in range(parts)]
