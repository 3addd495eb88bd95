"""What rows each instruction touches: for checks before a run, which know addresses and no time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tilesim.rotating.isa.model.instructions import Function, Instruction, Out, Parameters, Ram, Rows, Step
from tilesim.rotating.topology import RAW_ROWS, Topology

WORDS = {Ram.DATA: "the data RAM", Ram.WEIGHT: "the weight RAM"}


@dataclass(frozen=True)
class Access:
    """An instruction's ``field`` has it read or write ``count`` rows of ``ram``, each ``step`` behind the one before.

    ``writes``: the output unit writes them; ``fetches``: it reads them. ``halves``: the rows are halves of rows.
    """

    field: str
    ram: Ram
    rows: Rows
    count: int = 1
    step: int = 0
    writes: bool = False
    fetches: bool = False
    halves: bool = False

    def extent(self, counts: tuple[int, ...]) -> tuple[int, int]:
        """The first and the last row, in loops that turn ``counts`` times."""
        reach = self.step * (self.count - 1)
        first, last = self.rows.row + min(reach, 0), self.rows.row + max(reach, 0)
        for stride, count in zip(self.rows.strides, counts, strict=False):
            reach = stride * (count - 1)
            first, last = first + min(reach, 0), last + max(reach, 0)
        return first, last


def accesses(op: Instruction, topology: Topology) -> Iterator[Access]:
    """Everything that an instruction of the array touches, and what the output unit does for it."""
    find = _ACCESSES.get(type(op))
    return find(op, topology) if find else iter(())


def _step(op: Step, topology: Topology) -> Iterator[Access]:
    if op.data is not None:
        yield Access("data", Ram.DATA, op.data, *_repeated(op, op.data))
    if op.weights is not None:
        halves = topology.weight_ram.shape == "half_rows"
        yield Access("weights", Ram.WEIGHT, op.weights, *_repeated(op, op.weights), halves=halves)


def _repeated(op: Step, rows: Rows) -> tuple[int, int]:
    """One that stays where it is counts once."""
    return (op.repeat, rows.step) if rows.step else (1, 0)


def _out(op: Out, _: Topology) -> Iterator[Access]:
    if op.data is not None:
        yield Access("data", Ram.DATA, op.data)
    yield Access("row", Ram.DATA, op.row, RAW_ROWS if op.function is Function.RAW else 1, 1, writes=True)


def _parameters(op: Parameters, topology: Topology) -> Iterator[Access]:
    rows = topology.table_rows if op.table else topology.parameter_rows
    yield Access("row", Ram.WEIGHT, op.row, rows, 1, fetches=True)


_ACCESSES: dict[type, Callable[[Any, Topology], Iterator[Access]]] = {
    Step: _step,
    Out: _out,
    Parameters: _parameters,
}
