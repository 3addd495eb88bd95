"""A task in a step, for some inferences, from addresses to addresses; and what it is lowered to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from tilesim.network.graph import Tensor
from tilesim.systolic.compiler.product import Product
from tilesim.systolic.compiler.storage import AccumulatorRing, Storage
from tilesim.systolic.compiler.task import OperatorTask, element_of
from tilesim.systolic.isa.model.instructions import Element, Instruction, MatrixMultiply
from tilesim.systolic.topology import Topology


@dataclass(frozen=True)
class TaskCall:
    """``sources``: for each tensor that the task reads, an address for each inference of the step; ``targets``
    likewise for what it makes. ``product`` is there for layers on the array.
    """

    task: OperatorTask
    topology: Topology
    storage: Storage
    accumulators: AccumulatorRing
    sources: tuple[tuple[int, ...], ...]
    targets: tuple[int, ...]
    product: Product | None = None

    @property
    def input(self) -> Tensor:
        """The first tensor that is read."""
        return self.task.inputs[0]

    @property
    def output(self) -> Tensor:
        return self.task.output

    @property
    def element(self) -> Element:
        """Of what is read."""
        return element_of(self.input.dtype)


@dataclass(frozen=True)
class PendingMultiply:
    """A multiply in the making, and the address of the tile that it switches to, -1 if none."""

    op: MatrixMultiply
    tile: int


Item: TypeAlias = Instruction | PendingMultiply
"""Of the stream of instructions."""


@dataclass(frozen=True)
class ArrayTraits:
    """``lower`` makes the instructions of a call of an operator, in order. ``on_map``: its input must be a map;
    ``bytes_only``: it looks bytes up, and int16 is none.
    """

    lower: Callable[[TaskCall, Any], Iterator[Item]]
    on_map: bool = False
    bytes_only: bool = False
