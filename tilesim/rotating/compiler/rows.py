"""Where each map stands in the data RAM, so that no two that live at once overlap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilesim.errors import CapacityError
from tilesim.lowering.allocation import DoesNotFit, Lifetime, allocate, allocate_by_orders, in_use
from tilesim.rotating.compiler.task import Task
from tilesim.rotating.isa.model.program import Layout
from tilesim.rotating.topology import Topology


def waiting_key(step: int) -> int:
    """What stands for the sums that wait in a step, among the numbers of tensors."""
    return -1 - step


def lifetimes(
    tasks: Sequence[Task], layouts: Mapping[int, Layout], leave: set[int], waiting: Mapping[int, int]
) -> dict[int, Lifetime]:
    """How long each tensor's rows are needed: inputs from the start, for they come when they come; constants, and those
    that ``leave``, up to the end; rows of sums that are ``waiting``, in a step only.
    """
    end = len(tasks)
    made = {task.output.index: step for step, task in enumerate(tasks)}
    lives: dict[int, Lifetime] = {}
    for step, task in enumerate(tasks):
        for tensor in (*task.inputs, task.output):
            index = tensor.index
            last = end if tensor.data is not None or index in leave else step
            lives[index] = Lifetime(layouts[index].rows, made.get(index, 0), last, tensor.title)
    for step, rows in waiting.items():
        lives[waiting_key(step)] = Lifetime(rows, step, step, "sums")
    return lives


def allocated(name: str, lives: Mapping[int, Lifetime], topology: Topology) -> dict[int, int]:
    """The first row of each tensor.

    Raises:
        CapacityError: the data RAM has no room for all that live at once.
    """
    capacity, items = topology.data_ram.rows, list(lives.values())
    most = int(in_use(items).max(initial=0))
    rows = allocate_by_orders(items, capacity)
    if rows is None and most <= capacity:
        try:
            rows = allocate(items, capacity, 1)
        except DoesNotFit:
            rows = None
    if rows is None:
        raise CapacityError(
            f"{name}: maps that are needed at once must fit the data RAM of {topology.name}: they take {most:,} rows, "
            f"and there are {capacity:,}"
        )
    return dict(zip(lives, rows, strict=True))
