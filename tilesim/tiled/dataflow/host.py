"""What the host sends: rows of inputs, and such as its steps make of what has come from the chip."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from tilesim.machines.host_steps import HostStep
from tilesim.sim.core.memory import Bytes
from tilesim.tiled.units.host.sendings import Content, MadeRow

if TYPE_CHECKING:
    from tilesim.tiled.units.host.task import HostTask


class Received(Protocol):
    """What has come from the chip."""

    def output(self, number: int) -> Bytes:
        """All bytes of an output, (samples, bytes)."""


class Host(Protocol):
    """What the host has in a run: its rows, so many samples each, and its steps, which look at what has come."""

    samples: int

    @property
    def rows(self) -> Sequence[Content]:
        """Its rows, in order; some are yet to be made."""

    def tasks(self, come: Callable[[], Received]) -> Sequence[HostTask]:
        """Its steps, in order."""


class HostRows:
    """All of the host's ``rows``, in order. Each of its ``steps`` is done when somebody asks for what it makes."""

    def __init__(self, rows: Sequence[Content], steps: Iterable[tuple[HostStep, HostTask]], row_bytes: int) -> None:
        self._rows, self._row_bytes = rows, row_bytes
        self._steps = {step.makes: (step, task) for step, task in steps}
        self._makers = {made: index for index, (_, task) in self._steps.items() for made, _ in task.gives}
        self._left = {*self._steps}

    def between(self, first: int, end: int) -> Bytes:
        """Some of them, (samples or 1, rows, row bytes)."""
        if not self._steps:
            return self._all[:, first:end]
        return np.stack([self._row(row) for row in self._rows[first:end]], axis=1)

    @cached_property
    def _all(self) -> Bytes:
        rows = [*map(self._row, self._rows)]
        return np.stack(rows, axis=1) if rows else np.zeros((1, 0, self._row_bytes), np.uint8)

    def awaited(self, first: int, end: int) -> tuple[int, ...]:
        """The outputs, by number, of which some of them are made."""
        makers = {self._makers[row.made] for row in self._rows[first:end] if isinstance(row, MadeRow)}
        awaits = (self._steps[index][1].awaits for index in self._with_those_before(makers))
        return tuple(sorted({output for outputs in awaits for output in outputs}))

    @property
    def are_made(self) -> bool:
        """Whether some of them are made by steps."""
        return bool(self._makers)

    def finish(self) -> None:
        """Do all steps that are left."""
        self._do({*self._steps})

    def _row(self, row: Content) -> Bytes:
        if not isinstance(row, MadeRow):
            return row
        if not row.made.rows:
            self._do({self._makers[row.made]})
        return row.made.rows[row.number]

    def _with_those_before(self, steps: set[int]) -> list[int]:
        """Some steps, and those that make what they read, in order."""
        left, found = [*steps], {*steps}
        for index in left:
            before = self._steps.keys() & {*self._steps[index][0].reads} - found
            found |= before
            left += before
        return [index for index in self._steps if index in found]

    def _do(self, steps: set[int]) -> None:
        for index in self._with_those_before(steps):
            if index in self._left:
                self._left.remove(index)
                _, task = self._steps[index]
                task.work()
                for made, rows in task.gives:
                    made.rows = rows()
