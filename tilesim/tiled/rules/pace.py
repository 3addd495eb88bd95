"""How far an instruction gets while its watchers hold it, and when it raises its flag, in rounds of its own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from tilesim.tiled.isa.fields import Flag
from tilesim.tiled.isa.instructions import RingConsume, TensorOp, Work, counted_nest
from tilesim.tiled.isa.nests import iterations
from tilesim.tiled.units import ttu
from tilesim.tiled.units.engine import completions, gates
from tilesim.tiled.units.packer import steps


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
    at_start = [Hold(0, watcher.flag, watcher.expected) for watcher in op.wait if watcher.loop is None]
    if isinstance(op, TensorOp):
        nest = ttu.without(op.nest, (*op.reduce, op.nest.loops[-1].name))
        rounds = iterations(nest)
        every = op.produce in (*op.reduce, op.nest.loops[-1].name)
        rises = list(range(1, rounds + 1)) if every else completions(nest, op.produce)
    else:
        nest = counted_nest(op)
        rounds, rises = iterations(nest) * words, completions(nest, op.produce, words)
    holds = [*at_start, *(Hold(gate.group, gate.flag, gate.expected) for gate in gates(nest, op.wait, words))]
    if isinstance(op, RingConsume) and op.filter is not None:
        return _filtered(op, Pace(rounds, tuple(holds), tuple(rises)), row_bytes)
    return Pace(rounds, tuple(holds), tuple(rises))


def _filtered(op: RingConsume, written: Pace, row_bytes: int) -> Pace:
    """A pace in rows that a consumer writes as one in rows that it takes off the ring."""
    assert op.filter is not None
    taken, before, after = 0, {}, {}
    for step in steps(op.filter, written.rounds, row_bytes):
        taken += step.takes
        if step.completes is not None:
            before[step.completes], after[step.completes + 1] = taken - step.takes, taken
    holds = tuple(Hold(before.get(hold.round, taken), hold.flag, hold.expected) for hold in written.holds)
    return Pace(op.filter.rows, holds, tuple(after.get(rise, taken) for rise in written.rises))
