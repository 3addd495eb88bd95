"""Why a section can't go on, be it without time or in a run: who waits for what, and who was to end that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from tilesim.sim.deadlock import Awaited, explain
from tilesim.systolic.isa.model.instructions import Instruction, MatrixMultiply, Queue, ReadWeights, Sync
from tilesim.systolic.topology import Topology


@dataclass(frozen=True)
class InHand:
    """An instruction that a unit has in hand, at ``place`` of its section."""

    place: int
    op: Instruction = field(compare=False)
    name: str = field(compare=False)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Deadlock:
    """A ``section`` (``load`` or ``run``) in which nothing goes on: the places of what units have ``in_hand``, and
    that up to which the sequencer has ``issued`` everything.
    """

    section: str
    ops: Sequence[Instruction]
    topology: Topology
    in_hand: Mapping[Queue, int]
    issued: int

    def sentences(self) -> list[str]:
        """One for each circle of waits, and for each wait without an end."""
        return explain([self._at(place) for place in sorted(self.in_hand.values())], self._awaited)

    def _at(self, place: int) -> InHand:
        return InHand(place, self.ops[place], named(self.section, place, self.ops[place]))

    def _awaited(self, waiter: InHand) -> Awaited[InHand]:
        if isinstance(waiter.op, Sync):
            return self._retirement(waiter.op)
        return self._place(waiter.op) if isinstance(waiter.op, ReadWeights) else self._tile()

    def _retirement(self, sync: Sync) -> Awaited[InHand]:
        theirs = [place for place, op in enumerate(self.ops) if op.queue is sync.until]
        retired = sum(place < self._next(sync.until) for place in theirs)
        words = (
            f"{sync.until.owner} to retire {sync.count} instruction{'s' * (sync.count != 1)}; it can retire {retired}"
        )
        if len(theirs) < sync.count:
            return Awaited(f"{words}, and the program has {len(theirs)} for it")
        return self._by(f"{words}, and {{}} is to be the last of them", theirs[sync.count - 1])

    def _place(self, op: ReadWeights) -> Awaited[InHand]:
        """A fetch of weights waits for places in the weight FIFO; one tile more waits in the path."""
        fifo = self.topology.weight_fifo.tiles
        fetched, taken, switches = self._fetched() + op.tiles, self._switched(), self._switches()
        words = f"a place for tile {fetched} of the section in the weight FIFO, which holds {fifo}; {taken} are taken"
        need = fetched - fifo - 1
        if len(switches) < need:
            return Awaited(f"{words}, and the section switches to {len(switches)}")
        return self._by(f"{words}, and {{}} is to take the next", switches[taken])

    def _tile(self) -> Awaited[InHand]:
        """A switch of the matrix unit waits for its tile."""
        wanted = self._switched() + 1
        fetches = [(place, op.tiles) for place, op in enumerate(self.ops) if isinstance(op, ReadWeights)]
        ends = zip((place for place, _ in fetches), accumulate(tiles for _, tiles in fetches), strict=True)
        fetch = next((place for place, end in ends if end >= wanted), None)
        words = f"tile {wanted} of the section"
        return (
            Awaited(f"{words}, and nothing fetches it")
            if fetch is None
            else self._by(f"{words}, and {{}} is to fetch it", fetch)
        )

    def _by(self, words: str, place: int) -> Awaited[InHand]:
        """A wait that the instruction at a place is to end: it is for what its unit, or the sequencer, has in hand."""
        op = self.ops[place]
        if place < self.issued:
            assert op.queue is not None
            return Awaited(words.format(named(self.section, place, op)), self._at(self.in_hand[op.queue]))
        queue = self.ops[self.issued].queue
        assert queue is not None
        behind = f"{named(self.section, place, op)}, which is not issued behind the full queue of {queue.owner},"
        return Awaited(words.format(behind), self._at(self.in_hand[queue]))

    def _next(self, queue: Queue) -> int:
        """The place before which a unit has done everything."""
        return self.in_hand.get(queue, self.issued)

    def _fetched(self) -> int:
        return sum(op.tiles for op in self.ops[: self._next(Queue.WEIGHTS)] if isinstance(op, ReadWeights))

    def _switched(self) -> int:
        return sum(place < self._next(Queue.MATRIX) for place in self._switches())

    def _switches(self) -> list[int]:
        return [place for place, op in enumerate(self.ops) if isinstance(op, MatrixMultiply) and op.switch]


def named(section: str, place: int, op: Instruction) -> str:
    """What sentences about several instructions call one of them."""
    return f"{op.label or f'{section}[{place}]'} ({op.mnemonic})"
