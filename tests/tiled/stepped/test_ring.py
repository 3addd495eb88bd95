"""The ring in the stepped model: producers, consumers, hops, credits, masters, and rows that nobody takes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tiled.programs import program
from tests.tiled.stepped.bench import Times, run
from tilesim.tiled import stepped

CONSUME = "c: ring_consume tiles=2 write=[r:{0} @0x0+r*16]\n"
PRODUCE = "p: ring_produce tiles=1 read=[r:{0} @0x0+r*16] to=2"


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_a_producer_reads_a_row_and_sends_it_two_cycles_a_row(rows: int) -> None:
    times = run((CONSUME + PRODUCE).format(rows))
    start = times.began("tile0.ring_producer")
    assert times.lasted("tile0.ring_producer") == 2 * rows
    assert times.busy("ring.link1") == [start + 2 * k + 1 for k in range(rows)]


@pytest.mark.parametrize("hop", [1, 4])
def test_a_row_is_committed_in_the_cycle_in_which_it_stands_at_the_stop(hop: int) -> None:
    times = run((CONSUME + PRODUCE).format(2), ring__hop_cycles=hop)
    assert times.busy("tile1.ring_consumer") == [cycle + hop for cycle in times.busy("ring.link1")]


def test_a_multicast_is_taken_and_forwarded_in_one_cycle() -> None:
    lines = "c: ring_consume tiles=3 write=[r:3 @0x0+r*16]\ni: infeed source=host rows=3 to=3"
    head = (
        ".input name=x index=0 dtype=int8 shape=1,1,1,48 axes=0,1,2,3 element=i8 extent=1,1,48 "
        "blocks=[origin:0,0,0 extent:1,1,48 pixel_bytes:48 rows:3]"
    )
    made = program(lines, head=head, host__bytes_per_cycle=16)
    outcome = stepped.simulate(made, [np.zeros((1, 1, 1, 48), np.int8)])
    busy = {track: kinds.get("busy", 0) for track, kinds in outcome.units.items()}
    assert (busy["chip.ring.link0"], busy["chip.ring.link1"], busy["chip.ring.link2"]) == (3, 3, 0)
    assert busy["chip.tile0.ring_consumer"] == busy["chip.tile1.ring_consumer"] == 3


def test_data_memory_delivers_a_row_in_its_bytes_and_one_cycle_more() -> None:
    """16 bytes, 2 a cycle, and one to enter the ring: 9 cycles a row."""
    times = run("c: ring_consume tiles=1 write=[r:3 @0x0+r*16]\ni: infeed source=data rows=3 to=1")
    start = times.began("infeed")
    assert times.busy("ring.link0") == [start + 8, start + 17, start + 26]


def test_a_blocked_row_leaves_the_links_behind_it_without_credits() -> None:
    """The consumer comes 18 cycles late: of five rows two wait at its stop, two at the one before, one to be sent."""
    late = "n: narrow_to_wide tiles=2 read=[w:64 @0x0] write=[r:16 @0x0+r*16] produce=r\n"
    consume = "c: ring_consume tiles=2 write=[r:5 @0x400+r*16] wait=narrow_to_wide>=1\n"
    send = "i: infeed source=data rows=5 to=2"
    times = run(late + consume + send, data_memory__bytes_per_cycle=16)
    assert times.outcome.units["chip.infeed"]["stall:credit"] > 0
    assert times.outcome.units["chip.ring.link1"]["stall:credit"] > 0
    assert times.outcome.units["chip.tile1.ring_consumer"]["stall:flag"] > 0
    first = times.ended("tile1.narrow_to_wide")
    assert times.busy("tile1.ring_consumer") == [first, first + 1, first + 2, first + 3, first + 4]


def test_tails_are_counted_in_the_cycle_after_they_pass() -> None:
    """Tile 1 waits for the tail that tile 0 sends past it to the sink."""
    head = (
        ".output name=y index=0 dtype=int8 shape=1,1,1,16 axes=0,1,2,3 element=i8 extent=1,1,16 "
        "blocks=[origin:0,0,0 extent:1,1,16 pixel_bytes:16 rows:1]"
    )
    lines = (
        "o: outfeed output=0 rows=1\nq: ring_produce tiles=2 read=[r:1 @0x0] to=1 wait=ring_producer_a>=1\n"
        "p: ring_produce tiles=1 read=[r:1 @0x0] to=8\nc: ring_consume tiles=1 write=[r:1 @0x0]"
    )
    outcome = stepped.simulate(program(lines, head=head), [], trace=True)
    spans = {(track, what): (first, first + n) for track, first, n, kind, what in outcome.spans if kind == "busy"}
    passes_tile_1 = spans["chip.ring.link1", ""][0] + 1
    assert spans["chip.tile1.ring_producer", "q"][0] == passes_tile_1 + 1


def test_a_row_for_nobody_blocks_or_goes_round_and_either_hangs() -> None:
    lines = "i: infeed source=data rows=1 to=1"
    assert stepped.simulate(program(lines), []).hung == "run"
    assert stepped.simulate(program(lines, ring__no_consumer="circulate"), []).hung == "run"


def test_a_row_that_goes_round_is_taken_when_its_consumer_is_there() -> None:
    lines = "i: infeed source=data rows=1 to=1\nb: mesh_in tiles=1 side=north write=[w:9 @0x0] fill=1 produce=w\n"
    lines += "f: tile_fence tiles=1\nc: ring_consume tiles=1 write=[r:1 @0x0]"
    times = run(lines, ring__no_consumer="circulate")
    assert len(times.busy("ring.link4")) >= 1
    assert len(times.busy("tile0.ring_consumer")) == 1


def test_masters_of_one_receiver_collide() -> None:
    lines = (
        "i: infeed source=data rows=2 to=2\nc: ring_consume tiles=2 write=[r:4 @0x0+r*16]\n"
        "p: ring_produce tiles=1 read=[r:2 @0x0] to=2"
    )
    outcome = stepped.simulate(program(lines), [])
    assert (outcome.collided, outcome.hung, outcome.outputs) == (True, "", [])


def test_roles_that_share_a_buffer_take_turns() -> None:
    lines = (
        "c: ring_consume tiles=1 write=[r:1 @0x0]\np: ring_produce tiles=1 read=[r:1 @0x40] to=2\n"
        "d: ring_consume tiles=2 write=[r:1 @0x0]\ni: infeed source=data rows=1 to=1"
    )
    shared, split = run(lines, ring__queue="shared"), run(lines)
    assert shared.began("tile0.ring_producer") == shared.ended("tile0.ring_consumer")
    assert split.began("tile0.ring_producer") < split.ended("tile0.ring_consumer")


def test_a_consumer_is_posted_up_to_the_last_cycle_of_its_work() -> None:
    """Its second row completes two; a third one, which stands there meanwhile, finds nobody in the cycle after."""
    head = (
        ".input name=x index=0 dtype=int8 shape=1,1,1,48 axes=0,1,2,3 element=i8 extent=1,1,48 "
        "blocks=[origin:0,0,0 extent:1,1,48 pixel_bytes:48 rows:3]"
    )
    lines = (
        "c: ring_consume tiles=1 write=[r:2 @0x0+r*16] filter=[rows:2 first:3 keep:15 gap:1]\n"
        "i: infeed source=host rows=2 to=1\nj: infeed source=host rows=1 to=1\n"
        "b: mesh_in tiles=1 side=north write=[w:60 @0x0] fill=1 produce=w\nf: tile_fence tiles=1\n"
        "d: ring_consume tiles=1 write=[r:1 @0x40]"
    )
    chip = {"ring__byte_filter": True, "ring__no_consumer": "circulate", "host__bytes_per_cycle": 16}
    times = Times(stepped.simulate(program(lines, head=head, **chip), [np.zeros((1, 1, 1, 48), np.int8)], trace=True))
    taken = times.busy("tile0.ring_consumer", "c")
    assert taken[2] == taken[1] + 1
    assert times.busy("ring.link1")[0] == taken[2] + 1
    assert len(times.busy("tile0.ring_consumer", "d")) == 1


def test_who_waits_for_tails_has_patience_while_rows_go_round() -> None:
    """The tail that nobody takes comes by tile 1 once a lap: the second fill waits for the third one."""
    lines = (
        "f: mesh_in tiles=2 side=north write=[w:1 @0x0] fill=1 wait=ring_producer_a>=3\n"
        "g: tile_fence tiles=2 increment=1\ns: scalar_fence count=1\nc: ring_consume tiles=1 write=[r:1 @0x0]"
    )
    times = run("i: infeed source=data rows=1 to=1\n" + lines, ring__no_consumer="circulate")
    third = times.busy("ring.link1")[2] + 1  # when it stands at tile 1
    assert times.busy("tile1.mesh_in_north")[0] == third + 1
