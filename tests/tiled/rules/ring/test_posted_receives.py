"""Rows that would circulate."""

from tests.tiled.rules.lines import consume, proof, rules, send


def test_rows_must_find_somebody_posted_where_they_would_circulate() -> None:
    lines = (consume(3), send("a", 0, 3))
    assert proof(*lines).proven
    found = proof(*lines, ring__no_consumer="circulate")
    assert rules(found) == ["posted"]
    assert "a (ring_produce of tile 0) can reach tile 3 before c3" in found.refutations[0].sentence
