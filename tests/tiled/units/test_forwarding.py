"""Rows that the controller takes off the ring and sends round again: when, how fast, and what holds them up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilesim
from tests.tiled.programs import program
from tests.tiled.units.bench import Bench, chip_of, line
from tilesim.errors import HangError
from tilesim.tiled.isa.checks.program import faults
from tilesim.tiled.isa.model.instructions import Infeed, Instruction, Outfeed, RingConsume, RingProduce
from tilesim.tiled.rules.proof import proof_of
from tilesim.tiled.units.ring.ring import Packet

ROW, TILES = 256, 2
SINK = 1 << TILES + 1
FROM, TO = 0, 0x8000


def bench(hop: int = 1, **keys: Any) -> Bench:
    made = Bench(chip_of(1, TILES, ring={"hop_cycles": hop}, **keys), samples=2)
    made.randomise()
    return made


def send(rows: int, label: str = "send", **extra: Any) -> RingProduce:
    return RingProduce(tiles=1, read=line(FROM, rows, ROW), to=SINK, label=label, **extra)


def take(rows: int, base: int = TO, **extra: Any) -> RingConsume:
    return RingConsume(tiles=2, write=line(base, rows, ROW), label="take", **extra)


def forward(rows: int, to: int = 2, **extra: Any) -> Infeed:
    return Infeed(source="ring", rows=rows, to=to, label="forward", **extra)


def post(made: Bench, *ops: Instruction) -> None:
    """Into the controller's own buffers, without the sequencer."""
    for op in ops:
        queues = [made.chip.outfeed.buffer] if isinstance(op, Outfeed) else [made.chip.infeed.buffer]
        if isinstance(op, Infeed) and op.source == "ring":
            queues.append(made.chip.outfeed.buffer)
        for queue in queues:
            queue.room()
            queue.put(op)


@pytest.mark.parametrize("rows", [1, 5])
@pytest.mark.parametrize("hop", [1, 2, 4])
def test_a_row_leaves_the_source_in_the_cycle_after_the_sink_took_it(hop: int, rows: int) -> None:
    """Tile 0 is node 1, the sink node 4: 3 hops; then 2 from the source to tile 1. A row every other cycle."""
    made = bench(hop)
    post(made, forward(rows))
    made.deliver(take(rows), tile=1)
    made.deliver(send(rows))
    made.clock.run()
    taken = 2 * rows - 1 + 3 * hop
    assert made.retired["take"] == taken + 1 + 2 * hop + 1
    [first, *_] = made.spans("ring.link0")
    assert first[0] == 1 + 3 * hop + 1
    assert np.array_equal(made.wide(1)[:, TO : TO + rows * ROW], made.wide()[:, FROM : FROM + rows * ROW])


def test_rows_follow_one_another_in_each_cycle() -> None:
    """From the classifier's place on the ring, rows come one a cycle; and they leave the source like that."""
    made, rows = bench(), 6
    stop = made.chip.stops[TILES + 1]
    post(made, forward(rows))
    made.deliver(take(rows), tile=1)
    for k in range(rows):
        row = np.full((2, ROW), k + 1, np.uint8)
        stop.outgoing.append(Packet(SINK, row, k == rows - 1, "burst"))
        stop.poke(k)
    made.clock.run()
    assert [each[:3] for each in made.spans("ring.link0")] == [(2, rows, "busy")]
    assert made.retired["take"] == 2 + 2 + rows
    assert made.wide(1)[0, TO : TO + rows * ROW : ROW].tolist() == [1, 2, 3, 4, 5, 6]


def test_the_bitmap_is_the_infeed_s() -> None:
    """The next rows go on to tiles 0 and 1, then one to each."""
    made = bench()
    both = RingConsume(tiles=3, write=line(TO, 2, ROW), label="both")
    for tile in (0, 1):
        made.deliver(both, tile=tile)
    post(made, forward(1, to=3), forward(1, to=1, transfers=2))
    made.deliver(send(3))
    made.clock.run()
    sent = made.wide()[:, FROM : FROM + 3 * ROW].reshape(2, 3, ROW)
    for tile in (0, 1):
        got = made.wide(tile)[:, TO : TO + 2 * ROW].reshape(2, 2, ROW)
        assert np.array_equal(got, sent[:, [0, 1 + tile]])


def test_outfeeds_and_forwards_take_rows_in_their_order() -> None:
    made = bench()
    made.deliver(take(1), tile=1)
    post(made, Outfeed(output=0, rows=1, label="before"), forward(1), Outfeed(output=0, rows=1, label="after"))
    made.deliver(send(3))
    made.clock.run()
    sent = made.wide()[:, FROM : FROM + 3 * ROW].reshape(2, 3, ROW)
    assert np.array_equal(made.chip.host_outfeed.output(0).reshape(2, 2, ROW), sent[:, [0, 2]])
    assert np.array_equal(made.wide(1)[:, TO : TO + ROW], sent[:, 1])


def test_an_infeed_that_is_busy_holds_the_sink_up() -> None:
    """Three rows of data memory take 128 cycles each; two forwarded rows wait meanwhile, a third is in hand."""
    made = bench()
    made.deliver(take(3 + 5), tile=1)
    post(made, Infeed(source="data", rows=3, to=2, label="data"), forward(5))
    made.deliver(send(5))
    made.clock.run(until=300)
    assert len(made.chip.infeed.forwarded) == 2
    assert made.chip.outfeed.unit.waiting is not None
    assert made.chip.outfeed.unit.waiting.describe() == "the infeed to take a row that it forwards"
    assert len(list(made.chip.stops[-1].packets)) == 2
    made.clock.run()
    assert made.retired["take"] > 3 * 129
    sent = made.wide()[:, FROM : FROM + 5 * ROW]
    assert np.array_equal(made.wide(1)[:, TO + 3 * ROW : TO + 8 * ROW], sent)


def test_a_forwarded_row_enters_the_ring_twice() -> None:
    made = bench()
    made.run(take(2), forward(2), send(2))
    found = made.bytes_by_bus()
    assert found["ring"] == {"entered": 4 * ROW, "carried": 2 * (3 + 2) * ROW}
    assert found["host"] == {"entered": 0, "carried": 0}


HOME = """
take: ring_consume tiles=2 write=[r:2 @0x8000+r*256]
again: infeed source=ring rows=2 to=2
send: ring_produce tiles=1 read=[r:2 @0x0+r*256] to=8
"""


def test_a_program_forwards() -> None:
    made = program(HOME, "edge-1x1", grid__columns=2)
    assert faults(made) == []
    assert tilesim.simulate(made, []).statistics["bytes"]["ring"]["entered"] == 4 * ROW


def test_a_row_that_never_comes_is_named() -> None:
    with pytest.raises(HangError) as found:
        tilesim.simulate(program(HOME.replace("send:", ";"), "edge-1x1", grid__columns=2), [])
    report = str(found.value)
    assert "chip.infeed in again has waited" in report
    assert "for a row to forward" in report


def test_other_sources_are_refused() -> None:
    [fault] = faults(program(HOME.replace("source=ring", "source=rnig"), "edge-1x1", grid__columns=2))
    assert "source must be where the rows are, not 'rnig'; did you mean 'ring'?" in fault


BACK = """
take: ring_consume tiles=1 write=[r:2 @0x8000+r*256]
again: infeed source=ring rows=2 to=1
send: ring_produce tiles=2 read=[r:2 @0x0+r*256] to=8
"""


def test_the_static_check_knows_who_takes_and_who_sends() -> None:
    """From tile 1 to the sink and from the source to tile 0 are two stretches of the ring."""
    found = proof_of(program(BACK, "edge-1x1", grid__columns=2))
    assert (found.refutations, found.transfers) == ((), 2)
    stuck = proof_of(program(BACK.replace("send:", ";"), "edge-1x1", grid__columns=2))
    assert [each.sentence for each in stuck.refutations] == [
        "again (infeed) waits for rows at sink, where 2 are expected in all, but no row arrives",
        "again (infeed) waits for row 0 of 2, and nothing sends it",
    ]


def test_what_is_forwarded_past_its_sender_may_meet_the_rest() -> None:
    """The first row comes round to tile 0 while it may still have the second one to send."""
    [found] = proof_of(program(HOME, "edge-1x1", grid__columns=2)).refutations
    assert found.sentence.startswith(
        "send (ring_produce of tile 0), on tiles 0-1, classifier, sink, and again (infeed)"
    )
    one = HOME.replace("rows=2", "rows=1").replace("r:2", "r:1")
    assert proof_of(program(one, "edge-1x1", grid__columns=2)).proven
