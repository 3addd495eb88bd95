"""The host's tensors, and the queue of DMA out: each line of an output leaves once it is whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal

from tilesim.lowering.classifying import function_of
from tilesim.lowering.operator_plan import NetworkInput, host_fields
from tilesim.rotating.compiler.call import Placed
from tilesim.rotating.compiler.plan import RowOutput
from tilesim.rotating.isa.model.instructions import (
    Counter,
    End,
    Function,
    Instruction,
    Loop,
    Out,
    Queue,
    Sync,
    WriteHostMemory,
)
from tilesim.rotating.isa.model.program import HostTensor, Layout
from tilesim.rotating.topology import RAW_ROWS


def host_tensor(end: NetworkInput | RowOutput, layout: Layout) -> HostTensor:
    """How the host presents an input, or takes an output, of which it may compute a function and look that up."""
    tensor = HostTensor(**host_fields(end), element=end.stored.dtype.name, layout=layout)
    if not isinstance(end, RowOutput) or end.classifying is None:
        return tensor
    function, scaling = function_of(end.classifying)
    return replace(tensor, function=function, scaling=scaling, lookup=end.lookup)


def written_rows(instructions: Sequence[Instruction]) -> list[int]:
    """The rows that outs write, in order."""
    return list(_written(instructions, _pairs(instructions), 0, len(instructions), ()))


def _pairs(instructions: Sequence[Instruction]) -> dict[int, tuple[int, bool]]:
    """The end of each loop, and whether there is an out in it."""
    pairs: dict[int, tuple[int, bool]] = {}
    begun: list[tuple[int, int]] = []
    outs = 0
    for place, op in enumerate(instructions):
        if isinstance(op, Loop):
            begun.append((place, outs))
        elif isinstance(op, Out):
            outs += 1
        elif isinstance(op, End):
            begin, before = begun.pop()
            pairs[begin] = place, outs > before
    return pairs


def _written(
    ops: Sequence[Instruction], pairs: Mapping[int, tuple[int, bool]], place: int, end: int, counters: tuple[int, ...]
) -> Iterator[int]:
    while place < end:
        op = ops[place]
        if isinstance(op, Out):
            row = op.row.address(counters)
            yield from range(row, row + (RAW_ROWS if op.function is Function.RAW else 1))
        elif isinstance(op, Loop):
            behind, any_out = pairs[place]
            for turn in range(op.count if any_out else 0):
                yield from _written(ops, pairs, place + 1, behind, (*counters, turn))
            place = behind
        place += 1


@dataclass(frozen=True)
class Departing:
    """A map that leaves from its ring, row by row, as its layer makes it: for an output or a scratch of the host."""

    placed: Placed
    destination: Literal["output", "scratch"]
    tensor: int
    before: int
    """Rows written before it."""

    def queue(self) -> Iterator[Instruction]:
        lines, rows = self.placed.layout.height, self.placed.groups
        for number in range(lines * rows):
            group, line = divmod(number, lines)
            yield Sync(unit=Queue.DMA_OUT, until=Counter.OUTPUT, count=self.before + number + 1)
            yield WriteHostMemory(
                label=f"{self.destination}{self.tensor}.{line}.{group}", destination=self.destination,
                tensor=self.tensor, offset=line * rows + group, row=self.placed.row + number % self.placed.ring,
            )  # fmt: skip


def leaving(outputs: Mapping[int, Placed], written: Sequence[int]) -> Iterator[Instruction]:
    """The queue of DMA out for outputs that stand whole, by their numbers: lines that are whole at once go together."""
    last = {row: number + 1 for number, row in enumerate(written)}
    for tensor, output in outputs.items():
        lines = range(output.layout.height)
        rows = output.groups
        whole = [max(last[output.row + line * rows + k] for k in range(rows)) for line in lines]
        for count, alike in groupby(lines, whole.__getitem__):
            first, *others = alike
            yield Sync(unit=Queue.DMA_OUT, until=Counter.OUTPUT, count=count)
            yield WriteHostMemory(
                label=f"output{tensor}.{first}", tensor=tensor, offset=first * rows, rows=(1 + len(others)) * rows,
                row=output.row + first * rows,
            )  # fmt: skip
