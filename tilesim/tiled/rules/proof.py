"""Everything that can be proven of a program before it runs, and everything that is refuted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from msgspec import Struct

from tilesim.tiled.isa.checks.program import faults
from tilesim.tiled.isa.model.fields import node_name
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.rules.ring.arrivals import arrival_faults, early_resets, late_consumers, late_resets
from tilesim.tiled.rules.ring.collisions import Collision, explained
from tilesim.tiled.rules.ring.masters import Masters, prove
from tilesim.tiled.rules.ring.readings import Reading
from tilesim.tiled.rules.soundness import misplaced, races
from tilesim.tiled.rules.tile.regions import overlaps
from tilesim.tiled.rules.untimed.buffers import buffer_faults
from tilesim.tiled.rules.untimed.deadlock import deadlocks, fence_faults
from tilesim.tiled.rules.untimed.execution import UntimedExecution
from tilesim.tiled.rules.untimed.transfer_order import History, TransferOrder
from tilesim.tiled.rules.untimed.work_queues import WorkQueues, work_queues

RULES = {
    "instructions": "what the chip can't run",
    "regions": "operands that stray out of their region",
    "hazards": "accesses to the same bytes in no proven order",
    "parameters": "what lies on cached parameters",
    "masters": "transfers that can meet on the ring, or be under way there at once",
    "arrivals": "rows and the instructions that take them",
    "posted": "rows that can find nobody posted",
    "fences": "fences that can't be met",
    "deadlock": "waits without an end",
    "buffers": "the order of issue against the depth of the buffers, and what counts on room on the ring",
}
"""What is checked, in the order in which it is."""


EXPLAINED = 16
"""Pairs of transfers of which a proof says why they can be under way at once; of more it gives the number."""


class Refutation(Struct, frozen=True):
    """One thing that is wrong with a program: the rule and the sentence, and for masters which two.

    ``start_times`` are those with which the two were seen to break the rule, by instruction; None if they were not, in
    ``runs`` runs.
    """

    rule: str
    sentence: str
    collision: Collision | None = None
    start_times: Mapping[str, int] | None = None
    runs: int = 0


class Proof(Struct, frozen=True):
    """``refutations`` is empty if everything is proven; ``masters`` is missing if the program is too faulty to tell.
    ``reading`` is the one of the rule for masters that binds.
    """

    program: Program
    refutations: tuple[Refutation, ...]
    reading: Reading = Reading.MEET
    transfers: int = 0
    masters: Masters | None = None

    @property
    def proven(self) -> bool:
        return not self.refutations

    @property
    def forbidden(self) -> dict[Reading, int]:
        """How many pairs of transfers are not proven to keep to each reading of the rule for masters."""
        return {reading: len(self.masters.forbidden(reading)) for reading in Reading} if self.masters else {}

    def document(self) -> dict[str, Any]:
        """All of it in plain values."""
        masters = self.masters
        return {
            "program": self.program.name,
            "topology": self.program.topology.name,
            "proven": self.proven,
            "transfers": self.transfers,
            "reading": str(self.reading),
            "readings": {str(name): {"proven": not pairs, "pairs": pairs} for name, pairs in self.forbidden.items()},
            "pairs": dict(masters.pairs) if masters else {},
            "proofs": dict(masters.proofs) if masters else {},
            "refutations": [_plain(refutation, self.program.topology.tiles) for refutation in self.refutations],
        }


def proof_of(program: Program, reading: Reading = Reading.MEET) -> Proof:
    """Prove or refute everything in :data:`RULES`, that for masters as it is read."""
    if refutations := _refuted("instructions", program.once(faults)):
        return Proof(program, tuple(refutations), reading)
    refutations = [
        *_refuted("regions", misplaced(program)),
        *_refuted("hazards", races(program)),
        *_refuted("parameters", overlaps(program)),
    ]
    work = work_queues(program)
    execution = UntimedExecution(work)
    execution.run()
    masters = prove(work, execution.history)
    refutations += _of_masters(work, masters, reading)
    ordered = [
        *_refuted("arrivals", arrival_faults(work, masters)),
        *_refuted("fences", [*fence_faults(work), *early_resets(masters)]),
        *_refuted("deadlock", deadlocks(execution)),
    ]
    refutations += ordered
    if not ordered and not masters.collisions:
        refutations += _in_order(work, execution.history, masters.order)
    return Proof(program, tuple(refutations), reading, len(work.transfers), masters)


def _in_order(work: WorkQueues, history: History, order: TransferOrder) -> Iterator[Refutation]:
    """What can be told only of a program whose transfers have an order, and come to their end in it."""
    yield from _refuted("fences", late_resets(work, history, order))
    if work.program.topology.ring.no_consumer == "circulate":
        yield from _refuted("posted", late_consumers(work, history, order))
    yield from _refuted("buffers", buffer_faults(work, history, order))


def _refuted(rule: str, sentences: Iterable[str]) -> list[Refutation]:
    return [Refutation(rule, sentence) for sentence in sentences]


def _of_masters(work: WorkQueues, masters: Masters, reading: Reading) -> Iterator[Refutation]:
    collisions = masters.collisions
    pairs = masters.forbidden(reading)
    if reading is not Reading.MEET:
        collisions = tuple(explained(work, masters.history, masters.order, pairs[:EXPLAINED]))
    for collision in collisions:
        yield Refutation("masters", collision.sentence(work.tiles), collision)
    if left := len(pairs) - len(collisions):
        yield Refutation("masters", f"{left:,} more pair{'s' * (left != 1)} of transfers can be under way at once")


def _plain(refutation: Refutation, tiles: int) -> dict[str, Any]:
    plain: dict[str, Any] = {"rule": refutation.rule, "sentence": refutation.sentence}
    collision = refutation.collision
    if collision is None:
        return plain
    both = (collision.first, collision.other)
    name = partial(node_name, tiles=tiles)
    return {
        **plain,
        "instructions": [transfer.name for transfer in both],
        "transfers": [transfer.ordinal for transfer in both],
        "masters": [name(transfer.master) for transfer in both],
        "nodes": [[name(node) for node in transfer.path] for transfer in both],
        "shared": [name(node) for node in collision.shared],
        "stop": name(collision.stop),
        "reason": collision.reason,
        "start_times": None if refutation.start_times is None else dict(refutation.start_times),
        "runs": refutation.runs,
    }
