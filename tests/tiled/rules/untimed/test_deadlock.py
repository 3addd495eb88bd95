"""Waits without an end, and what else can only hang: refuted by name, and the run hangs."""

import pytest

from tests.tiled.rules.lines import consume, proof, send
from tilesim import simulate
from tilesim.errors import HangError

HANGS = {
    "nothing is sent": (consume(3), "arrivals", "c3 (ring_consume of tile 3) waits for rows at tile 3, where 4 are"),
    "nothing is posted": (
        send("a", 0, 3),
        "arrivals",
        "a (ring_produce of tile 0) sends to tile 3, where 4 rows arrive",
    ),
    "too little is posted": (consume(3, 3) + send("a", 0, 3), "arrivals", "instructions are posted only for 3 of them"),
    "too many fences awaited": (
        "f: tile_fence tiles=0x3 increment=1\ns: scalar_fence count=3\n",
        "fences",
        "s (scalar_fence) waits for 3 tile fences, but those before it add only 2",
    ),
    "a turn that doesn't come": (
        consume(3) + consume(3, name="d3", row=12) + send("a", 1, 3, wait="ring_producer_a>=1") + send("b", 2, 3),
        "deadlock",
        "waits for a transfer to pass tile 1 before it, and none can: no other comes by, so that the turn never comes",
    ),
    "a turn behind oneself": (
        consume(3)
        + consume(3, name="d3", row=12)
        + consume(1, name="d1", wait="ring_producer_a>=2")
        + send("a", 0, 1, 3)
        + send("b", 1, 3, wait="ring_producer_a>=1"),
        "deadlock",
        "these wait in a circle: ",
    ),
    "a mesh link with one end": (
        "x: mesh_out tiles=0x1 side=east read=[w:1 @0x0]\n",
        "deadlock",
        "x (mesh_out of tile 0) waits for the other end of its mesh link, where no instruction is left",
    ),
    "a flag that nobody raises": (
        consume(3) + send("a", 0, 3, wait="ring_read_a>=1"),
        "deadlock",
        "a (ring_produce of tile 0) waits for ring_read_a to reach 1; it stands at 0, and nothing else raises it",
    ),
    "a fence of the tile that starts its broadcast": (
        consume(1) + "f: tile_fence tiles=0x2 idle=ring_consumer\nb: broadcast tiles=0x2\n" + send("a", 2, 1),
        "deadlock",
        "to send it; a (ring_produce of tile 2) waits for f (tile_fence of tile 1)",
    ),
    "rows that the host hasn't": (
        consume(0, 1) + "i: infeed source=host rows=1 to=0x1\n",
        "deadlock",
        "i (infeed) waits for rows of which the host has no more",
    ),
}


@pytest.mark.parametrize("what", HANGS)
def test_what_would_hang_is_refuted_by_name(what: str) -> None:
    lines, rule, words = HANGS[what]
    outcome = proof(lines)
    assert any(refutation.rule == rule and words in refutation.sentence for refutation in outcome.refutations), (
        outcome.refutations
    )
    with pytest.raises(HangError):
        simulate(outcome.program, [])
