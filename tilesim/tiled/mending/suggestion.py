"""The smallest addition that mends a program, what it costs, and that it does: or what no addition can mend.

Fewest additions first; then those with which instructions take turns that wait for one another row by row already; then
the fewest cycles, of runs with the same bytes; then waits before fences. Where a run of the program as it is comes to
its end in order, the mended one must leave the same bytes, or it is not suggested.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from tilesim.machines.machine import Suggestion
from tilesim.machines.options import Say
from tilesim.machines.program import where
from tilesim.printable import counted
from tilesim.tiled.isa.assembly import ASSEMBLY
from tilesim.tiled.isa.model.instructions import Instruction
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.mending.additions import (
    AddedFence,
    AddedTurn,
    AddedWait,
    Addition,
    Draft,
    EndedRecord,
    WiderFence,
    with_additions,
)
from tilesim.tiled.mending.runs import Outcome, outcome_of
from tilesim.tiled.mending.search import Found, Tried, search
from tilesim.tiled.rules.ring.readings import Reading

RUNS, FEW_RUNS = 16, 3
"""Mends of the same size that are run, to see which is fastest; of a program whose runs take long, few."""
LONG = 1_000_000
"""Cycles of a run, times tiles."""
KINDS = {
    AddedWait: "wait",
    AddedTurn: "turn",
    AddedFence: "fence",
    WiderFence: "wider fence",
    EndedRecord: "shorter record",
}
"""What an addition is called; of two that cost as much, the one that stands first is suggested."""
NO_ADDITION = {
    "instructions": "whatever waits, the chip can't run it",
    "regions": "the address is wrong, not the order",
    "parameters": "the address is wrong, not the order",
    "arrivals": "what is sent must be taken, row by row, and in an order that can be told",
    "posted": "no flag and no fence tells that an instruction is posted",
    "deadlock": "more waits only hold back more: it takes one less, or another order of issue",
    "buffers": "it takes another order of issue, or deeper buffers (instruction_bus.buffer_depth)",
}
"""Why no addition mends what is refuted by a rule."""


class _Mend(Struct, frozen=True):
    """A proven draft, and what comes of it in a run."""

    tried: Tried
    outcome: Outcome | None

    @property
    def rank(self) -> tuple[Any, ...]:
        """The suggested one has the lowest."""
        turns = sum(isinstance(each, AddedWait) and each.in_turn for each in self.tried.draft.additions)
        kinds = sorted([*KINDS].index(type(addition)) for addition in self.tried.draft.additions)
        places = [addition.place for addition in self.tried.draft.listed]
        cycles = (self.outcome is None, self.outcome.cycles if self.outcome else 0)
        return -turns, *cycles, kinds, places, repr(self.tried.draft.listed)


def suggested(program: Program, reading: Reading, say: Say) -> Suggestion[Program]:
    """The smallest addition with which a program is proven, if one is found."""
    say("looking for waits and fences that are missing")
    found = search(program, reading)
    before = outcome_of(program)
    mends = _sound(found, before, say)
    if not mends:
        return Suggestion(None, _document(program, found, before, None))
    best = min(mends, key=lambda mend: mend.rank)
    mended = Draft(program, best.tried.draft.additions).program
    return Suggestion(mended, _document(program, found, before, best))


def _sound(found: Found, before: Outcome | None, say: Say) -> list[_Mend]:
    """The proven drafts that leave the same bytes, as far as can be told."""
    say("running what is proven, to see which is fastest")
    few = before is not None and before.cycles * found.best.draft.original.topology.tiles > LONG
    first = sorted((_Mend(tried, None) for tried in found.proven), key=lambda mend: mend.rank)
    mends = (replace(mend, outcome=outcome_of(mend.tried.draft.program)) for mend in first)
    return [
        *islice((mend for mend in mends if _same_bytes(before, mend.outcome) is not False), FEW_RUNS if few else RUNS)
    ]


def _same_bytes(before: Outcome | None, after: Outcome | None) -> bool | None:
    """Whether a run leaves what it left before; None if that was not in order, so that nothing can be told: rows may
    have come in another order than is meant, too.
    """
    if before is None or after is None or not before.orderly or before.taken != after.taken:
        return None
    return before.digest == after.digest


def _document(program: Program, found: Found, before: Outcome | None, mend: _Mend | None) -> dict[str, Any]:
    proof = found.best.proof if mend is None else mend.tried.proof
    after = None if mend is None else mend.outcome
    draft = None if mend is None else mend.tried.draft
    return {
        "schema": Suggestion.SCHEMA,
        "program": program.name,
        "topology": program.topology.name,
        "reading": str(proof.reading),
        "mended": mend is not None,
        "additions": len(draft.additions) if draft else 0,
        "changes": [*_changes(Draft(program, draft.additions))] if draft else [],
        "cycles": {"before": before.cycles if before else None, "after": after.cycles if after else None},
        "same_bytes": _same_bytes(before, after),
        "search": {"proofs": found.proofs, "cut": found.cut, "proven": len(found.proven)},
        "left": [] if mend else [*_left(found)],
        "proof": proof.document() if mend else None,
    }


def _left(found: Found) -> Iterator[dict[str, str]]:
    """What is still refuted after the best that could be done, and why no addition mends it."""
    tried = f"none of {found.proofs - 1:,} programs that were tried with more waits and fences is proven"
    if found.proven:
        count = len(found.proven)
        sentence = f"with {counted(count, 'addition')} all is proven, but a run leaves other bytes than before"
        yield {"rule": "data", "sentence": sentence, "reason": "what is meant must be said in another way"}
    for refutation in found.best.proof.refutations:
        reason = NO_ADDITION.get(refutation.rule, tried)
        yield {"rule": refutation.rule, "sentence": refutation.sentence, "reason": reason}


def _changes(draft: Draft) -> Iterator[dict[str, Any]]:
    """The lines of the program that change, instruction by instruction: those that go, those that come, and what they
    stand before.
    """
    original = draft.original
    ops = [(section, k, op) for section, ops in _sections(original) for k, op in enumerate(ops)]
    for number, additions in groupby(draft.changes, key=lambda addition: addition.place):
        section, place, op = ops[number]
        here = list(additions)
        yield {
            "section": section,
            "place": place,
            "instruction": where(section, place, op),
            "additions": [KINDS[type(addition)] for addition in here],
            **_lines(here, op),
        }


def _sections(program: Program) -> tuple[tuple[str, Sequence[Instruction]], ...]:
    return ("load", program.load), ("run", program.run)


def _lines(additions: Sequence[Addition | EndedRecord], op: Instruction) -> dict[str, list[str]]:
    *fences, changed = with_additions(op, additions)
    lines = [*map(ASSEMBLY.write_instruction, fences)]
    if changed == op:
        return {"removed": [], "added": lines, "kept": [ASSEMBLY.write_instruction(op)]}
    return {
        "removed": [ASSEMBLY.write_instruction(op)],
        "added": [*lines, ASSEMBLY.write_instruction(changed)],
        "kept": [],
    }
