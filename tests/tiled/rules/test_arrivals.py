"""Rows that arrive, against the instructions that take them."""

from tests.tiled.rules.lines import consume, proof, rules, send


def test_rows_that_may_come_in_either_order() -> None:
    found = proof(consume(3, 1), consume(3, 1, "d3", 12), send("a", 0, 3, rows=1), send("b", 1, 3, rows=1))
    assert rules(found) == ["arrivals"]
    assert "may arrive at tile 3 in either order" in found.refutations[0].sentence


def test_an_instruction_takes_whole_transfers_or_rows_of_one() -> None:
    torn = (consume(3, 3), consume(3, 1, "d3", 12), send("a", 0, 3, rows=2), send("b", 0, 3, rows=2))
    found = proof(*torn)
    assert rules(found) == ["arrivals"]
    assert "takes 2 of the 2 rows of a and 1 of the 2 rows of b at tile 3" in found.refutations[0].sentence
    assert proof(consume(3, 4), *torn[2:]).proven
    assert proof(consume(3, 1), consume(3, 1, "d3", 12), consume(3, 2, "e3", 16), *torn[2:]).proven
