"""What a lowering gets, one tile's part of a layer, and where its parameters may go; and how it writes a loop nest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from tilesim.machines.policies import ROWS
from tilesim.tiled.compiler.feature_map import MapPart
from tilesim.tiled.compiler.input_parts import InputPart
from tilesim.tiled.compiler.parameters import parameter_registers
from tilesim.tiled.isa.model.fields import Alternate, Loop, Nest, Reference
from tilesim.tiled.isa.model.instructions import ElementType, Operation, TensorOp
from tilesim.tiled.topology import Topology


class TileTask(Struct, frozen=True):
    """One node for one tile: its parts of maps in narrow memory, the node's constants, and ``keep(name, make,
    multiple)``, which sees to it that the array that ``make`` makes is in wide memory, at a ``multiple`` of so many
    bytes, and returns how far behind the first of them.

    ``outputs`` are the channels to make, all of the part's or some, from a ``part`` of the inputs or from all. Rows are
    made in the order ``step`` (1 downwards, -1 upwards); with ``by_row`` each of them raises the flag. ``order`` says
    how the loops stand: one of :data:`~tilesim.machines.policies.ORDERS`. Several pixels of a depthwise layer may stand
    ``side_by_side`` in the lanes if that is faster, where a wide row of weights takes ``row_cycles`` to come in each
    inference; tiles make ``most_rows`` of the whole map at most.
    """

    topology: Topology
    layer: int
    inputs: tuple[MapPart, ...]
    output: MapPart
    constants: tuple[NDArray[Any], ...]
    input_type: ElementType
    output_type: ElementType
    outputs: range
    keep: Callable[[str, Callable[[], NDArray[Any]], int], int]
    step: int = 1
    by_row: bool = False
    order: str = ROWS
    side_by_side: bool = False
    row_cycles: int = 0
    most_rows: int = 0
    part: InputPart | None = None

    @property
    def row_bytes(self) -> int:
        return self.topology.wide_memory.row_bytes

    @property
    def parameter_bytes(self) -> int:
        """Of a block of channels."""
        return parameter_registers(self.input_type.bytes) * self.topology.tile.register_bytes

    @property
    def sum_bytes(self) -> int:
        """Of the sums of all lanes: as many registers as a bias has."""
        return (parameter_registers(self.input_type.bytes) - 2) * self.topology.tile.register_bytes

    @property
    def vector(self) -> tuple[int, int]:
        """Bytes of the input, and of the output, that a step of a layer that works element by element moves on by."""
        lanes = self.topology.tile.vector_bytes
        return lanes * self.input_type.bytes, lanes * self.output_type.bytes

    @property
    def finishes(self) -> bool:
        """Whether outputs come of it, not sums."""
        return self.part is None or self.part.last

    @property
    def first_row(self) -> int:
        """The output row that is made first, of the tile's block."""
        return self.output.block_rows[:: self.step][0]

    @property
    def target(self) -> int:
        """The address of the first output byte that is made."""
        first = self.output.at(self.first_row, self.output.columns.start)
        return first + (self.outputs.start - self.output.channels.start) * self.output.element_bytes

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
            widths=(self.input_type.bits, 8),
            produce=nest.outermost,
            layer=self.layer,
        )

    def with_constants(self, constants: tuple[NDArray[Any], ...]) -> TileTask:
        return replace(self, constants=constants)


def nowhere(part: str, _make: Callable[[], NDArray[Any]], _multiple: int) -> int:
    """A ``keep`` for tasks without parameters."""
    raise AssertionError(f"there is no place for {part}")


ELEMENT_TYPES = {
    np.dtype(np.int8): ElementType.I8,
    np.dtype(np.uint8): ElementType.U8,
    np.dtype(np.int16): ElementType.I16,
}
"""What tiles can hold."""


def element_type(dtype: np.dtype[Any]) -> ElementType:
    return ELEMENT_TYPES[dtype]


class Level(Struct, frozen=True):
    """A loop and how far it moves each operand, by the operand's name."""

    name: str
    bound: int
    strides: dict[str, int]
    reduce: bool = False


class NestWriter:
    """Loops, outermost first, the lanes last; those that run once are left out, but never all, nor all inside ``y``."""

    def __init__(self, lines: list[Level], alternate: Alternate | None = None) -> None:
        kept = [line for line in lines[:-1] if line.bound > 1] or lines[:1]
        alone = kept[0].name == "y" and kept[0].bound > 1 and not kept[1:]
        within = lines.index(kept[0]) + 1
        self.lines: list[Level] = [*kept, *(lines[within:-1][:1] if alone else ()), lines[-1]]
        loops = tuple(Loop(line.name, line.bound) for line in self.lines)
        self.nest = Nest(loops, alternate)
        self.reduce = tuple(line.name for line in self.lines if line.reduce)

    @property
    def outermost(self) -> str:
        """The loop whose completion is that of the whole instruction."""
        return self.lines[0].name

    @property
    def each_row(self) -> str:
        """The loop that completes with each round of ``y``, or the outermost one if there is only one row."""
        return self.lines[1].name if self.lines[0].name == "y" and self.lines[2:] else self.outermost

    def reference(self, operand: str, base: int) -> Reference:
        return Reference(
            base, tuple((line.name, line.strides[operand]) for line in self.lines if line.strides.get(operand))
        )
