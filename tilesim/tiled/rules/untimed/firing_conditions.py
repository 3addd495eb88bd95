"""How far an instruction gets while its watchers hold it, and when it raises its flag, in rounds of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from tilesim.tiled.isa.model.fields import Flag, Nest
from tilesim.tiled.isa.model.instructions import RingConsume, TensorOp, Work, counted_nest
from tilesim.tiled.isa.model.loops import completions, gates, iterations, without


@dataclass(frozen=True)
class Hold:
    """Rounds from ``round`` on wait until ``flag`` has counted to ``expected``."""

    round: int
    flag: Flag
    expected: int


@dataclass(frozen=True)
class Pace:
    """``rounds`` of rows, words or result groups; what holds them, in order; and after how many the flag rises."""

    rounds: int
    holds: tuple[Hold, ...]
    rises: tuple[int, ...]


@lru_cache(maxsize=4096)
def pace(op: Work, row_bytes: int, words: int = 1) -> Pace:
    """The pace of an instruction; rounds of a ring consumer are rows on the ring, those of a mesh instruction the words
    on its link, ``words`` for each time that it touches the memory.
    """
    found = own_pace(op)
    if isinstance(op, RingConsume) and op.filter is not None:
        return _filtered(op, found, row_bytes)
    return found if words == 1 else _in_words(found, words)


@lru_cache(maxsize=4096)
def own_pace(op: Work) -> Pace:
    """The pace of an instruction in rounds of its own: the iterations of :func:`round_nest`."""
    nest = round_nest(op)
    at_start = (Hold(0, watcher.flag, watcher.expected) for watcher in op.wait if watcher.loop is None)
    in_loops = (Hold(gate.group, gate.flag, gate.expected) for gate in gates(nest, op.wait))
    names = {None, *(loop.name for loop in nest.loops)}
    rises = completions(nest, op.produce) if op.produce in names else range(1, iterations(nest) + 1)
    return Pace(iterations(nest), (*at_start, *in_loops), tuple(rises))


def round_nest(op: Work) -> Nest:
    """The loops that hold an instruction and raise its flag: a tensorop's around its result groups, or those of what a
    DMA counts.
    """
    nest = counted_nest(op)
    return without(nest, (*op.reduce, nest.loops[-1].name)) if isinstance(op, TensorOp) else nest


def _in_words(rows: Pace, words: int) -> Pace:
    holds = tuple(replace(hold, round=hold.round * words) for hold in rows.holds)
    return Pace(rows.rounds * words, holds, tuple(rise * words for rise in rows.rises))


def _filtered(op: RingConsume, written: Pace, row_bytes: int) -> Pace:
    """A pace in rows that a consumer writes as one in rows that it takes off the ring."""
    assert op.filter is not None
    taken, before, after = 0, {}, {}
    for step in op.filter.steps(written.rounds, row_bytes):
        taken += step.takes
        if step.completes is not None:
            before[step.completes], after[step.completes + 1] = taken - step.takes, taken
    holds = tuple(Hold(before.get(hold.round, taken), hold.flag, hold.expected) for hold in written.holds)
    return Pace(op.filter.rows, holds, tuple(after.get(rise, taken) for rise in written.rises))
