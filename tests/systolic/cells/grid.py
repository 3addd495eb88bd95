"""The array cell by cell, every register stepped every cycle: slow, and without a formula for when anything happens.

A cell has a weight register; beside it a weight-path register (for 16-bit weights two, one behind the other) with a
control bit, the parity of the tile that its byte belongs to; an activation register with the controls that travel with
an activation; and a register for the sum that comes from the cell before.

- Activations hop along the array's outputs, sums along its inputs, one cell a cycle.
- A weight hops along the inputs. While the control of its line of cells says "shift", a path register takes what the
  one before it holds, if that belongs to the tile that is being shifted in. Older weights thus stay where they are
  until the first new one comes by; all stop where they are when the control ends. That control hops from line to line.
- An activation that carries the control "switch" is multiplied by what stands in the path register, which goes into the
  weight register.

Source: WO 2016/186801, Figs. 3 and 4 (registers, control register, weight-path register); the parity is an assumption.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

Byte = int
"""Of an operand: the highest of them with its sign, the others without."""


class Tag(NamedTuple):
    """Whose sums leave: number of the multiply, of its vector, and of the pass."""

    multiply: int
    vector: int
    turn: int


class Activation(NamedTuple):
    """What stands in an activation register: a byte, the byte of the weight that it meets, and the control bit."""

    byte: Byte = 0
    weight_byte: int = 0
    switch: bool = False
    tag: Tag | None = None


class PathByte(NamedTuple):
    """What stands in a weight-path register."""

    byte: Byte = 0
    parity: int = 0


class ShiftControl(NamedTuple):
    """What a line of cells along the inputs hears in a cycle: whether to shift, and for a tile of which parity."""

    shift: bool = False
    parity: int = 0


@dataclass(frozen=True)
class Cell:
    """The registers, as they are seen in a cycle."""

    weight: tuple[Byte, ...]
    path: tuple[PathByte, ...]
    activation: Activation
    sum: int

    @property
    def seen_weight(self) -> tuple[Byte, ...]:
        """What the activation meets."""
        return tuple(each.byte for each in self.path) if self.activation.switch else self.weight

    @property
    def new_sum(self) -> int:
        return self.sum + self.activation.byte * self.seen_weight[self.activation.weight_byte]


class Left(NamedTuple):
    """A partial sum that left the last cell of an output; it is seen in the accumulators from ``cycle`` on."""

    tag: Tag
    output: int
    sum: int
    cycle: int


@dataclass
class Grid:
    """``inputs`` by ``outputs`` cells, whichever way these lie: rows are inputs where weights travel along columns."""

    inputs: int
    outputs: int
    weight_bytes: int = 1
    cycle: int = 0
    cells: list[list[Cell]] = field(init=False)
    controls: list[ShiftControl] = field(init=False)

    def __post_init__(self) -> None:
        blank = Cell((0,) * self.weight_bytes, (PathByte(),) * self.weight_bytes, Activation(), 0)
        self.cells = [[blank] * self.outputs for _ in range(self.inputs)]
        self.controls = [ShiftControl()] * self.outputs

    def step(self, activations: Sequence[Activation], control: ShiftControl, weights: Sequence[Byte]) -> Iterator[Left]:
        """One cycle: what stands beside the first cells, the control of the first line, the byte before each line."""
        for i, first in enumerate(activations):
            self.cells[i][0] = replace(self.cells[i][0], activation=first)
        self.controls[0] = control
        for c, cell in enumerate(self.cells[-1]):
            if cell.activation.tag is not None:
                yield Left(cell.activation.tag, c, cell.new_sum, self.cycle + 1)
        self.cells = [[self._next(i, c, weights[c]) for c in range(self.outputs)] for i in range(self.inputs)]
        self.controls = [ShiftControl(), *self.controls[:-1]]
        self.cycle += 1

    def _next(self, i: int, c: int, fed: Byte) -> Cell:
        """A cell's registers in the next cycle: everything that it reads is of this one."""
        cell, control = self.cells[i][c], self.controls[c]
        before = self.cells[i - 1][c] if i else None
        coming = before.path[-1] if before else PathByte(fed, control.parity)
        return Cell(
            weight=cell.seen_weight,
            path=tuple(
                source if control.shift and source.parity == control.parity else own
                for source, own in zip((coming, *cell.path[:-1]), cell.path, strict=True)
            ),
            activation=self.cells[i][c - 1].activation if c else Activation(),
            sum=before.new_sum if before else 0,
        )
