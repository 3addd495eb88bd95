"""Resets among the transfers that a tile counts."""

from tests.tiled.rules.lines import consume, proof, rules, send


def test_a_reset_must_have_its_place_among_the_transfers() -> None:
    early = "r: tile_fence tiles=0x2 idle=tensor reset=ring_producer_a\n"
    found = proof(consume(3), consume(4), send("a", 0, 3), early, send("b", 1, 4, wait="ring_producer_a>=1"))
    assert rules(found) == ["fences"]
    assert (
        "r (tile_fence) resets ring_producer_a of tile 1 before or after the tail of a" in found.refutations[0].sentence
    )
    ahead = proof(
        "r: tile_fence tiles=0xff idle=tensor reset=ring_producer_a increment=1\ns: scalar_fence count=8\n",
        *(consume(3), consume(4), send("a", 0, 3), send("b", 1, 4, wait="ring_producer_a>=1")),
    )
    assert ahead.proven
