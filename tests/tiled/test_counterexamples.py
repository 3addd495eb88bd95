"""What ``check`` says of start times has been seen in a run."""

from __future__ import annotations

from random import Random

import pytest

from tests.tiled.programs import program
from tests.tiled.rules.arena import mixed
from tests.tiled.rules.lines import consume, fence, proof, send
from tilesim import simulate
from tilesim.tiled.counterexamples import seen
from tilesim.tiled.rules.proof import Proof, proof_of
from tilesim.tiled.rules.ring.readings import Reading

OVERLAP = (consume(2), consume(3), send("a", 0, 2), send("b", 1, 3))
THREE = (*(consume(tile) for tile in (3, 4, 5)), send("a", 0, 3), send("b", 1, 4), send("c", 2, 5))


def times(outcome: Proof) -> list[dict[str, int] | None]:
    """Those of each refuted pair."""
    pairs = [refutation.start_times for refutation in outcome.refutations if refutation.collision is not None]
    return [None if start is None else dict(start) for start in pairs]


def test_a_proof_alone_says_nothing_of_times() -> None:
    assert times(proof(*OVERLAP)) == [None]
    assert [refutation.runs for refutation in proof(*OVERLAP).refutations] == [0]


def test_every_pair_is_seen_at_its_times() -> None:
    outcome = seen(proof(*THREE))
    assert len(times(outcome)) == 3
    for refutation in outcome.refutations:
        assert refutation.collision is not None
        assert refutation.start_times is not None
        run = simulate(outcome.program, [], rules="observe", holds=refutation.start_times)
        pair = {refutation.collision.first.name, refutation.collision.other.name}
        assert pair in [{*finding["instructions"]} for finding in run.statistics["findings"]]


def test_of_what_is_not_seen_no_times_are_given() -> None:
    """The fence takes longer than the last row needs to the next master's stop."""
    outcome = seen(proof(consume(4), consume(5), send("a", 0, 4), fence("ring_producer", 0), send("b", 2, 5)))
    assert times(outcome) == [None]
    assert outcome.refutations[0].runs > 10


def test_what_is_out_of_the_way_lets_others_be_seen() -> None:
    """Rows of a later transfer stand between the two of a random program."""
    outcome = seen(proof_of(mixed(Random(2)).program(), Reading.SINGLE))  # noqa: S311  (no secret)
    assert len(times(outcome)) > 1
    assert None not in times(outcome)


@pytest.mark.parametrize(("budget", "runs"), [(0, [0, 0, 0]), (2000, [1, 1, 0])])
def test_runs_are_bounded(budget: int, runs: list[int]) -> None:
    """A run of this program on eight tiles costs somewhat more than 800."""
    outcome = seen(proof(*THREE), budget)
    assert [refutation.runs for refutation in outcome.refutations] == runs


def test_programs_whose_accesses_nothing_orders_are_run_too() -> None:
    clash = "d: wide_to_narrow tiles=0x4 read=[r:4 @0x80+r*16] write=[r:4,w:4 @0x0+r*16+w*4]\n"
    outcome = seen(proof(*OVERLAP, clash))
    assert {refutation.rule for refutation in outcome.refutations} == {"hazards", "masters"}
    assert None not in times(outcome)


def test_a_program_that_no_chip_could_run_is_not_run() -> None:
    head = '.region name="sent" memory=wide tiles=0xff address=0 bytes=16\n'
    outcome = seen(proof_of(program("".join(OVERLAP), "ring-8", head=head)))
    assert {refutation.rule for refutation in outcome.refutations} == {"regions", "masters"}
    assert [refutation.runs for refutation in outcome.refutations] == [0] * len(outcome.refutations)
