"""The windows in which a layer looks at its input, line by line."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from tilesim.network.operators import Padding
from tilesim.network.operators.windows import output_size


class Span(NamedTuple):
    """``lines`` output lines from ``line`` on, for which the filter rows ``first`` up to ``end`` lie in the map."""

    line: int
    lines: int
    first: int
    end: int


NO_PADDING = Padding()


@dataclass(frozen=True)
class Window:
    """Of a layer over a map of ``size`` (lines, columns)."""

    size: tuple[int, int]
    kernel: tuple[int, int] = (1, 1)
    strides: tuple[int, int] = (1, 1)
    padding: Padding = NO_PADDING
    dilations: tuple[int, int] = (1, 1)

    @property
    def output(self) -> tuple[int, int]:
        """Lines and columns of what it makes."""
        return output_size(self.size, self.kernel, self.strides, self.padding, self.dilations)

    @property
    def reach(self) -> Padding:
        """Over how many words a line must have around it: what windows of its columns reach beyond."""
        (_, columns), (_, width) = self.size, self.output
        over = (width - 1) * self.strides[1] + (self.kernel[1] - 1) * self.dilations[1] + 1
        return Padding(left=max(0, self.padding.left), right=max(0, over - self.padding.left - columns))

    @property
    def spans(self) -> list[Span]:
        """All output lines, in order."""
        spans = []
        for inside, lines in groupby(range(self.output[0]), self._inside):
            own = list(lines)
            spans.append(Span(own[0], len(own), *inside))
        return spans

    @property
    def visits(self) -> int:
        """Pairs of an output line and a filter row in the map."""
        return sum(span.lines * (span.end - span.first) for span in self.spans)

    def _inside(self, line: int) -> tuple[int, int]:
        first = line * self.strides[0] - self.padding.top
        rows = [r for r in range(self.kernel[0]) if 0 <= first + r * self.dilations[0] < self.size[0]]
        return (rows[0], rows[-1] + 1) if rows else (0, 0)
