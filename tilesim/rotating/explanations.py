"""What each instruction of the rotating machine does, in words, and what a sync waits for."""

from __future__ import annotations

from functools import singledispatch

from tilesim.machines.instructions import Explanation, Wait
from tilesim.rotating.isa.model import instructions as isa
from tilesim.rotating.isa.model.program import Program
from tilesim.rotating.units.syncs import COUNTED

ALUS = {
    isa.Alu.NONE: "",
    isa.Alu.MULTIPLY_ADD: "multiply and add",
    isa.Alu.ADD: "add",
    isa.Alu.MAX: "keep the larger",
    isa.Alu.COPY: "copy",
    isa.Alu.PLANE: "add a byte of sums",
}


def explanations(program: Program) -> list[Explanation]:
    """What each instruction of a sound program's ``run`` does."""
    return [Explanation(words_of(op), op.queue or "array", waits=_waits(op, program)) for op in program.run]


def _waits(op: isa.Instruction, program: Program) -> tuple[Wait, ...]:
    if not isinstance(op, isa.Sync):
        return ()
    more = ", and more in each turn" if op.strides else ""
    return (Wait(f"{op.count:,} {COUNTED[op.until]}{more}", _counted_by(op, program)),)


def _counted_by(op: isa.Sync, program: Program) -> tuple[int, ...]:
    """The transfer of which the last row is that the sync waits for, if its count is that of DMA."""
    queue = {isa.Counter.DMA_IN: isa.Queue.DMA_IN, isa.Counter.DMA_OUT: isa.Queue.DMA_OUT}.get(op.until)
    rows = 0
    for place, other in enumerate(program.run):
        if isinstance(other, isa.ReadHostMemory | isa.WriteHostMemory) and other.queue is queue:
            rows += other.rows
            if rows >= op.count:
                return (place,)
    return ()


def _rows(rows: isa.Rows, ram: str) -> str:
    turns = f", moved by {', '.join(f'{stride:,}' for stride in rows.strides)} in each turn" if rows.strides else ""
    step = f", {rows.step:,} further each time" if rows.step else ""
    return f"{ram} row {rows.row:,}{turns}{step}"


@singledispatch
def words_of(_op: isa.Instruction) -> str:
    """What an instruction does, with its operands."""
    return ""


@words_of.register
def _(op: isa.Step) -> str:
    parts = [
        f"loads {_rows(op.data, 'data')}" if op.data else "",
        f"rotates by {op.rotate:,}" if op.rotate else "",
        f"takes {_rows(op.weights, 'weight')}" if op.weights else "",
        f"units {ALUS[op.alu]}" if op.alu is not isa.Alu.NONE else "",
    ]
    times = f", {op.repeat:,} times" if op.repeat > 1 else ""
    return (", ".join(part for part in parts if part) or "lets a cycle pass") + times


@words_of.register
def _(op: isa.Out) -> str:
    loaded = f"loads {_rows(op.data, 'data')}, then " if op.data else ""
    return f"{loaded}captures, and writes {op.function} to {_rows(op.row, 'data')}"


@words_of.register
def _(op: isa.Set) -> str:
    return f"sets zero points {op.data_zero} and {op.weight_zero}, rule {op.rule}, clamp {op.clamp[0]} to {op.clamp[1]}"


@words_of.register
def _(op: isa.Mask) -> str:
    if not op.count:
        return "names all words"
    return f"names {op.count:,} words of each of {op.blocks:,} blocks of {op.block:,}, from word {op.offset:,} on"


@words_of.register
def _(op: isa.Parameters) -> str:
    return f"has {'a table' if op.table else f'set {op.set}'} fetched from {_rows(op.row, 'weight')}"


@words_of.register
def _(op: isa.Loop) -> str:
    return f"begins a loop of {op.count:,} turns"


@words_of.register
def _(_op: isa.End) -> str:
    return "ends a loop"


@words_of.register
def _(op: isa.Sync) -> str:
    return f"holds {op.unit.owner}"


@words_of.register
def _(op: isa.ReadHostMemory) -> str:
    what = f"{op.rows:,} rows of the host's {op.source} {op.tensor}, from {op.offset:,} on"
    return f"brings {what}, to row {op.row:,} of the {op.ram.replace('_', ' ')}"


@words_of.register
def _(op: isa.WriteHostMemory) -> str:
    where = f"the host's {op.destination} {op.tensor}, from {op.offset:,} on"
    return f"sends {op.rows:,} rows from data row {op.row:,} on to {where}"


@words_of.register
def _(_op: isa.Halt) -> str:
    return "ends the array's work"
