"""The order of issue against the depth of the buffers, and rows that have to stand on the ring."""

from contextlib import nullcontext

import pytest

import tilesim
from tests.tiled.rules.lines import consume, fence, proof, send

LATER = consume(2, 5) + send("z", 0, 1, rows=1) + consume(1, 1)
"""Tile 1's five masters wait for a row that is issued behind them; the buffer holds four, and one is in hand."""


@pytest.mark.parametrize(("masters", "stuck"), [(5, False), (6, True)])
def test_a_full_buffer_must_not_wait_for_what_is_issued_behind_it(masters: int, stuck: bool) -> None:
    first = "".join(send(f"p{k}", 1, 2, rows=1, wait="ring_read_a>=1") for k in range(masters))
    outcome = proof(first, LATER.replace("r:5", f"r:{masters}"))
    sentences = [refutation.sentence for refutation in outcome.refutations if refutation.rule == "buffers"]
    assert bool(sentences) is stuck
    if stuck:
        assert sentences[0] == (
            "p5 (ring_produce) can't be issued: the buffer of 4 instructions is full in which p0 (ring_produce of tile "
            "1) stands first"
        )
        assert sentences[1].startswith("these wait in a circle: p0 (ring_produce of tile 1) waits for ring_read_a")


@pytest.mark.parametrize(("parts", "stuck"), [(5, False), (6, True)])
def test_a_record_comes_part_by_part(parts: int, stuck: bool) -> None:
    """What is for a full buffer stands at the stop, those before it are in theirs: as many as without a record go."""
    first = "".join(send(f"p{k}", 1, 2, rows=1, wait="ring_read_a>=1") for k in range(parts))
    record = f"r: record tiles=0x2 parts={parts}\n"
    outcome = proof(record + first, LATER.replace("r:5", f"r:{parts}"), instruction_bus__record_words=2)
    sentences = [refutation.sentence for refutation in outcome.refutations if refutation.rule == "buffers"]
    assert bool(sentences) is stuck
    assert not stuck or sentences[0].startswith("p5 (ring_produce) can't be issued")


def test_what_a_tile_holds_for_others_holds_the_bus_behind_it() -> None:
    """Tile 0 gets its row from tile 2, whose instruction stands behind the one that waits for the row at tile 0."""
    held = "f: tile_fence tiles=0x1 idle=ring_consumer\nb: broadcast tiles=0x1\n" + send("a", 1, 3, rows=1)
    stuck = proof(consume(0, 1), consume(3, 1), held, send("z", 2, 0, rows=1))
    [refutation] = stuck.refutations
    assert refutation.rule == "buffers"
    assert refutation.sentence.endswith("z (ring_produce of tile 2) waits for f (tile_fence of tile 0)")
    assert proof(consume(0, 1), consume(3, 1), send("z", 2, 0, rows=1), held).proven


@pytest.mark.parametrize(("rows", "hangs"), [(1, False), (12, True)])
def test_rows_that_nobody_takes_until_their_master_is_through_count_on_room_on_the_ring(rows: int, hangs: bool) -> None:
    """A row has room on the ring of this chip, twelve have not; a proof counts on none."""
    sent, taken = send("a", 0, 1, rows=rows), consume(1, rows)
    stuck = proof(sent, fence("ring_producer", 0), taken)
    [refutation] = stuck.refutations
    assert refutation.rule == "buffers"
    assert refutation.sentence == (
        "these wait in a circle: a (ring_produce of tile 0) waits for its rows to be taken at tile 1, whatever room "
        "the ring has; c1 (ring_consume of tile 1) waits for s (scalar_fence)"
    )
    with pytest.raises(tilesim.HangError, match="waits for s") if hangs else nullcontext():
        tilesim.simulate(stuck.program, [])
    assert proof(taken, sent, fence("ring_producer", 0)).proven
