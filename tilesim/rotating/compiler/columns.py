"""Which columns stripes have: those that windows of what follows reach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tilesim.rotating.compiler.cutting import stripe_of
from tilesim.rotating.compiler.pieces import Columns
from tilesim.rotating.compiler.task import MapShape, Task


@dataclass(frozen=True)
class Stripe:
    """Of all tensors of a region: their ``columns``, up to ``end`` of the widest that leaves it; and the ``tasks`` that
    make it.
    """

    end: int = 0
    columns: Mapping[int, Columns] = field(default_factory=dict)
    tasks: Sequence[Task] = ()


@dataclass(frozen=True)
class Region:
    """Layers that are cut alike, and the ``shapes`` of what they read and make, without constants."""

    tasks: Sequence[Task]
    shapes: Mapping[int, MapShape]

    @property
    def width(self) -> int:
        """Columns of the widest map that leaves it."""
        return max(self.shapes[index][1] for index in self._leaving)

    @property
    def _leaving(self) -> list[int]:
        """Tensors that no layer of it reads."""
        read = {tensor.index for task in self.tasks for tensor in task.inputs}
        return [index for index in self.shapes if index not in read]

    def is_whole(self, stripe: Stripe) -> bool:
        return stripe.end == self.width

    def stripe(self, before: Stripe, end: int) -> Stripe:
        """The stripe behind another one that ends at column ``end`` of the widest map that leaves the region."""
        columns = {index: self._share(before, end, index) for index in self._leaving}
        for task in reversed(self.tasks):
            index = task.output.index
            columns[index] = self._closed(before, end, index, columns[index])
            for tensor, needed in self._needed(task, columns[index]).items():
                columns[tensor] = columns.get(tensor, needed).around(needed)
        given = set(columns) - {task.output.index for task in self.tasks}
        columns |= {index: self._closed(before, end, index, columns[index]) for index in given}
        return Stripe(end, columns, [stripe_of(task, 0, columns) for task in self.tasks])

    def _share(self, before: Stripe, end: int, index: int) -> Columns:
        """Of a tensor that leaves: as large a part of it as of the widest, but a column at least."""
        width = self.shapes[index][1]
        first = min(before.columns[index].end if before.columns else 0, width - 1)
        return Columns(first, max(first + 1, -(-end * width // self.width)))

    def _closed(self, before: Stripe, end: int, index: int, columns: Columns) -> Columns:
        """Columns that no window reaches go with those behind them, the last with those before."""
        first = min(columns.first, before.columns[index].end if before.columns else 0)
        return Columns(first, self.shapes[index][1] if end == self.width else columns.end)

    def _needed(self, task: Task, made: Columns) -> dict[int, Columns]:
        """What of each input, constants not among them, some columns are made of."""
        if task.family == "elements":
            return {tensor.index: made for tensor in task.inputs if tensor.data is None}
        window, width = task.window, task.maps[0][1]
        first = made.first * window.strides[1] - window.padding.left
        end = (made.end - 1) * window.strides[1] - window.padding.left
        end += (window.kernel[1] - 1) * window.dilations[1] + 1
        first = min(max(first, 0), width - 1)
        return {task.inputs[0].index: Columns(first, max(min(end, width), first + 1))}
