"""The proof is sharp both ways, on random programs of several masters.

What it calls legal never meets, nor hangs, whatever the delays; what is legal by construction it calls so; and of what
it refutes nearly all pairs meet at the start times that it gives. The rest would need delays on the ring itself.
"""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tiled.rules.arena import Arena, chained, disjoint, mixed
from tilesim.tiled.isa.instructions import ScalarFence, TileFence
from tilesim.tiled.isa.program import Program
from tilesim.tiled.rules.proof import Proof, proof_of

DELAYS = 20
LATEST = 60
"""Cycles: by then an undisturbed program is over."""


@pytest.mark.parametrize(("programs", "share"), [(60, 0.75), pytest.param(2000, 0.9, marks=pytest.mark.soak)])
def test_what_is_legal_never_meets_and_what_is_not_does(programs: int, share: float) -> None:
    arena, met = Arena(), Counter[bool]()

    @settings(max_examples=programs, database=None)
    @given(st.integers(0, 1 << 48))
    def judge(seed: int) -> None:
        random = Random(seed)  # noqa: S311  (no secret)
        kind = random.choice((disjoint, chained, mixed, mixed))
        program = kind(random).program()
        proof = proof_of(program)
        assert proof.proven or kind is mixed, [each.sentence for each in proof.refutations]
        if proof.proven:
            never_meets(arena, program, random)
        else:
            met.update(meetings(arena, proof))

    judge()
    assert met[True] >= share * met.total()


def never_meets(arena: Arena, program: Program, random: Random) -> None:
    labels = [op.label for op in program.run if not isinstance(op, TileFence | ScalarFence)]
    for _ in range(DELAYS if labels else 0):
        some = random.sample(labels, random.randint(1, len(labels)))
        delays = {label: random.randrange(LATEST) for label in some}
        findings, ended = arena.run(program, delays)
        assert findings == [], delays
        assert ended, delays


def meetings(arena: Arena, proof: Proof) -> list[bool]:
    """Whether each pair that is refuted meets at its start times."""
    found = []
    for each in proof.refutations:
        if each.collision is not None:
            findings, _ = arena.run(proof.program, dict(each.start_times))
            pair = {each.collision.first.name, each.collision.other.name}
            found.append(any(set(finding.get("instructions", ())) == pair for finding in findings))
    return found
