"""The search for the fewest additions."""

from __future__ import annotations

import pytest

from tests.soak import counts
from tests.tiled.programs import program
from tests.tiled.rules.lines import consume, send
from tilesim.tiled.isa.model.fields import Flag, Watcher
from tilesim.tiled.laboratory.program import program_of
from tilesim.tiled.laboratory.suite import cases
from tilesim.tiled.mending import search as module
from tilesim.tiled.mending.additions import AddedTurn, AddedWait
from tilesim.tiled.mending.search import additions_for, search
from tilesim.tiled.rules.ring.readings import Reading

PAIR = consume(2) + consume(3) + send("a", 0, 2) + send("b", 1, 3)
CHAIN = "".join(consume(tile, 2) for tile in (2, 3, 4)) + "".join(send(f"m{k}", k, k + 2, rows=2) for k in range(3))


@pytest.mark.parametrize("every", counts(15, 1))
def test_the_cases_of_the_suite_are_mended_however_the_rule_is_read(every: int) -> None:
    for name, case in [*cases().items()][::every]:
        for reading in Reading:
            assert search(program_of(case.scenario, name), reading).proven, (name, reading)


def test_all_proven_drafts_have_the_fewest_additions() -> None:
    found = search(program(CHAIN, "ring-8"), Reading.MEET)
    assert {len(tried.draft.additions) for tried in found.proven} == {2}
    assert all(tried.proof.proven for tried in found.proven)
    assert not found.cut


def test_no_proven_draft_has_one_that_it_does_not_need() -> None:
    for tried in search(program(CHAIN, "ring-8"), Reading.MEET).proven:
        for addition in tried.draft.additions:
            again = search(tried.draft.minus(addition).program, Reading.MEET)
            assert not again.start.proof.proven


def test_proofs_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BUDGET", 0)
    monkeypatch.setattr(module, "FEWEST", 2)
    found = search(program(CHAIN, "ring-8"), Reading.MEET)
    assert (found.proofs, found.cut, found.proven) == (2, True, [])


def test_a_later_transfer_waits_and_not_an_earlier_one_with_the_same_destination() -> None:
    """Rows come in the order of the program, or what takes them would get others."""
    both = consume(3, 4) + consume(3, 4, name="d3", row=12) + send("a", 1, 3) + send("b", 0, 3)
    found = search(program(both, "ring-8"), Reading.MEET)
    assert {addition.place for tried in found.proven for addition in tried.draft.additions} == {3}
    apart = search(program(consume(3) + consume(4) + send("a", 1, 3) + send("b", 0, 4), "ring-8"), Reading.MEET)
    assert {addition for tried in apart.proven for addition in tried.draft.additions} >= {
        AddedWait(2, Watcher(Flag.RING_PRODUCER_A, 1))
    }


def test_an_infeed_takes_its_turn() -> None:
    lines = consume(1) + consume(2) + send("a", 5, 1) + "i: infeed source=data rows=4 to=0x4\n"
    found = search(program(lines, "ring-8"), Reading.MEET)
    assert AddedTurn(3, 1) in {addition for tried in found.proven for addition in tried.draft.additions}


def test_an_expected_count_is_one_less_where_more_is_asked() -> None:
    found = search(program(PAIR, "ring-8", tile__strict_compare=True), Reading.MEET)
    assert AddedWait(3, Watcher(Flag.RING_PRODUCER_A, 0)) in {
        addition for tried in found.proven for addition in tried.draft.additions
    }


def test_what_is_proven_has_nothing_to_be_added() -> None:
    found = search(program(consume(3) + send("a", 0, 3), "ring-8"), Reading.MEET)
    assert list(additions_for(found.start)) == []
