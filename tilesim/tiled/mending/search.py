"""The search for the fewest additions with which everything is proven.

It goes on from the program addition by addition, breadth first: every addition that may mend something of what is
refuted is tried, and the whole proof made anew. All programs with one addition are tried; of those with more, what goes
on from the ``WIDTH`` that leave least refuted. When some are proven, none with more additions are looked at; and what
they turn out not to need is taken away again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from tilesim.machines import frame
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.mending.accesses import access_additions
from tilesim.tiled.mending.additions import Addition, Draft
from tilesim.tiled.mending.fences import fence_additions
from tilesim.tiled.mending.transfers import transfer_additions
from tilesim.tiled.rules.proof import Proof, proof_of
from tilesim.tiled.rules.ring.readings import Reading
from tilesim.tiled.rules.untimed.work_queues import work_queues

WIDTH = 4
"""Drafts from which the search goes on."""
BUDGET = 4_000_000
"""Work for which drafts are proven: instructions, tile by tile, times proofs."""
FEWEST, MOST = 16, 4_000
"""Proofs, whatever the budget."""
DEEPEST = 24
"""Additions."""
BLOCKING = frozenset(("fences", "deadlock"))
"""Rules that hide what else is refuted: nothing is known of what never begins."""


class Tried(Struct, frozen=True):
    """A draft and what is proven of it."""

    draft: Draft
    proof: Proof

    @property
    def left(self) -> tuple[int, int]:
        """How much of it is refuted: first what hides more, then all."""
        refutations = self.proof.refutations
        blocking = sum(refutation.rule in BLOCKING for refutation in refutations)
        others = sum(refutation.collision is None for refutation in refutations)
        return blocking, others + self.proof.forbidden.get(self.proof.reading, 0)

    @property
    def deadlocked(self) -> bool:
        return any(refutation.rule == "deadlock" for refutation in self.proof.refutations)


class Found(Struct, frozen=True):
    """What it began with; the ``proven`` drafts, all of as few additions; the ``best`` of all drafts; how many
    ``proofs`` it took, and whether there would have been more to try (``cut``).
    """

    start: Tried
    proven: Sequence[Tried]
    best: Tried
    proofs: int
    cut: bool


def search(program: Program, reading: Reading) -> Found:
    """Look for additions with which a program is proven to keep to a reading of the rule for masters, and to all other
    rules.
    """
    return _Search(reading, _limit(program)).of(Draft(frame.named(program)))


def _limit(program: Program) -> int:
    """How many proofs may be made."""
    work = sum(getattr(op, "tiles", 1).bit_count() for op in (*program.load, *program.run))
    return max(FEWEST, min(MOST, BUDGET // max(1, work)))


class _Search:
    def __init__(self, reading: Reading, limit: int) -> None:
        self._reading, self._limit = reading, limit
        self._proofs = 0
        self._intended: Mapping[int, Sequence[int]] = {}
        self._seen: set[frozenset[Addition]] = set()

    def of(self, start: Draft) -> Found:
        best = first = self._try(start)
        self._intended = _arrivals(first)
        front, proven = [best], [best] if best.proof.proven else []
        while front and not proven and self._may_go_on(front[0]):
            tried = [after for before in front for after in self._after(before)]
            proven = [each for each in tried if each.proof.proven]
            front = sorted(tried, key=lambda each: each.left)[:WIDTH]
            best = min((best, *front), key=lambda each: each.left)
        least = [self._needed(tried) for tried in proven]
        fewest = min((len(tried.draft.additions) for tried in least), default=0)
        kept = {tried.draft.additions: tried for tried in least if len(tried.draft.additions) == fewest}
        return Found(first, [*kept.values()], best, self._proofs, self._proofs >= self._limit)

    def _may_go_on(self, tried: Tried) -> bool:
        return self._proofs < self._limit and len(tried.draft.additions) < DEEPEST

    def _try(self, draft: Draft) -> Tried:
        self._proofs += 1
        return Tried(draft, proof_of(draft.program, self._reading))

    def _after(self, tried: Tried) -> Iterator[Tried]:
        """With one addition more, unless that lets something wait without end, or rows arrive in another order."""
        for addition in additions_for(tried):
            draft = tried.draft.plus(addition)
            if draft.additions in self._seen or self._proofs >= self._limit:
                continue
            self._seen.add(draft.additions)
            more = self._try(draft)
            if (tried.deadlocked or not more.deadlocked) and self._in_order(more):
                yield more

    def _in_order(self, tried: Tried) -> bool:
        """Whether what arrives at each node does so in the order that is meant."""
        intended = {node: iter(order) for node, order in self._intended.items()}
        begun = tried.proof.masters.history.order if tried.proof.masters else []
        return all(transfer.number in intended[node] for transfer in begun for node in transfer.destinations)

    def _needed(self, tried: Tried) -> Tried:
        """A proven draft without what it doesn't need."""
        for addition in tried.draft.listed if len(tried.draft.additions) > 1 else ():
            less = self._try(tried.draft.minus(addition))
            if less.proof.proven:
                return self._needed(less)
        return tried


def _arrivals(tried: Tried) -> Mapping[int, Sequence[int]]:
    """The transfers that arrive at each node, by number, in the order of an execution without time; those that don't
    begin in it follow in that of the program.
    """
    order: dict[int, list[int]] = defaultdict(list)
    begun = tried.proof.masters.history.order if tried.proof.masters else []
    transfers = work_queues(tried.draft.program).transfers if tried.proof.masters else []
    for transfer in [*begun, *(left for left in transfers if left.number not in {sent.number for sent in begun})]:
        for node in transfer.destinations:
            order[node].append(transfer.number)
    return order


def additions_for(tried: Tried) -> Iterator[Addition]:
    """Whatever may mend something of what is refuted."""
    rules = {refutation.rule for refutation in tried.proof.refutations}
    if "fences" in rules:
        yield from fence_additions(tried.draft)
    if "hazards" in rules:
        yield from access_additions(tried.draft)
    yield from transfer_additions(tried.draft, tried.proof)
