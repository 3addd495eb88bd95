"""Random programs whose instructions wait at their loops, for what they waited for before they began."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from tilesim.tiled.isa.model.instructions import Instruction, TensorOp, Work, counted_nest
from tilesim.tiled.isa.model.program import Program

SHARE = 0.7
"""Of what waits, as far as it has loops."""


def with_gates(program: Program, number: int) -> Program:
    """``program``, in which iterations stall for flags: who waited for them before it began now begins at once."""
    random = Random(number)  # noqa: S311
    load, run = (tuple(_gated(random, op) for op in section) for section in (program.load, program.run))
    return replace(program, load=load, run=run)


def _gated(random: Random, op: Instruction) -> Instruction:
    if not isinstance(op, Work) or not op.wait or not (loops := _loops(op)) or random.random() > SHARE:
        return op
    return replace(op, wait=tuple(each if each.loop else each._replace(loop=random.choice(loops)) for each in op.wait))


def _loops(op: Work) -> list[str]:
    """Those that an instruction may wait at: of a tensorop, those over its result groups."""
    names = [loop.name for loop in counted_nest(op).loops]
    return [name for name in names[:-1] if name not in op.reduce] if isinstance(op, TensorOp) else names
