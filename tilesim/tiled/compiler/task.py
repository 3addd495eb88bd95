"""What a lowering gets: one tile's part of a layer, and where its parameters may go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.tiled.compiler.feature_map import MapPart
from tilesim.tiled.compiler.nest import NestWriter
from tilesim.tiled.isa.model.instructions import ElementType, Operation, TensorOp
from tilesim.tiled.topology import Topology


@dataclass(frozen=True)
class TileTask:
    """One node for one tile: its parts of maps in narrow memory, the node's constants, and ``keep(name, make)``, which
    sees to it that the array that ``make`` makes is in wide memory, and returns how far behind the first of them.

    ``outputs`` are the channels to make, all of the part's or some. Rows are made in the order ``step`` (1 downwards,
    -1 upwards); with ``by_row`` each of them raises the flag.
    """

    topology: Topology
    layer: int
    inputs: tuple[MapPart, ...]
    output: MapPart
    constants: tuple[NDArray[Any], ...]
    input_type: ElementType
    output_type: ElementType
    outputs: range
    keep: Callable[[str, Callable[[], NDArray[Any]]], int]
    step: int = 1
    by_row: bool = False

    @property
    def row_bytes(self) -> int:
        return self.topology.wide_memory.row_bytes

    @property
    def first_row(self) -> int:
        """The output row that is made first, of the tile's block."""
        return self.output.block_rows[:: self.step][0]

    @property
    def target(self) -> int:
        """The address of the first output byte that is made."""
        first = self.output.at(self.first_row, self.output.columns.start)
        return first + self.outputs.start - self.output.channels.start

    def raises(self, nest: NestWriter) -> str:
        """The loop whose completion raises the flag."""
        return nest.each_row if self.by_row else nest.outermost

    def tensorop(self, operation: Operation, nest: NestWriter, first: int, target: int) -> TensorOp:
        """Reads from ``first`` on and writes from ``target`` on, and raises the flag in the end."""
        return TensorOp(
            tiles=0,
            operation=operation,
            nest=nest.nest,
            reduce=nest.reduce,
            input=nest.reference("input", first),
            output=nest.reference("output", target),
            input_type=self.input_type,
            output_type=self.output_type,
            produce=nest.outermost,
            layer=self.layer,
        )

    def with_constants(self, constants: tuple[NDArray[Any], ...]) -> TileTask:
        return replace(self, constants=constants)


def nowhere(part: str, _make: Callable[[], NDArray[Any]]) -> int:
    """A ``keep`` for tasks without parameters."""
    raise AssertionError(f"there is no place for {part}")


def element_type(dtype: np.dtype[Any]) -> ElementType:
    return ElementType.U8 if dtype == np.uint8 else ElementType.I8
