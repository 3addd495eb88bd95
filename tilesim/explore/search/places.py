"""The points of a space by numbers: of each thing that varies, which of its values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from tilesim.explore.bench.digests import digest
from tilesim.explore.bench.task import Task, task_maker, tasks
from tilesim.explore.design.space import Axis, Space
from tilesim.explore.design.values import GRID
from tilesim.explore.point import Point, Value
from tilesim.explore.rows.answers import early, hold
from tilesim.explore.search.sampler import Choice, Dimension
from tilesim.network.graph import Network
from tilesim.units import parse_bytes, parse_hertz

Order = Callable[[Value], int | float]


class Places:
    """The points of a space.

    Numbers are in their order, and so are sizes and frequencies; grids in that of their tiles; other values have none.
    What has one value only is no dimension.
    """

    def __init__(self, space: Space, networks: Mapping[str, Network]) -> None:
        self._space = space
        self._orders = {axis.key: _order(axis) for axis in space.axes}
        axes = {axis.key: _arranged(axis, self._orders[axis.key]) for axis in space.axes}
        self._values: dict[str, Sequence[Value]] = {"model": space.models, "chip": space.chips, **axes}
        self.dimensions = [*self._dimensions()]
        conditions = early(space.where)
        self._made = task_maker(networks, partial(hold, conditions))
        self._tasks: dict[Choice, Task | None] = {}
        self.refusals: list[str] = []
        """Why points are not wanted whose chips can't be, as far as they were asked for."""
        chips = [
            space.point(model, chip, [axis.values[0] for axis in space.axes])
            for model in space.models
            for chip in space.chips
        ]
        self.digest = digest(
            [task.key for task in tasks(chips, networks)], self._values, [condition.text for condition in space.where]
        )
        """Of all that decides what there is, and what comes of it."""

    def task(self, choice: Choice) -> Task | None:
        """The point with these places; None if it is not wanted, or its chip can't be."""
        if choice not in self._tasks:
            task = self._made(self._point(choice))
            self._tasks[choice] = task if task and task.topology else None
            self.refusals += [task.reason] if task and not task.topology else []
        return self._tasks[choice]

    def _point(self, choice: Choice) -> Point:
        places = dict(zip((dimension.name for dimension in self.dimensions), choice, strict=True))
        model, chip, *values = (values[places.get(name, 0)] for name, values in self._values.items())
        return self._space.point(str(model), str(chip), values)

    def _dimensions(self) -> Iterator[Dimension]:
        for name, values in self._values.items():
            if len(values) > 1:
                yield Dimension(name, len(values), self._orders.get(name) is not None)


def _arranged(axis: Axis, order: Order | None) -> Sequence[Value]:
    return axis.values if order is None else sorted(axis.values, key=order)


def _order(axis: Axis) -> Order | None:
    """By what its values are in order, if they are."""
    if axis.key == GRID:
        return _tiles
    return next((order for order in (_number, parse_bytes, parse_hertz) if _takes(order, axis.values)), None)


def _takes(order: Order, values: Sequence[Value]) -> bool:
    try:
        return len({order(value) for value in values}) == len(values)
    except ValueError:
        return False


def _number(value: Value) -> int | float:
    if isinstance(value, bool | str):
        raise ValueError
    return value


def _tiles(grid: Value) -> float:
    """How many tiles a grid has; of two with as many, the one with fewer rows comes first."""
    rows, columns = map(int, str(grid).split("x"))
    return rows * columns + rows / (rows + columns + 1) * 1e-3
