"""Static checks of loops: how they stand in each other, what stands in them, and how much they come to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilesim.machines.program import where
from tilesim.rotating.isa.checks.fields import MOST_TURNS
from tilesim.rotating.isa.model.instructions import End, Halt, Instruction, Loop, Queue, Rows, Sync
from tilesim.rotating.topology import Topology

MOST_ISSUED = 1 << 23
"""Instructions that the array carries out in a section, of which a repeated one is one: more would take the simulator
hours.
"""


def loop_faults(name: str, ops: Sequence[Instruction], topology: Topology) -> Iterator[str]:
    """What is wrong with the loops of a section, and with what stands in them."""
    most, around, halted = topology.sequencer.loop_depth, list[int](), False
    for place, op in enumerate(ops):
        if halted and op.queue is Queue.ARRAY:
            yield f"{where(name, place, op)}: must not stand behind a halt, where the array does nothing"
            return
        for sentence in _instruction(op, len(around)):
            yield f"{where(name, place, op)}: {sentence}"
        if isinstance(op, Loop):
            around.append(place)
            if len(around) == most + 1:
                yield f"{where(name, place, op)}: loops must stand at most {most} deep in each other, not {most + 1}"
        elif isinstance(op, End):
            if around:
                around.pop()
            else:
                yield f"{where(name, place, op)}: must have a loop that it ends"
        halted |= isinstance(op, Halt)
    for begin in around:
        yield f"{where(name, begin, ops[begin])}: must have an end"


def size_faults(name: str, ops: Sequence[Instruction], topology: Topology) -> Iterator[str]:
    """A section that the sequencer has no room for."""
    if len(ops) > topology.sequencer.instructions:
        yield (
            f"{name}: must be at most {topology.sequencer.instructions} instructions, "
            f"what sequencer.instructions has room for, not {len(ops)}"
        )


def _instruction(op: Instruction, depth: int) -> Iterator[str]:
    if isinstance(op, Loop) and not 1 <= op.count <= MOST_TURNS:
        yield f"count must be 1 to {MOST_TURNS}, not {op.count}"
    if depth and (op.queue is not Queue.ARRAY or isinstance(op, Halt)):
        owner = f", for {op.queue.owner} has none" if op.queue and op.queue is not Queue.ARRAY else ""
        yield f"must not stand in a loop{owner}"
        return
    for field, strides in _strided(op):
        if len(strides) > depth:
            yield f"{field} must have at most {depth} strides, one for each loop around it, not {len(strides)}"


def _strided(op: Instruction) -> Iterator[tuple[str, tuple[int, ...]]]:
    if isinstance(op, Sync):
        yield "count", op.strides
    for field in ("data", "weights", "row"):
        rows = getattr(op, field, None)
        if isinstance(rows, Rows):
            yield field, rows.strides
