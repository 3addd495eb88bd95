"""Why a section can't go on, be it without time or in a run: who waits for what, and who was to end that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tilesim.rotating.isa.model.instructions import Counter, Instruction, Queue, Sync
from tilesim.sim.deadlock import Awaited, explain


@dataclass(frozen=True)
class Held:
    """A sync that holds its unit, at ``place`` of the section, and the ``count`` that it waits for in this turn."""

    place: int
    count: int


@dataclass(frozen=True)
class Deadlock:
    """A ``section`` (``load`` or ``run``) in which nothing goes on: what holds which unit, what the counters have come
    to, and what they would come to if all were carried out.
    """

    section: str
    ops: Sequence[Instruction]
    held: Mapping[Queue, Held]
    counted: Mapping[Counter, int]
    totals: Mapping[Counter, int]

    def sentences(self) -> list[str]:
        """One for each circle of waits, and for each wait without an end."""
        waiters = {named(self.section, hold.place, self.ops[hold.place]): hold for hold in self.held.values()}
        return explain(waiters, lambda name: self._awaited(waiters[name]))

    def _awaited(self, hold: Held) -> Awaited[str]:
        sync = self.ops[hold.place]
        assert isinstance(sync, Sync)
        here, total, mover = self.counted[sync.until], self.totals[sync.until], MOVERS[sync.until]
        words = f"{_DEEDS[sync.until].format(_many(sync.until, hold.count))}; it can {_DOES[sync.until]} {here}"
        if total < hold.count:
            return Awaited(f"{words}, and the section has {total}")
        if mover is sync.unit:
            return Awaited(f"{words}, and the others stand behind this sync")
        other = self.held[mover]
        return Awaited(words, named(self.section, other.place, self.ops[other.place]))


def _many(counter: Counter, count: int) -> str:
    return f"{count} {'out' if counter is Counter.ARRAY else 'row'}{'s' * (count != 1)}"


def named(section: str, place: int, op: Instruction) -> str:
    """What sentences about several instructions call one of them."""
    return f"{op.label or f'{section}[{place}]'} ({op.mnemonic})"


MOVERS = {
    Counter.ARRAY: Queue.ARRAY,
    Counter.OUTPUT: Queue.ARRAY,
    Counter.DMA_IN: Queue.DMA_IN,
    Counter.DMA_OUT: Queue.DMA_OUT,
}
"""The queue that must go on for a counter to."""
_DEEDS = {
    Counter.ARRAY: "the array to issue {}",
    Counter.OUTPUT: "the output unit to write {}",
    Counter.DMA_IN: "DMA in to write {}",
    Counter.DMA_OUT: "DMA out to send {}",
}
_DOES = {Counter.ARRAY: "issue", Counter.OUTPUT: "write", Counter.DMA_IN: "write", Counter.DMA_OUT: "send"}
