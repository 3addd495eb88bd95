"""Whether two masters can meet: proven by flags, fences and queues, or refuted."""

from __future__ import annotations

import pytest

from tests.tiled.corpus.programs import random_program
from tests.tiled.rules.lines import consume, fence, proof, rules, send
from tilesim import simulate
from tilesim.tiled.counterexamples import seen
from tilesim.tiled.rules.proof import proof_of


def test_disjoint_groups_run_at_once() -> None:
    """Oracle 10, and 6 to 1 with 2 to 5 of oracle 11."""
    low, high = send("a", 0, 1, 2, 3), send("b", 4, 5, 6, 7)
    outcome = proof(*(consume(tile) for tile in (1, 2, 3, 5, 6, 7)), low, high)
    assert outcome.proven
    assert outcome.masters is not None
    assert outcome.masters.pairs == {"disjoint": 1, "queue": 0, "order": 0, "single": 0, "open": 0}
    assert proof(consume(1), consume(5), send("a", 6, 1), send("b", 2, 5)).proven


@pytest.mark.parametrize(
    ("a", "b", "stop", "shared"),
    [
        ((0, 2), (1, 3), "tile 1", ["tile 1", "tile 2"]),
        ((0, 3), (3, 4), "tile 3", ["tile 3"]),
        ((6, 1), (0, 3), "tile 0", ["tile 0", "tile 1"]),
    ],
)
def test_groups_that_share_a_node_meet(a: tuple[int, int], b: tuple[int, int], stop: str, shared: list[str]) -> None:
    """Oracle 11: each is refuted with both instructions, both node sets, what they share, and when they meet."""
    outcome = seen(proof(consume(a[1]), consume(b[1]), send("a", *a), send("b", *b)))
    assert rules(outcome) == ["masters"]
    plain = outcome.document()["refutations"][0]
    assert plain["instructions"] == ["a", "b"]
    assert plain["masters"] == [f"tile {a[0]}", f"tile {b[0]}"]
    assert [(nodes[0], nodes[-1]) for nodes in plain["nodes"]] == [(f"tile {x}", f"tile {y}") for x, y in (a, b)]
    assert (plain["stop"], plain["shared"]) == (stop, shared)
    assert plain["reason"] == "no flag and no fence makes b wait for all of a"
    run = simulate(outcome.program, [], rules="observe", holds=plain["start_times"])
    assert [{*finding["instructions"]} for finding in run.statistics["findings"]] == [{"a", "b"}]


FIRST = consume(3) + send("a", 0, 3)
SECOND = consume(3, name="d3", row=12)


@pytest.mark.parametrize(
    ("lines", "cause"),
    [
        (FIRST + SECOND + send("b", 1, 3, wait="ring_producer_a>=1"), "flag"),
        (FIRST + fence("ring_consumer", 3) + SECOND + send("b", 1, 3), "fence"),
    ],
)
def test_what_puts_one_behind_the_other(lines: str, cause: str) -> None:
    outcome = proof(lines)
    assert outcome.proven
    assert outcome.masters is not None
    assert outcome.masters.proofs == {cause: 1}
    assert outcome.masters.pairs["order"] == 1


def test_a_fence_that_waits_for_what_it_holds_up_is_no_order_but_a_deadlock() -> None:
    outcome = proof(FIRST, SECOND, fence("ring_consumer", 3), send("b", 1, 3))
    assert rules(outcome) == ["deadlock"]
    assert outcome.refutations[0].sentence.startswith("these wait in a circle: ")


def test_an_ordinal_that_is_too_low_is_shown_to_be() -> None:
    """Another transfer makes up the count."""
    outcome = proof(
        *(consume(2), consume(2, name="d2", row=12), consume(2, name="e2", row=16)),
        *(send("x", 0, 2), send("a", 0, 2), send("b", 1, 2, wait="ring_producer_a>=1")),
    )
    [first] = [refutation for refutation in outcome.refutations if refutation.rule == "masters"]
    assert first.sentence.endswith(
        "can meet at tile 1 (they share tiles 1-2): b waits for 1 transfer to have passed it, which x can do "
        "without that"
    )
    assert "masters" not in rules(
        proof(
            *(consume(2), consume(2, name="d2", row=12), consume(2, name="e2", row=16)),
            *(send("x", 0, 2), send("a", 0, 2), send("b", 1, 2, wait="ring_producer_a>=2")),
        )
    )


def test_what_begins_only_as_others_are_assumed_to_has_no_place_in_the_order() -> None:
    assert "deadlock" in rules(proof_of(random_program(321667909)))


def test_transfers_of_one_name_are_counted() -> None:
    """Those of an infeed, of which two pass tile 1 and make up the count."""
    outcome = proof(
        *(consume(tile) for tile in (1, 2, 3)),
        *(consume(3, name="d3", row=12), consume(4)),
        "i: infeed source=data rows=4 to=0x2 transfers=3\n",
        *(send("a", 0, 3), send("b", 1, 4, wait="ring_producer_a>=2")),
    )
    assert [
        refutation.sentence.partition(": ")[2]
        for refutation in outcome.refutations
        if " and b (" in refutation.sentence
    ] == [
        f"b waits for 2 transfers to have passed it, which {some} can do without that"
        for some in ("i and a", "2 of i and a", "3 of i")
    ]


def test_one_instruction_on_two_tiles_is_told_apart() -> None:
    both = "a: ring_produce tiles=0x3 read=[r:4 @0x0+r*16] to=0x8\n"
    outcome = proof(consume(3), consume(3, name="d3", row=12), both)
    assert outcome.refutations[0].sentence.endswith(
        "no flag and no fence makes a of tile 1 wait for all of a of tile 0"
    )


def test_a_producer_that_is_through_has_not_arrived() -> None:
    """A fence on it proves order at its own stop, not downstream; upstream masters must pass that stop."""
    down = proof(consume(4), consume(5), send("a", 0, 4), fence("ring_producer", 0), send("b", 2, 5))
    assert rules(down) == ["masters"]
    assert "when b begins, all rows of a are sent, but they need not have passed tile 2" in down.refutations[0].sentence
    up = proof(consume(4), consume(3), send("a", 2, 4), fence("ring_producer", 2), send("b", 0, 3))
    assert up.proven


@pytest.mark.parametrize(("expected", "proven"), [(4, True), (3, False)])
def test_a_master_may_wait_for_the_rows_that_it_gets_itself(expected: int, proven: bool) -> None:
    outcome = proof(consume(1), consume(3), send("a", 0, 1), send("b", 1, 3, wait=f"ring_read_a>={expected}"))
    assert outcome.proven is proven


def test_order_comes_across_tiles() -> None:
    """Tile 1 gets the rows and tells its neighbour over the mesh, which is the next master."""
    outcome = proof(
        *(consume(1), send("a", 0, 1, 2), consume(2), consume(3)),
        "u: mesh_out tiles=0x4 side=east read=[w:1 @0x0] wait=ring_read_a>=4 produce=w\n",
        "v: mesh_in tiles=0x8 side=west write=[w:1 @0x0] produce=w\n",
        *(send("b", 3, 1, wait="mesh_west_in>=1"), consume(1, name="d1", row=12)),
    )
    assert "masters" not in rules(outcome)


def test_an_infeed_takes_its_turn() -> None:
    """Its own first transfer counts as well."""
    lines = (consume(1), send("a", 6, 1), consume(0), "i: infeed source=data rows=4 to=0x1{}\n")
    assert rules(proof(*lines[:3], lines[3].format(""))) == ["masters"]
    assert proof(*lines[:3], lines[3].format(" turn=1")).proven


def test_transfers_of_one_infeed_follow_one_another() -> None:
    outcome = proof(*map(consume, range(4)), "i: infeed source=data rows=4 to=0x1 transfers=4\n")
    assert outcome.proven
    assert outcome.masters is not None
    assert outcome.masters.pairs["queue"] == 6


def test_the_load_program_is_over_when_the_run_begins() -> None:
    outcome = proof(consume(3), send("b", 1, 3), load=consume(2, name="d2") + send("a", 0, 2))
    assert outcome.proven
    assert outcome.masters is not None
    assert outcome.masters.proofs == {"section": 1}


def test_single_packets_cannot_lie_inside_one_another() -> None:
    outcome = proof(consume(2, 1), consume(3, 1), send("a", 0, 2, rows=1), send("b", 1, 3, rows=1))
    assert outcome.proven
    assert outcome.masters is not None
    assert outcome.masters.pairs["single"] == 1


def test_rows_that_are_held_in_a_loop_count_from_the_first() -> None:
    """Its first row waits for nothing, so that it can go between the other's."""
    by_row = "b: ring_produce tiles=0x2 read=[r:4 @0x0+r*16] to=0x8 wait=ring_producer_a@r>=0+1\n"
    outcome = proof(consume(2), consume(3), send("a", 0, 2), by_row)
    assert rules(outcome)[:1] == ["masters"]
    assert outcome.refutations[0].sentence.endswith("no flag and no fence makes the first row of b wait for all of a")


def test_one_buffer_for_both_roles_makes_a_master_wait_for_its_rows() -> None:
    """Source: US 2025/0265455 [0035]."""
    lines = (consume(1), consume(3), send("a", 0, 1), send("b", 1, 3))
    assert rules(proof(*lines)) == ["masters"]
    assert proof(*lines, ring__queue="shared").proven
