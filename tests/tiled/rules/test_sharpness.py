"""The proof is sharp both ways, on random programs of several masters, however the rule for masters is read.

What it calls legal never breaks the rule, nor hangs, whatever the delays; what is legal by construction it calls so;
and of what it refutes nearly all pairs are seen to break the rule at the start times that are found for them. The rest
would need delays on the ring itself.
"""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tiled.rules.arena import Arena, chained, disjoint, mixed
from tilesim.tiled.counterexamples import seen
from tilesim.tiled.isa.model.instructions import ScalarFence, TileFence
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.rules.proof import Proof, proof_of
from tilesim.tiled.rules.ring.readings import Reading

DELAYS = 20
LATEST = 60
"""Cycles: by then an undisturbed program is over."""
FEW = 3_500
"""A budget for a few runs of a program of these."""
KEEPING = {disjoint: {Reading.DISJOINT, Reading.MEET}, chained: {Reading.MEET}, mixed: set[Reading]()}
"""The readings that each kind of program keeps to by construction."""


@pytest.mark.parametrize(
    ("programs", "readings", "share"),
    [
        (60, [Reading.MEET], 0.75),
        (24, [Reading.SINGLE, Reading.DISJOINT], 0.6),
        pytest.param(2000, [Reading.MEET], 0.9, marks=pytest.mark.soak),
        pytest.param(2000, [Reading.SINGLE, Reading.DISJOINT], 0.75, marks=pytest.mark.soak),
    ],
)
def test_what_is_legal_never_meets_and_what_is_not_does(programs: int, readings: list[Reading], share: float) -> None:
    arenas, kept = {reading: Arena(reading=reading) for reading in readings}, Counter[bool]()

    @settings(max_examples=programs, database=None)
    @given(st.integers(0, 1 << 48))
    def judge(seed: int) -> None:
        random = Random(seed)  # noqa: S311  (no secret)
        kind = random.choice((disjoint, chained, mixed, mixed))
        program, reading = kind(random).program(), random.choice(readings)
        proof = proof_of(program, reading)
        assert proof.proven or reading not in KEEPING[kind], [refutation.sentence for refutation in proof.refutations]
        arena = arenas[reading]
        if proof.proven:
            never_breaks(arena, program, random)
        else:
            kept.update(broken(arena, seen(proof, FEW)))

    judge()
    assert kept[True] >= share * kept.total()


def never_breaks(arena: Arena, program: Program, random: Random) -> None:
    labels = [op.label for op in program.run if not isinstance(op, TileFence | ScalarFence)]
    for _ in range(DELAYS if labels else 0):
        some = random.sample(labels, random.randint(1, len(labels)))
        delays = {label: random.randrange(LATEST) for label in some}
        findings, ended = arena.run(program, delays)
        assert findings == [], delays
        assert ended, delays


def broken(arena: Arena, proof: Proof) -> list[bool]:
    """Whether each refuted pair that was looked for breaks the rule: if there are start times for it, it must."""
    breaks = []
    for refutation in proof.refutations:
        if refutation.runs:
            breaks.append(refutation.start_times is not None)
        if refutation.collision is not None and refutation.start_times is not None:
            findings, _ = arena.run(proof.program, dict(refutation.start_times))
            pair = {refutation.collision.first.name, refutation.collision.other.name}
            kind = "under way at once" if refutation.collision.at_once else "meeting"
            assert any(set(one.get("instructions", ())) == pair for one in findings if one["kind"] == kind)
    return breaks


def test_what_keeps_to_a_reading_keeps_to_those_after_it() -> None:
    told = Counter[int]()
    for seed in range(80):
        random = Random(seed)  # noqa: S311  (no secret)
        masters = proof_of(random.choice((disjoint, chained, mixed))(random).program()).masters
        assert masters is not None
        single, shared, meet = (set(masters.forbidden(reading)) for reading in Reading)
        assert single >= shared >= meet
        told[bool(single) + bool(shared) + bool(meet)] += 1
    assert set(told) == {0, 1, 2, 3}
