"""Instructions that wait for rows of one another: what is ordered is proven, what is proven never goes wrong."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from tests.tiled.rules.row_waits import ordered, outcome, stepped_outcome, weakened
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.rules.proof import proof_of

DELAYS = 4
LATEST = 250
"""Cycles: by then an undisturbed program is over."""


@pytest.mark.parametrize("programs", [25, pytest.param(600, marks=pytest.mark.soak)])
def test_what_is_ordered_is_proven_and_a_weaker_copy_refuted_or_harmless(programs: int) -> None:
    random, verdicts = Random(15), Counter[str]()  # noqa: S311  (no secret)
    for _ in range(programs):
        program = ordered(random)
        proof = proof_of(program)
        assert proof.proven, [refutation.sentence for refutation in proof.refutations]
        memories = judged(program, random)
        assert stepped_outcome(program) == memories
        weak = weakened(program, random)
        verdicts[verdict(weak, memories, random)] += 1
    assert verdicts["refuted"] > programs / 2


def verdict(weak: Program, memories: list[bytes], random: Random) -> str:
    """A proven copy leaves what the program does."""
    if not proof_of(weak).proven:
        return "refuted"
    assert judged(weak, random) == memories
    return "harmless"


def judged(program: Program, random: Random) -> list[bytes]:
    """What the memories hold in the end, the same whichever instructions are held up."""
    memories, noticed = outcome(program, {})
    assert noticed == []
    labels = [op.label for op in program.run]
    for _ in range(DELAYS):
        some = random.sample(labels, random.randint(1, len(labels)))
        held = {label: random.randrange(LATEST) for label in some}
        assert outcome(program, held) == (memories, []), held
    return memories
