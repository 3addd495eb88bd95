"""Which mask, and which control registers, an out may find in effect: with loops, several can be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from tilesim.rotating.isa.model.instructions import End, Instruction, Loop, Out

I = TypeVar("I", bound=Instruction)  # noqa: E741


def in_effect(ops: Sequence[Instruction], kind: type[I], reset: I) -> dict[int, tuple[I, ...]]:
    """For the place of each out, every instruction of ``kind`` that may be the last before it; ``reset`` is in effect
    before the first.
    """
    last = _last_in_loops(ops, kind)
    now: tuple[I, ...] = (reset,)
    effects = {}
    for place, op in enumerate(ops):
        if isinstance(op, kind):
            now = (op,)
        elif isinstance(op, Out):
            effects[place] = now
        elif isinstance(op, Loop) and op.count > 1 and place in last:
            now = tuple(dict.fromkeys((*now, last[place])))
    return effects


def _last_in_loops(ops: Sequence[Instruction], kind: type[I]) -> dict[int, I]:
    """The last instruction of ``kind`` in each loop that has one, by the place of the loop."""
    last: dict[int, I] = {}
    around: list[int] = []
    for place, op in enumerate(ops):
        if isinstance(op, Loop):
            around.append(place)
        elif isinstance(op, End):
            around.pop()
        elif isinstance(op, kind):
            last.update(dict.fromkeys(around, op))
    return last
