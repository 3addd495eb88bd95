"""Words over the mesh: which bytes arrive, in exactly which cycle, and who waits for whom."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilesim
from tests.tiled.programs import program
from tests.tiled.test_determinism import disorder
from tests.tiled.units.bench import Bench, at, chip_of, line, nest
from tilesim.errors import HangError
from tilesim.tiled.isa.checks.program import faults
from tilesim.tiled.isa.model.fields import OPPOSITE, Flag, Side, Traversal, Watcher, neighbour
from tilesim.tiled.isa.model.instructions import MeshIn, MeshOut
from tilesim.tiled.isa.model.program import Block, HostTensor, Program
from tilesim.tiled.topology import Grid

WORD = 4
FROM, TO = 0x100, 0x800


def out(words: int, side: Side = Side.EAST, **extra: Any) -> MeshOut:
    return MeshOut(tiles=1, side=side, **{"read": line(FROM, words, WORD), "label": "out", **extra})


def into(words: int, side: Side = Side.WEST, base: int = TO, **extra: Any) -> MeshIn:
    return MeshIn(tiles=1, side=side, **{"write": line(base, words, WORD), "label": "in", **extra})


def row_of(tiles: int, **mesh: int) -> Bench:
    """Tiles in a row, with random bytes in the first."""
    bench = Bench(chip_of(1, tiles, mesh=mesh), samples=2)
    bench.randomise()
    return bench


def check_words(bench: Bench, words: int, sender: int = 0, receiver: int = 1, base: int = TO) -> None:
    size = words * WORD
    sent, got = bench.narrow(sender)[:, FROM : FROM + size], bench.narrow(receiver)[:, base : base + size]
    assert np.array_equal(sent, got)


@pytest.mark.parametrize("words", [1, 7, 40])
@pytest.mark.parametrize("credit", [1, 2, 4, 9])
@pytest.mark.parametrize("hop", [1, 2, 5])
def test_both_ends_retire_in_the_cycle_of_the_formula(hop: int, credit: int, words: int) -> None:
    bench = row_of(2, hop_cycles=hop, credits=credit)
    bench.deliver(out(words))
    bench.deliver(into(words), tile=1)
    bench.clock.run()
    last = (words - 1) // credit * max(credit, hop + 1) + (words - 1) % credit
    assert bench.retired == {"out": last + hop + 1, "in": last + hop + 1}
    assert last + hop + 1 == words + hop or credit <= hop
    check_words(bench, words)
    assert bench.narrow(1)[:, TO + words * WORD :].max() == 0
    assert [bench.unit(track)["busy"] for track in ("tile0.mesh_out_east", "tile1.mesh_in_west")] == [words, words]
    [link] = [link.unit for link in bench.chip.mesh if link.unit.bytes]
    assert (link.track, link.bytes, link.cycles["busy"]) == ("chip.mesh.tile0.east", words * WORD, words)
    assert link.instruction == "out"


@pytest.mark.parametrize(("hop", "credit", "every"), [(1, 1, 2), (2, 1, 3), (3, 2, 2), (1, 2, 1), (5, 6, 1)])
def test_credits_set_the_peak_rate(hop: int, credit: int, every: int) -> None:
    """One credit: a word every hop + 1 cycles; hop + 1 credits: a word a cycle."""
    bench = row_of(2, hop_cycles=hop, credits=credit)
    bench.deliver(out(600))
    bench.deliver(into(600), tile=1)
    bench.clock.run()
    assert bench.retired["in"] == pytest.approx(600 * every, abs=hop + 1)


def test_a_late_receiver_finds_as_many_words_as_there_are_credits() -> None:
    bench = row_of(2, credits=4)
    bench.deliver(out(20))
    bench.deliver(into(20), tile=1, after=100)
    bench.clock.run(until=99)
    assert [bench.clock.cycle - 99, bench.narrow(1).max()] == [0, 0]
    bench.clock.run()
    assert bench.retired == {"out": 120, "in": 120}
    full = "stall:credit"
    spans = [(0, 4, "busy", "out"), (4, 97, full, "out"), (101, 16, "busy", "out"), (117, 3, full, "out")]
    assert bench.spans("mesh.tile0.east") == spans
    assert bench.unit("tile0.mesh_out_east") == {"busy": 20, "stall:credit": 97 + 3}
    assert bench.unit("tile1.mesh_in_west") == {"idle": 100, "busy": 20}
    check_words(bench, 20)


def test_a_late_sender_keeps_the_receiver_waiting() -> None:
    bench = row_of(2, hop_cycles=3)
    bench.deliver(into(20), tile=1)
    bench.deliver(out(20), after=50)
    bench.clock.run()
    assert bench.retired == {"out": 73, "in": 73}
    assert bench.unit("tile1.mesh_in_west") == {"stall:fifo": 50 + 3, "busy": 20}
    check_words(bench, 20)


def raise_at(bench: Bench, tile: int, flag: Flag, *cycles: int) -> None:
    for cycle in cycles:
        rise = bench.clock.timeout(cycle)
        rise.callbacks.append(lambda _: bench.chip.tiles[tile].flags.raise_by(flag))


def test_an_end_that_is_held_as_a_whole_takes_no_part() -> None:
    """Not even words for the credits leave before the sender's flag; nor are any taken before the receiver's."""
    bench = row_of(2)
    held = (Watcher(Flag.AVDATA, 1),)
    bench.deliver(out(8, wait=held))
    bench.deliver(into(8, wait=held), tile=1)
    raise_at(bench, 0, Flag.AVDATA, 30)
    raise_at(bench, 1, Flag.AVDATA, 90)
    bench.clock.run()
    full = "stall:credit"
    spans = [(30, 4, "busy", "out"), (34, 57, full, "out"), (91, 4, "busy", "out"), (95, 3, full, "out")]
    assert bench.spans("mesh.tile0.east") == spans
    assert bench.unit("tile1.mesh_in_west") == {"stall:flag": 90, "busy": 8}
    assert bench.retired == {"out": 98, "in": 98}


def test_flags_hold_the_loops_of_either_end() -> None:
    """Three rows of ten words: the sender waits for each of its rows, the receiver too before it takes the second."""
    bench = row_of(2)
    rows = nest(r=3, w=10)
    wait = (Watcher(Flag.AVDATA, 1, "r", 1),)
    bench.deliver(out(30, read=Traversal(rows, at(FROM, r=40, w=WORD)), wait=wait))
    bench.deliver(into(30, write=Traversal(rows, at(TO, r=40, w=WORD)), wait=wait), tile=1)
    raise_at(bench, 0, Flag.AVDATA, 5, 20, 100)
    raise_at(bench, 1, Flag.AVDATA, 0, 60, 60)
    bench.clock.run()
    assert bench.spans("tile0.mesh_out_east") == [
        (0, 5, "stall:flag", "out"),
        (5, 10, "busy", "out"),
        (15, 5, "stall:flag", "out"),
        (20, 4, "busy", "out"),
        (24, 37, "stall:credit", "out"),
        (61, 6, "busy", "out"),
        (67, 33, "stall:flag", "out"),
        (100, 10, "busy", "out"),
        (110, 1, "stall:credit", "out"),
    ]
    assert [each[:3] for each in bench.spans("tile1.mesh_in_west")] == [
        (0, 6, "stall:fifo"),
        (6, 10, "busy"),
        (16, 44, "stall:flag"),
        (60, 10, "busy"),
        (70, 31, "stall:fifo"),
        (101, 10, "busy"),
    ]
    check_words(bench, 30)


def test_flags_rise_at_both_ends_as_words_get_written() -> None:
    """What is relayed word by word follows one hop and one cycle behind; the sender's buffer is free row by row."""
    bench = row_of(3)
    rows = nest(r=2, w=6)
    bench.deliver(out(12, read=Traversal(rows, at(FROM, r=24, w=WORD)), produce="w"))
    each = Traversal(nest(r=12, each=1), at(FROM, r=WORD))
    bench.deliver(into(12, write=each, produce="each"), tile=1)
    relay = out(12, label="relay", wait=(Watcher(Flag.MESH_WEST_IN, 1, "r", 1),))
    bench.deliver(relay, tile=1)
    bench.deliver(into(12, label="end"), tile=2)
    fill = MeshIn(tiles=1, side=Side.WEST, write=line(0, 1, WORD), fill=0, label="freed")
    bench.deliver(replace(fill, wait=(Watcher(Flag.MESH_EAST_OUT, 1),)))
    bench.clock.run()
    assert bench.retired == {"out": 13, "in": 13, "relay": 15, "end": 15, "freed": 7 + 2}
    assert bench.chip.tiles[0].flags.count(Flag.MESH_EAST_OUT) == 2
    assert bench.chip.tiles[1].flags.count(Flag.MESH_WEST_IN) == 12
    check_words(bench, 12, receiver=2)


def test_transfers_that_leave_a_tile_share_its_read_port_by_priority() -> None:
    """East goes before west."""
    bench = row_of(3)
    for side, tile in ((Side.EAST, 2), (Side.WEST, 0)):
        bench.deliver(out(10, side, label=f"to {side}"), tile=1)
        bench.deliver(into(10, OPPOSITE[side], label=f"at {tile}"), tile=tile)
    bench.clock.run()
    assert bench.retired == {"to east": 11, "at 2": 11, "to west": 21, "at 0": 21}
    assert bench.unit("tile1.mesh_out_west") == {"stall:port": 10, "busy": 10, "stall:credit": 1}


def test_transfers_that_arrive_at_a_tile_share_its_write_port_by_priority() -> None:
    """From the east goes before from the west, whose words wait on the link; the credits run out meanwhile."""
    bench = row_of(3)
    for side, tile in ((Side.EAST, 2), (Side.WEST, 0)):
        bench.deliver(out(10, OPPOSITE[side], label=f"from {tile}"), tile=tile)
        bench.deliver(into(10, side, base=TO + tile * 0x100, label=f"at {side}"), tile=1)
    bench.clock.run()
    assert bench.retired == {"from 2": 11, "at east": 11, "from 0": 21, "at west": 21}
    assert bench.unit("tile1.mesh_in_west") == {"stall:fifo": 1, "stall:port": 10, "busy": 10}
    assert bench.unit("tile0.mesh_out_east")["stall:credit"] == 11
    check_words(bench, 10)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=5), st.integers(1, 4), st.integers(1, 4))
def test_transfers_of_a_link_meet_in_order(sizes: list[int], hop: int, credit: int) -> None:
    """Fills in between, and whoever comes first, don't matter."""
    bench = row_of(2, hop_cycles=hop, credits=credit)
    starts = [0, *np.cumsum(sizes).tolist()]
    for k, (first, end) in enumerate(pairwise(starts)):
        words = end - first
        bench.deliver(out(words, read=line(FROM + first * WORD, words, WORD)))
        bench.deliver(into(3, fill=k, base=0), tile=1, after=2 * k)
        bench.deliver(into(words, base=TO + first * WORD), tile=1, after=100 * k)
    bench.clock.run()
    check_words(bench, starts[-1])


SEND = "a: mesh_out tiles=0x1 side=east read=[w:8 @0x0+w*4]"
TAKE = "b: mesh_in tiles=0x2 side=west write=[w:8 @0x0+w*4]"
SENDER, RECEIVER = "chip.tile0.mesh_out_east", "chip.tile1.mesh_in_west"
TO_TAKE, WORDS_FROM = f"for {RECEIVER} to take its words;", f"for words from {SENDER};"
FOR_A_FLAG = "for flag avdata to reach 1; it stands at 0, and no instruction in the tile can still raise it"


@pytest.mark.parametrize(
    ("run", "sender_waits", "receiver_waits"),
    [
        (SEND, f"{TO_TAKE} it has no instruction in hand", ""),
        (TAKE, "", f"{WORDS_FROM} it has no instruction in hand"),
        (f"{SEND}\n{TAKE} wait=avdata>=1", f"{TO_TAKE} it is in b", FOR_A_FLAG),
        (f"{SEND} wait=avdata>=1\n{TAKE}", FOR_A_FLAG, f"{WORDS_FROM} it is in a"),
        (f"{SEND} wait=avdata@w>=0+1\n{TAKE}", FOR_A_FLAG, f"{WORDS_FROM} it is in a"),
        (f"{SEND}\n{TAKE} wait=avdata@w>=0+1", f"{TO_TAKE} it is in b", FOR_A_FLAG),
    ],
)
def test_a_hang_says_who_is_missing(run: str, sender_waits: str, receiver_waits: str) -> None:
    with pytest.raises(HangError) as found:
        tilesim.simulate(program(run, "edge-1x1", grid__columns=2), [])
    report = re.sub(" has waited since cycle [0-9]+", "", str(found.value)).splitlines()
    lines = [line for line in report if line.startswith("chip.")]
    expected = {f"{SENDER} in a": sender_waits, f"{RECEIVER} in b": receiver_waits}
    assert lines == [f"{unit} {what}" for unit, what in sorted(expected.items()) if what]


def test_oracle_19_neighbours_of_an_n_by_2_chip() -> None:
    """N = 5: four corners with two neighbours, six edge tiles with three; words to nobody are refused."""
    grid = Grid(rows=5, columns=2)
    counts = [sum(neighbour(grid, tile, side) is not None for side in Side) for tile in range(10)]
    assert (counts.count(2), counts.count(3)) == (4, 6)
    chip = Bench(chip_of(5, 2)).chip
    assert [len(tile.mesh_out) for tile in chip.tiles] == counts
    joined = {(link.sender, link.receiver) for link in chip.mesh}
    assert len(joined) == sum(counts) == 26
    [fault] = faults(program("mesh_out tiles=0x2 side=east read=[w:1 @0x0+w*4]", "fig2-5x2"))
    assert fault.endswith("side must be where every tile has a neighbour; tile 1 has none to the east")


TO_NARROW = "wide_to_narrow read=[r:1 @0x0+r*64] wait=ring_read_a>=1 produce=r"


def gather() -> Program:
    """Row t of 64 bytes goes to tile t, at 64 * t; then west, then north, each tile sends on all that it has."""
    to_wide = "narrow_to_wide tiles=0x1 read=[w:256 @0x0+w*4] write=[r:16 @0x400+r*64] produce=r"
    lines = [
        "ring_consume tiles=0xffff write=[r:1 @0x0+r*64] produce=r",
        "infeed source=host rows=1 to=0x1 transfers=16",
        *(f"{TO_NARROW} tiles={1 << t:#x} write=[w:16 @{64 * t}+w*4]" for t in range(16)),
        *(
            step
            for row in range(4)
            for column in (3, 2, 1)
            for step in hop(4 * row + column, "west", 16 * (4 - column), *["mesh_east_in"] * (column < 3))
        ),
        *(
            step
            for row in (3, 2, 1)
            for step in hop(4 * row, "north", 64 * (4 - row), "mesh_east_in", *["mesh_south_in"] * (row < 3))
        ),
        f"{to_wide} wait=wide_to_narrow>=1,mesh_east_in>=1,mesh_south_in>=1",
        "outfeed output=0 rows=16",
        "ring_produce tiles=0x1 read=[r:16 @0x400+r*64] to=0x20000 wait=narrow_to_wide>=1",
    ]
    made = program("\n".join(lines), "edge-4x4", wide_memory__row_bytes=64, tile__lanes=16)
    block = Block((0, 0, 0), (16, 1, 64), 64, 16)
    tensor = HostTensor("bytes", 0, "int8", (1, 16, 1, 64), (0, 1, 2, 3), "i8", (16, 1, 64), (block,))
    return replace(made, inputs=(tensor,), outputs=(replace(tensor, index=1),))


def hop(tile: int, side: str, words: int, *flags: str) -> list[str]:
    """A tile sends what it has, once it has all of it, to the same addresses of its neighbour."""
    to = neighbour(Grid(rows=4, columns=4), tile, Side(side))
    assert to is not None
    nest_text = f"[w:{words} @{64 * tile}+w*4]"
    wait = ",".join(f"{flag}>=1" for flag in ("wide_to_narrow", *flags))
    return [
        f"mesh_in tiles={1 << to:#x} side={OPPOSITE[Side(side)]} write={nest_text} produce=w",
        f"mesh_out tiles={1 << tile:#x} side={side} read={nest_text} wait={wait}",
    ]


def test_oracle_26_a_gather_to_tile_0_goes_west_then_north() -> None:
    """1024 bytes in 16 tiles: 1536 byte-hops on the links to the west and as many on those to the north."""
    made = gather()
    data = np.random.default_rng(3).integers(-128, 128, (1, 16, 1, 64)).astype(np.int8)
    run = tilesim.simulate(made, [data])
    assert np.array_equal(run.outputs[0], data)
    links = {link["track"]: link["bytes"] for link in run.statistics["links"] if ".mesh." in link["track"]}
    assert len(links) == 48
    totals = {side: sum(moved for track, moved in links.items() if track.endswith(side)) for side in Side}
    assert totals == {Side.NORTH: 1536, Side.EAST: 0, Side.SOUTH: 0, Side.WEST: 1536}
    assert links["chip.mesh.tile4.north"] == 768


@pytest.mark.parametrize("seed", [1, 2])
def test_the_order_in_which_simpy_takes_events_does_not_matter(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    made, data = gather(), [np.zeros((1, 16, 1, 64), np.int8)]
    plain = tilesim.simulate(made, data, trace=True).statistics["trace_sha256"]
    disorder(monkeypatch, seed)
    assert tilesim.simulate(made, data, trace=True).statistics["trace_sha256"] == plain


@pytest.mark.parametrize("sent", [5, 20, 60])
def test_a_receiver_that_lacks_a_flag_and_a_sender_waits_for_the_flag(sent: int) -> None:
    """The flag rises in cycle 30; words can be written from the cycle after the first is read."""
    bench = row_of(2)
    flags = bench.chip.tiles[1].flags
    bench.deliver(into(3, wait=(Watcher(Flag.AVDATA, 1, "r"),)), tile=1)
    bench.clock.timeout(30).callbacks.append(lambda _: flags.raise_by(Flag.AVDATA))
    bench.deliver(out(3), after=sent)
    bench.clock.run()
    check_words(bench, 3)
    account = bench.unit("tile1.mesh_in_west")
    assert account["stall:flag"] == 30
    assert account.get("stall:fifo", 0) == max(sent + 1 - 30, 0)
    assert bench.retired["in"] == max(sent + 1, 30) + 3
