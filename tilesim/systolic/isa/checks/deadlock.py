"""Why a section can't go on, be it without time or in a run: who waits for what, and who was to end that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from tilesim.sim.deadlock import Awaited, explain
from tilesim.systolic.isa.model.instructions import Instruction, MatrixMultiply, Queue, ReadWeights, Sync
from tilesim.systolic.topology import Topology


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
        waiters = {self._named(place): self.ops[place] for place in sorted(self.in_hand.values())}
        return explain(waiters, lambda name: self._awaited(waiters[name]))

    def _named(self, place: int) -> str:
        return named(self.section, place, self.ops[place])

    def _awaited(self, op: Instruction) -> Awaited[str]:
        if isinstance(op, Sync):
            return self._retirement(op)
        return self._place(op) if isinstance(op, ReadWeights) else self._tile()

    def _retirement(self, sync: Sync) -> Awaited[str]:
        theirs = [place for place, op in enumerate(self.ops) if op.queue is sync.until]
        retired = sum(place < self._next(sync.until) for place in theirs)
        words = (
            f"{sync.until.owner} to retire {sync.count} instruction{'s' * (sync.count != 1)}; it can retire {retired}"
        )
        if len(theirs) < sync.count:
            return Awaited(f"{words}, and the program has {len(theirs)} for it")
        return self._by(f"{words}, and {{}} is to be the last of them", theirs[sync.count - 1])

    def _place(self, op: ReadWeights) -> Awaited[str]:
        """A fetch of weights waits for places in the weight FIFO; one tile more waits in the path."""
        fifo = self.topology.weight_fifo.tiles
        begun = self.ops[: self._next(Queue.WEIGHTS)]
        fetched = sum(other.tiles for other in begun if isinstance(other, ReadWeights)) + op.tiles
        taken, switches = self._switched(), self._switches()
        words = f"a place for tile {fetched} of the section in the weight FIFO, which holds {fifo}; {taken} are taken"
        need = fetched - fifo - 1
        if len(switches) < need:
            return Awaited(f"{words}, and the section switches to {len(switches)}")
        return self._by(f"{words}, and {{}} is to take the next", switches[taken])

    def _tile(self) -> Awaited[str]:
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

    def _by(self, words: str, place: int) -> Awaited[str]:
        """A wait that the instruction at a place is to end: it is for what its unit, or the sequencer, has in hand."""
        op = self.ops[place]
        if place < self.issued:
            assert op.queue is not None
            return Awaited(words.format(self._named(place)), self._named(self.in_hand[op.queue]))
        queue = self.ops[self.issued].queue
        assert queue is not None
        behind = f"{self._named(place)}, which is not issued behind the full queue of {queue.owner},"
        return Awaited(words.format(behind), self._named(self.in_hand[queue]))

    def _next(self, queue: Queue) -> int:
        """The place before which a unit has done everything."""
        return self.in_hand.get(queue, self.issued)

    def _switched(self) -> int:
        return sum(place < self._next(Queue.MATRIX) for place in self._switches())

    def _switches(self) -> list[int]:
        return [place for place, op in enumerate(self.ops) if isinstance(op, MatrixMultiply) and op.switch]


def named(section: str, place: int, op: Instruction) -> str:
    """What sentences about several instructions call one of them."""
    return f"{op.label or f'{section}[{place}]'} ({op.mnemonic})"
