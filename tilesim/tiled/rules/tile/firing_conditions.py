"""How far an instruction gets while its watchers hold it, and when it raises its flag, in rounds of its own."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from msgspec import Struct

from tilesim.tiled.isa.model.fields import Nest
from tilesim.tiled.isa.model.instructions import RingConsume, TensorOp, Work, counted_nest
from tilesim.tiled.isa.model.loops import Gate, completions, gates, iterations, without


class FiringConditions(Struct, frozen=True):
    """``rounds`` of rows, words or result groups; what gates them, in order; and after how many the flag rises."""

    rounds: int
    gates: tuple[Gate, ...]
    rises: tuple[int, ...]


@lru_cache(maxsize=4096)
def firing_conditions(op: Work, row_bytes: int, words: int = 1) -> FiringConditions:
    """Those of an instruction on its bus: rounds of a ring consumer are rows on the ring, those of a mesh instruction
    the words on its link, ``words`` for each time that it touches the memory.
    """
    own = own_conditions(op)
    if isinstance(op, RingConsume) and op.filter is not None:
        return _filtered(op, own, row_bytes)
    return own if words == 1 else _in_words(own, words)


@lru_cache(maxsize=4096)
def own_conditions(op: Work) -> FiringConditions:
    """Those of an instruction in rounds of its own: the iterations of :func:`round_nest`."""
    nest = round_nest(op)
    at_start = (Gate(0, watcher.flag, watcher.expected) for watcher in op.wait if watcher.loop is None)
    names = {None, *(loop.name for loop in nest.loops)}
    rises = completions(nest, op.produce) if op.produce in names else range(1, iterations(nest) + 1)
    return FiringConditions(iterations(nest), (*at_start, *gates(nest, op.wait)), tuple(rises))


def round_nest(op: Work) -> Nest:
    """The loops that hold an instruction and raise its flag: a tensorop's around its result groups, or those of what a
    DMA counts.
    """
    nest = counted_nest(op)
    return without(nest, (*op.reduce, nest.loops[-1].name)) if isinstance(op, TensorOp) else nest


def _in_words(rows: FiringConditions, words: int) -> FiringConditions:
    gated = tuple(replace(gate, group=gate.group * words) for gate in rows.gates)
    return FiringConditions(rows.rounds * words, gated, tuple(rise * words for rise in rows.rises))


def _filtered(op: RingConsume, written: FiringConditions, row_bytes: int) -> FiringConditions:
    """What is in rows that a consumer writes, in rows that it takes off the ring."""
    assert op.filter is not None
    taken, before, after = 0, {}, {}
    for step in op.filter.steps(written.rounds, row_bytes):
        taken += step.takes
        if step.completes is not None:
            before[step.completes], after[step.completes + 1] = taken - step.takes, taken
    gated = tuple(replace(gate, group=before.get(gate.group, taken)) for gate in written.gates)
    return FiringConditions(op.filter.rows, gated, tuple(after.get(rise, taken) for rise in written.rises))
