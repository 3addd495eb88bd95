"""What each instruction of the systolic machine does, in words, and what a sync waits for."""

from __future__ import annotations

from collections import defaultdict
from functools import singledispatch

from tilesim.machines.instructions import Explanation, Wait
from tilesim.systolic.isa.model import instructions as isa
from tilesim.systolic.isa.model.instructions import Nest, Queue, Window
from tilesim.systolic.isa.model.program import Program


def explanations(program: Program) -> list[Explanation]:
    """What each instruction of a sound program's ``run`` does."""
    queues: defaultdict[Queue, list[int]] = defaultdict(list)
    for place, op in enumerate(program.run):
        if op.queue is not None:
            queues[op.queue].append(place)
    return [Explanation(words_of(op), op.queue or "sequencer", waits=_waits(op, queues)) for op in program.run]


def _waits(op: isa.Instruction, queues: defaultdict[Queue, list[int]]) -> tuple[Wait, ...]:
    if not isinstance(op, isa.Sync):
        return ()
    retired = queues[op.until][: op.count]
    return (Wait(f"{op.until.owner} to have retired {op.count:,}", tuple(retired[-1:])),)


def _bytes(nest: Nest) -> str:
    count = nest.bytes
    for loop in nest.counts:
        count *= loop
    return f"{count:,} bytes at {nest.address:#x}"


def _map(window: Window) -> str:
    kernel = " × ".join(map(str, window.kernel))
    size = f"{window.images:,} × {window.height:,} × {window.width:,} × {window.channels:,}"
    return f"windows of {kernel} over a map of {size} at {window.address:#x}"


@singledispatch
def words_of(_op: isa.Instruction) -> str:
    """What an instruction does, with its operands."""
    return ""


@words_of.register
def _(op: isa.ReadHostMemory) -> str:
    what = f"{op.bytes:,} bytes of the host's {op.source} {op.tensor}, from {op.offset:,} on"
    return f"brings {what}, to {op.destination.replace('_', ' ')} at {op.address:#x}"


@words_of.register
def _(op: isa.WriteHostMemory) -> str:
    return f"sends {op.bytes:,} bytes at {op.address:#x} to the host's output {op.tensor}, from {op.offset:,} on"


@words_of.register
def _(op: isa.ReadWeights) -> str:
    return f"fetches {op.tiles:,} tiles of weights at {op.address:#x} of weight memory"


@words_of.register
def _(op: isa.MatrixMultiply) -> str:
    sums = f"{'adds to' if op.accumulate else 'writes'} entries {op.accumulator:,} and following"
    part = f"{op.vectors:,} vectors from number {op.first:,} on, {op.rows:,} inputs for {op.columns:,} outputs"
    return f"{_map(op.window)}: {part}; {sums} of the accumulators"


@words_of.register
def _(op: isa.Activate) -> str:
    others = [name for name, there in (("normalised", op.normalise), ("pooled", op.pool)) if there]
    scaled = " and ".join(["scaled", *others])
    where = f"entries {op.accumulator:,} and following"
    return f"{op.vectors:,} vectors of {op.columns:,} sums from {where}, {scaled}, to {op.address:#x}"


@words_of.register
def _(op: isa.Pool) -> str:
    return f"{op.pool.function} of {_map(op.window)}, to {op.address:#x}"


@words_of.register
def _(op: isa.Combine) -> str:
    return f"{op.function}s {_bytes(op.a)} and {_bytes(op.b)} into {_bytes(op.destination)}"


@words_of.register
def _(op: isa.Fill) -> str:
    return f"writes {op.value} into {_bytes(op.destination)}"


@words_of.register
def _(op: isa.Unary) -> str:
    return f"from {_bytes(op.source)} to {_bytes(op.destination)}"


@words_of.register
def _(op: isa.Sync) -> str:
    return f"holds the queue of {op.unit.owner}"


@words_of.register
def _(_op: isa.Nop) -> str:
    return "lets the sequencer pass a cycle"


@words_of.register
def _(_op: isa.Halt) -> str:
    return "ends the program when all units have retired everything"
