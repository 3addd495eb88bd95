"""Rows that arrive, against the instructions that take them; and resets among the transfers that a tile counts."""

import numpy as np
import pytest

from tests.tiled.programs import program
from tests.tiled.rules.lines import consume, proof, rules, send
from tilesim.tiled.rules.proof import proof_of
from tilesim.tiled.stepped.chip import Chip as SteppedChip
from tilesim.tiled.units.chip import Chip


def test_rows_that_may_come_in_either_order() -> None:
    outcome = proof(consume(3, 1), consume(3, 1, "d3", 12), send("a", 0, 3, rows=1), send("b", 1, 3, rows=1))
    assert rules(outcome) == ["arrivals"]
    assert "may arrive at tile 3 in either order" in outcome.refutations[0].sentence


def test_an_instruction_takes_rows_of_transfers_in_a_proven_order() -> None:
    """One that begins in the middle of a transfer and ends in that of the next, of the same master or of another."""
    taken = (consume(3, 1), consume(3, 2, "d3", 12), consume(3, 1, "e3", 16))
    for master, wait in ((0, ""), (1, "ring_producer_a>=1")):
        sent = (send("a", 0, 3, rows=2), send("b", master, 3, rows=2, wait=wait))
        assert proof(*taken, *sent).proven
        assert proof(consume(3, 4), *sent).proven
    unordered = (send("a", 0, 3, rows=2), send("b", 1, 3, rows=2))
    assert set(rules(proof(*taken, *unordered))) == {"masters", "arrivals"}


@pytest.mark.parametrize("sizes", [(1, 2, 1), (4,), (3, 1), (1, 1, 1, 1)])
def test_the_rows_of_two_transfers_land_one_behind_the_other(sizes: tuple[int, ...]) -> None:
    """However the instructions that take them cut them, and whoever is held up."""
    takers = [consume(3, size, f"t{k}", 8 + sum(sizes[:k])) for k, size in enumerate(sizes)]
    written = program("".join((*takers, _fill_and_send(0, ""), _fill_and_send(1, ",ring_producer_a>=1"))), "ring-8")
    assert proof_of(written).proven
    expected = np.repeat(np.array([5, 5, 6, 6], np.uint8), 16)
    for held in ({}, {"s0": 90}, {"s1": 200}, {f"t{len(sizes) - 1}": 150}):
        chip = Chip(written.topology, 1, None, lambda _tile, _label: None)
        chip.run(written.run, [], holds={(label, None): cycle for label, cycle in held.items()})
        assert np.array_equal(chip.tiles[3].memories.wide.row(0x80, 64)[0], expected), held
    stepped = SteppedChip(written.topology, (), keeps_spans=False)
    stepped.run(written.run, [])
    assert np.array_equal(stepped.tiles[3].memories.wide.read(0x80, 64), expected)


def _fill_and_send(tile: int, turn: str) -> str:
    """Two rows of fives, or sixes."""
    return (
        f"p{tile}: mesh_in tiles={1 << tile} side=north write=[w:8 @0x0+w*4] fill={5 + tile} produce=w\n"
        f"g{tile}: narrow_to_wide tiles={1 << tile} read=[w:8 @0x0+w*4] write=[r:2 @0x0+r*16] "
        f"wait=mesh_north_in>=1 produce=r\n"
        f"{send(f's{tile}', tile, 3, rows=2, wait='narrow_to_wide>=1' + turn)}"
    )


def test_rows_must_find_somebody_posted_where_they_would_circulate() -> None:
    lines = (consume(3), send("a", 0, 3))
    assert proof(*lines).proven
    outcome = proof(*lines, ring__no_consumer="circulate")
    assert rules(outcome) == ["posted"]
    assert "a (ring_produce of tile 0) can reach tile 3 before c3" in outcome.refutations[0].sentence


def test_a_reset_must_have_its_place_among_the_transfers() -> None:
    early = "r: tile_fence tiles=0x2 idle=tensor reset=ring_producer_a\n"
    outcome = proof(consume(3), consume(4), send("a", 0, 3), early, send("b", 1, 4, wait="ring_producer_a>=1"))
    assert rules(outcome) == ["fences"]
    assert (
        "r (tile_fence) resets ring_producer_a of tile 1 before or after the tail of a"
        in outcome.refutations[0].sentence
    )
    ahead = proof(
        "r: tile_fence tiles=0xff idle=tensor reset=ring_producer_a increment=1\ns: scalar_fence count=8\n",
        *(consume(3), consume(4), send("a", 0, 3), send("b", 1, 4, wait="ring_producer_a>=1")),
    )
    assert ahead.proven
