"""What is proven of a program under each reading of the rule for masters, and what was seen to break it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tilesim.findings import Finding
from tilesim.machines.trial import TrialPair, TrialReading, Verdict
from tilesim.tiled.counterexamples import StartTimes, breaches, parties_of, seen
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.rules.proof import Proof, Refutation, proof_of
from tilesim.tiled.rules.ring.collisions import Collision
from tilesim.tiled.rules.ring.readings import Reading

EARLY = range(0, 64, 4)
"""Cycles from which on start times are tried that were found for a quiet chip: the fewer, the easier to read."""


def proofs_of(program: Program) -> dict[Reading, Proof]:
    """A proof under each reading, with start times where they were found."""
    return {reading: seen(proof_of(program, reading)) for reading in Reading}


def judged(proof: Proof, names: Mapping[str, str]) -> TrialReading:
    """The verdict under one reading; ``names`` are the transfers by the labels of what sends them."""
    of_masters = [refutation for refutation in proof.refutations if refutation.rule == "masters"]
    pairs = [
        _pair(proof, refutation, refutation.collision, names)
        for refutation in of_masters
        if refutation.collision is not None
    ]
    return {
        "reading": str(proof.reading),
        "verdict": _worst([pair["verdict"] for pair in pairs]),
        "pairs": pairs,
        "more": proof.forbidden[proof.reading] - len(pairs),
    }


def others(proof: Proof) -> Iterator[str]:
    """What is refuted besides."""
    return (f"{each.rule}: {each.sentence}" for each in proof.refutations if each.rule != "masters")


def _worst(verdicts: list[Verdict]) -> Verdict:
    if not verdicts:
        return "proven"
    return "refuted" if "refuted" in verdicts else "not proven"


def _pair(proof: Proof, refutation: Refutation, collision: Collision, names: Mapping[str, str]) -> TrialPair:
    times, finding = _earliest(proof, refutation, collision)
    return {
        "transfers": [names[transfer.name] for transfer in (collision.first, collision.other)],
        "verdict": "not proven" if finding is None else "refuted",
        "reason": refutation.sentence,
        "start_times": None if times is None else dict(times),
        "cycle": finding and finding["cycle"],
        "stop": finding and finding["stop"],
        "runs": refutation.runs,
    }


def _earliest(proof: Proof, refutation: Refutation, collision: Collision) -> tuple[StartTimes | None, Finding | None]:
    """Start times that let the two break the rule, as early as they are found to, and what was found."""
    times = refutation.start_times
    if times is None:
        return None, None
    latest = min(times.values(), default=0)
    parties = parties_of(collision, proof.program.topology.tiles)
    for first in (*(cycle for cycle in EARLY if cycle < latest), latest):
        earlier = {label: cycle - latest + first for label, cycle in times.items()}
        if finding := breaches(proof.program, earlier, proof.reading).get(parties):
            return earlier, finding
    raise AssertionError("what was seen is not seen again")
