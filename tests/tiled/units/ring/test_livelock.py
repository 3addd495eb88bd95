"""Rows that find nobody posted: they wait, or go round; and a run in which they do so for ever ends."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from tests.tiled.programs import program
from tests.tiled.units.bench import Bench, chip_of, line
from tests.tiled.units.test_ring_engines import ROW, consume, queue, random_rows, send
from tilesim import simulate
from tilesim.errors import CollisionError, HangError
from tilesim.tiled.isa.model.fields import ByteFilter, Engine, Flag, Watcher
from tilesim.tiled.isa.model.instructions import Classify, Infeed, Outfeed, RingProduce

CIRCULATE = {"no_consumer": "circulate"}
TWO_TO_ONE = """
take: ring_consume tiles=0x4 write=[r:4 @0x0+r*16]
one: ring_produce tiles=0x1 read=[r:4 @0x0+r*16] to=0x4
other: ring_produce tiles=0x2 read=[r:4 @0x0+r*16] to=0x4
"""
"""Oracle 12."""


def bench_of(*grid: int, **ring: object) -> Bench:
    return Bench(chip_of(*grid, ring={**CIRCULATE, **ring}))


def passes(bench: Bench, link: int) -> list[int]:
    """The cycles in which packets enter a link."""
    return [
        start + k for start, cycles, kind, _ in bench.spans(f"ring.link{link}") if kind == "busy" for k in range(cycles)
    ]


def test_two_masters_and_one_receiver_mix_and_what_is_left_goes_round() -> None:
    """Oracle 12: of 4 packets each, the first 4 are committed in their order of arrival; 4 go round for ever."""
    bench = bench_of(3, 1)
    bench.wide(0)[:, : 4 * ROW], bench.wide(1)[:, : 4 * ROW] = 10, 20
    for tile in (0, 1):
        bench.deliver(RingProduce(tiles=1, read=line(0, 4, ROW), to=0b100, label=f"master{tile}"), tile=tile)
    bench.deliver(consume(4, base=0), tile=2)
    bench.clock.run()
    took = [transfer.master for transfer in bench.chip.monitor.passages[3].taken["consume"]]
    assert set(took) == {1, 2}
    assert bench.wide(2)[0, : 4 * ROW : ROW].tolist() == [10 * node for node in took]
    afloat = Counter(each.transfer.master for each in bench.chip.afloat)
    assert afloat == Counter({1: 4, 2: 4}) - Counter(took)
    assert {each.header for each in bench.chip.afloat} == {0b100}


def test_going_round_is_a_hang_that_says_who_mixed_and_what_floats() -> None:
    subject = program(TWO_TO_ONE, grid__rows=3, ring__no_consumer="circulate")
    with pytest.raises(HangError) as caught:
        simulate(subject, [], rules="observe")
    kinds = [each["kind"] for each in caught.value.findings]
    assert kinds == ["meeting", "mixed payload", *["floating packet"] * 4]
    assert (
        str(caught.value).count("goes round for ever with bitmap 0x4, for tile 2, where nobody is posted; it is at")
        == 4
    )
    with pytest.raises(CollisionError):
        simulate(subject, [])


def test_under_stall_the_fifth_packet_blocks() -> None:
    with pytest.raises(HangError) as caught:
        simulate(program(TWO_TO_ONE, grid__rows=3), [], rules="observe")
    assert "chip.ring.stop3: a packet from one with bitmap 0x4 waits for a ring consumer to be posted" in str(
        caught.value
    )
    assert [each["kind"] for each in caught.value.findings] == ["meeting", "mixed payload"]


@pytest.mark.parametrize("hop", [1, 2])
@pytest.mark.parametrize("posted", [3, 40, 41, 77])
def test_a_packet_comes_by_once_a_lap_until_somebody_is_posted(hop: int, posted: int) -> None:
    """Through classifier, sink and source again, a lap every 5 hops."""
    bench = bench_of(2, 1, hop_cycles=hop)
    rows = random_rows(bench, 1)
    send(bench, rows, 0b10, 0)
    bench.deliver(consume(1), tile=1, after=posted)
    bench.clock.run()
    first, lap = 2 * hop, 5 * hop
    taken = next(cycle for cycle in range(first, 1000, lap) if cycle >= posted)
    assert bench.retired == {"consume": taken + 1}
    assert passes(bench, 3) == list(range(3 * hop, taken, lap))
    assert np.array_equal(bench.wide(1)[:, 0x400 : 0x400 + ROW], rows[0])


def test_a_consumer_that_is_posted_but_waits_for_a_flag_stalls_the_row() -> None:
    bench = bench_of(2, 1)
    bench.deliver(consume(1, wait=(Watcher(Flag.AVDATA, 1),)))
    send(bench, random_rows(bench, 1), 0b01, 0)
    bench.clock.timeout(30).callbacks.append(lambda _: bench.chip.tiles[0].flags.raise_by(Flag.AVDATA))
    bench.clock.run()
    assert bench.retired == {"consume": 31}
    assert passes(bench, 1) == []


def test_a_posted_outfeed_that_is_at_work_stalls_the_row() -> None:
    """The first row is on the host's link for 32 cycles."""
    bench = bench_of(1, 1)
    queue(bench, bench.chip.outfeed.buffer, Outfeed(output=0, rows=2, label="result"))
    send(bench, random_rows(bench, 2), 0b100, 0)
    bench.clock.run()
    assert len(bench.chip.host_outfeed.received[0]) == 2
    assert passes(bench, 3) == []


def test_a_multicast_keeps_the_bit_of_the_one_that_is_not_posted() -> None:
    bench = bench_of(2, 1)
    bench.deliver(consume(1), tile=1)
    send(bench, random_rows(bench, 1), 0b11, 0)
    bench.deliver(consume(1), tile=0, after=20)
    bench.clock.run()
    assert bench.retired["consume"] == 21 + 1
    assert passes(bench, 2) == [2, 7, 12, 17]  # with one bit left


def test_each_lap_of_a_tail_counts() -> None:
    """A master behind three tails gets its turn from one that passes its stop three times."""
    bench = bench_of(2, 1)
    turn = (Watcher(Flag.RING_PRODUCER_A, 3),)
    bench.deliver(RingProduce(tiles=1, read=line(0, 1, ROW), to=0b10, wait=turn, label="third"))
    send(bench, random_rows(bench, 1), 0b10, 0)
    bench.clock.run()
    assert bench.retired == {"third": 1 + 2 * 5 + 1 + 2}
    assert len(bench.chip.afloat) == 1  # the test's own packets are nobody's transfer


def test_what_is_still_to_come_is_waited_for() -> None:
    """Whole laps without any change are no hang while a unit is at work, or held back."""
    bench = Bench(chip_of(2, 1, ring=CIRCULATE, data_memory={"bytes_per_cycle": 1}))
    send(bench, random_rows(bench, 1), 0b10, 0)
    bench.deliver(consume(1), tile=1, after=700)
    queue(bench, bench.chip.infeed.buffer, Infeed(source="data", rows=2, to=0b01, label="slow"))
    bench.deliver(consume(2))
    bench.clock.run()
    assert bench.retired["consume"] == 702 + 1
    assert bench.chip.afloat == []


def test_a_master_that_never_finds_a_gap_starves() -> None:
    """Five stops, a row every cycle on each link: no room for the sixth, and all go round."""
    bench = bench_of(2, 1)
    bench.deliver(RingProduce(tiles=1, read=line(0, 9, ROW), to=0b10, label="flood"))
    bench.clock.run()
    assert [each.row for each in bench.chip.afloat] == [0, 1, 2, 3, 4]
    unit = bench.chip.tiles[0].engines[Engine.RING_PRODUCER].unit
    assert unit.waiting is not None
    assert unit.waiting.describe() == "the ring to take its packet"


def test_the_end_comes_soon() -> None:
    """A lap to look, and a lap to see the same again."""
    bench = bench_of(2, 1)
    send(bench, random_rows(bench, 1), 0b10, 10)
    bench.clock.run()
    assert bench.clock.cycle == 12 + 2 * 5


@pytest.mark.parametrize(("laps", "ends"), [(5, True), (1_000_000_000, False)])
@pytest.mark.parametrize(
    "waiter", ["ring_produce tiles=0x4 read=[r:1 @0x0] to=0x2", "infeed source=data rows=1 to=0x2"]
)
def test_who_counts_the_laps_of_a_tail_is_awaited_for_a_while(laps: int, ends: bool, waiter: str) -> None:
    """The one tail goes round, past tile 2 and the source, and is counted at each lap."""
    turn = f"wait=ring_producer_a>={laps}" if waiter.startswith("ring") else f"address=0 turn={laps}"
    lines = f"lost: ring_produce tiles=0x1 read=[r:1 @0x0] to=0x2\nsend: {waiter} {turn}"
    subject = program(lines, grid__rows=3, ring__no_consumer="circulate")
    with pytest.raises(HangError) as caught:
        simulate(subject, [], rules="observe")
    assert ("in send has waited since" in str(caught.value)) != ends
    assert "row 0 of lost from tile 0 goes round for ever with bitmap 0x2" in str(caught.value)


def test_a_packet_that_stops_going_round_is_a_hang_like_any_other() -> None:
    """It meets a consumer in the end, who waits for ever."""
    lines = """
send: ring_produce tiles=0x1 read=[r:1 @0x0] to=0x2
take: ring_consume tiles=0x2 write=[r:1 @0x0] wait=avdata>=1
"""
    with pytest.raises(HangError) as caught:
        simulate(program(lines, ring__no_consumer="circulate"), [], holds={"take": 30})
    assert "a packet from send with bitmap 0x2 waits for its ring consumer, which waits for flag avdata" in str(
        caught.value
    )
    assert "goes round for ever" not in str(caught.value)


def test_a_row_that_waits_for_the_end_of_an_outfeed_goes_past_then() -> None:
    """It is there in cycle 4, a cycle after the one that is on the host's link for the next 32."""
    bench = bench_of(1, 1)
    queue(bench, bench.chip.outfeed.buffer, Outfeed(output=0, rows=1, label="result"))
    send(bench, random_rows(bench, 2), 0b100, 0)
    bench.clock.run()
    assert len(bench.chip.host_outfeed.received[0]) == 1
    assert passes(bench, 3)[0] == 3 + 1 + 32


def test_a_row_that_waits_for_the_end_of_a_classifier_goes_past_then() -> None:
    """One that it has no use for, and nobody else; 8 elements take 8 cycles, and their row one."""
    bench = bench_of(1, 1)
    scaling = (*np.array([0.1, 1 / 256], np.float32).view(np.int32).tolist(), -128, -128, 127)
    op = Classify(rows=1, elements=8, function="softmax", scaling=scaling, label="softmax")
    queue(bench, bench.chip.classifier.buffer, op)
    send(bench, random_rows(bench, 2), 0b10, 0)
    bench.clock.run()
    assert passes(bench, 2)[:2] == [2 + 1 + 8, 2 + 1 + 8 + 1]


def test_a_row_that_waits_for_the_end_of_a_consumer_goes_past_then() -> None:
    """Its last row completed two, so that another commit comes in the cycle after, in which none is taken."""
    bench = Bench(chip_of(2, 1, ring={**CIRCULATE, "byte_filter": True}))
    bench.deliver(consume(2, filter=ByteFilter(2, 128, 320, 9999)))
    send(bench, random_rows(bench, 3), 0b01, 0)
    bench.clock.run()
    assert bench.retired == {"consume": 1 + 3}
    assert passes(bench, 1)[0] == 1 + 3


@pytest.mark.parametrize("waits", [True, False])
def test_a_link_waits_for_a_credit_until_somebody_is_posted(waits: bool) -> None:
    """Tile 1 is full with three rows for it; the fourth is for tile 0 as well, which is posted in cycle 9, goes on with
    what it has from then on, and takes it in cycle 20, or waits for a credit as before.
    """
    bench = bench_of(2, 1)
    bench.deliver(consume(9, wait=(Watcher(Flag.AVDATA, 1),)), tile=1)
    flags = bench.chip.tiles[1].flags
    bench.clock.timeout(30).callbacks.append(lambda _: flags.raise_by(Flag.AVDATA))
    send(bench, random_rows(bench, 2), 0b10, 0)
    send(bench, random_rows(bench, 1), 0b11, 2)
    held = (Watcher(Flag.AVDATA, 1),) if waits else ()
    bench.deliver(consume(1, wait=held), tile=0, after=9)
    bench.clock.timeout(20).callbacks.append(lambda _: bench.chip.tiles[0].flags.raise_by(Flag.AVDATA))
    bench.clock.run()
    assert passes(bench, 1) == [1, 2, 31]
    assert bench.unit("ring.link1")["stall:credit"] == (31 - 20 if waits else 31 - 9) + 9 - 3
