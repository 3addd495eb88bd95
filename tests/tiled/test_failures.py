"""The catalogue of what goes wrong on such chips: each failure provoked by a small program, and named.

Where it can be, the failure is provoked on hardware that nobody keeps from it (``observe``, or a chip that is given the
instructions without a check), and the same program is refused by name. Source: US 2025/0265455 [0036], [0054];
US 19/025,090 [0049], [0059]; Edge TPU programs and drivers as reported by others.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.tiled.programs import program
from tests.tiled.units.bench import Bench
from tilesim import simulate
from tilesim.errors import CollisionError, HangError, ProgramError
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.rules.proof import proof_of

pytestmark = pytest.mark.usefixtures("on_simpy")

Array = NDArray[np.int8]
ROW = 16
SINK = 0x8


def consume(label: str, tiles: int, rows: int, address: int = 0x40) -> str:
    return f"{label}: ring_consume tiles={tiles:#x} write=[r:{rows},b:1 @{address:#x}+r*{ROW}] produce=b"


def produce(label: str, tile: int, to: int, rows: int = 4, more: str = "") -> str:
    return f"{label}: ring_produce tiles={1 << tile:#x} read=[r:{rows} @0x0+r*{ROW}] to={to:#x}{more}"


def lines(*instructions: str) -> str:
    return "\n".join(instructions)


def hang(subject: Program, *inputs: Array) -> list[str]:
    """The report on a program that hangs."""
    with pytest.raises(HangError) as caught:
        simulate(subject, inputs, rules="observe")
    return str(caught.value).splitlines()


def one(report: list[str], *words: str) -> bool:
    """Whether one line of the report holds all the words."""
    return any(all(word in line for word in words) for line in report)


def collision(subject: Program, *inputs: Array) -> str:
    """Why strict rules stop a program."""
    with pytest.raises(CollisionError) as caught:
        simulate(subject, inputs)
    return str(caught.value)


def refuted(subject: Program) -> dict[str, str]:
    """What the check before the run says of a program, a sentence of each rule."""
    return {each.rule: each.sentence for each in reversed(proof_of(subject).refutations)}


def bench_of(subject: Program) -> Bench:
    """A chip that has run a program, whatever a check says of it; row k of tile t held k + 64 * t in the beginning."""
    bench = Bench(subject.topology)
    for tile in range(subject.topology.tiles):
        bench.wide(tile)[:] = np.repeat(np.arange(bench.wide(tile).shape[1] // ROW, dtype=np.uint8) + 64 * tile, ROW)
    bench.chip.fill(subject.data)
    bench.run(*subject.load)
    bench.run(*subject.run)
    return bench


def rows_at(bench: Bench, tile: int, address: int, count: int) -> list[int]:
    """The first byte of some rows of a wide memory."""
    return bench.wide(tile)[0, address : address + count * ROW : ROW].tolist()


def test_two_masters_of_one_receiver_mix_their_rows() -> None:
    both = (produce("m0", 0, 0b100), produce("m1", 1, 0b100))
    mixed = program(lines(consume("take", 0b100, 8), *both), grid__rows=3)
    assert "a packet of m1 from tile 1" in collision(mixed)
    assert "m0 (ring_produce of tile 0), on tiles 0-2, and m1" in refuted(mixed)["masters"]
    assert "may arrive at tile 2 in either order" in refuted(mixed)["arrivals"]
    assert [each["kind"] for each in simulate(mixed, [], rules="observe").statistics["findings"]] == [
        "meeting",
        "mixed payload",
    ]
    taken, first, second = rows_at(bench_of(mixed), 2, 0x40, 8), [0, 1, 2, 3], [64, 65, 66, 67]
    assert sorted(taken) == first + second
    assert taken not in (first + second, second + first)


@pytest.mark.parametrize(("no_consumer", "floating"), [("stall", 0), ("circulate", 4)])
def test_two_masters_of_a_receiver_that_expects_one(no_consumer: str, floating: int) -> None:
    """Oracle 12: under ``circulate`` four packets float, under ``stall`` the fifth blocks the ring."""
    both = (produce("m0", 0, 0b100), produce("m1", 1, 0b100))
    subject = program(lines(consume("take", 0b100, 4), *both), grid__rows=3, ring__no_consumer=no_consumer)
    report = hang(subject)
    assert one(report, "take at tile 2 took rows of transfers that met", "of m0 from tile 0", "of m1 from tile 1")
    assert sum("goes round for ever with bitmap 0x4, for tile 2" in line for line in report) == floating
    assert one(report, "with bitmap 0x4 waits for a ring consumer to be posted") is not bool(floating)
    words = "sends to tile 2, where 8 rows arrive in all, but instructions are posted only for 4"
    assert one(report, words)
    assert words in refuted(subject)["arrivals"]


def test_overlapping_groups_bring_a_tile_foreign_rows() -> None:
    subject = program(
        lines(
            consume("a", 0b0110, 4),
            consume("b", 0b1100, 4, 0x80),
            produce("m0", 0, 0b0110),
            produce("m1", 1, 0b1100),
        ),
        grid__rows=4,
    )
    assert "m1 from tile 1, which occupies tile 1 to tile 3" in collision(subject)
    assert "can meet at tile 1 (they share tiles 1-2)" in refuted(subject)["masters"]
    bench = bench_of(subject)
    assert rows_at(bench, 1, 0x40, 4) == [0, 1, 2, 3]
    assert rows_at(bench, 3, 0x80, 4) == [64, 65, 66, 67]
    assert rows_at(bench, 2, 0x40, 4) != [0, 1, 2, 3]
    findings = simulate(subject, [], rules="observe").statistics["findings"]
    assert {(each["stop"], each["instruction"]) for each in findings if each["kind"] == "mixed payload"} == {
        ("tile 2", "a"),
        ("tile 2", "b"),
    }


@pytest.mark.parametrize(
    ("no_consumer", "symptom"),
    [
        ("stall", "chip.ring.stop2: a packet from send with bitmap 0x2 waits for a ring consumer to be posted"),
        (
            "circulate",
            "row 0 of send from source goes round for ever with bitmap 0x2, for tile 1, where nobody is posted",
        ),
    ],
)
def test_a_bit_without_a_consumer(no_consumer: str, symptom: str) -> None:
    """Oracle 13: the report names tile and packet."""
    subject = program("send: infeed source=data rows=2 to=0x2", ring__no_consumer=no_consumer)
    report = hang(subject)
    assert one(report, symptom)
    words = "send (infeed) sends to tile 1, where 2 rows arrive in all, but instructions are posted for none"
    assert one(report, words)
    assert refuted(subject) == {"arrivals": words}


def test_a_consumer_to_which_nothing_is_sent() -> None:
    copy = "copy: wide_to_narrow tiles=0x1 read=[r:2 @0x40+r*16] write=[w:8 @0x0+w*4] wait=ring_read_a>=2"
    subject = program(lines(consume("take", 0b1, 2), copy))
    report = hang(subject)
    assert one(report, "ring_consumer in take", "for row 0 from the ring")
    assert one(report, "wide_to_narrow in copy", "ring_read_a to reach 2; it stands at 0, and only take can still")
    assert one(report, "where 2 are expected in all, but no row arrives")
    assert "where 2 are expected in all, but no row arrives" in refuted(subject)["arrivals"]


def test_masters_whose_turns_are_not_the_order_of_the_ring() -> None:
    """What the second sends never passes the first, which counts on it."""
    turns = (produce("first", 0, 0b100, more=" wait=ring_producer_a>=1"), produce("second", 1, 0b100))
    subject = program(lines(consume("take", 0b100, 8), *turns), grid__rows=3)
    report = hang(subject)
    assert one(report, "tile0.ring_producer in first", "flag ring_producer_a to reach 1; it stands at 0")
    assert refuted(subject)["deadlock"] in report
    assert "waits for a transfer to pass tile 0 before it, and none can" in refuted(subject)["deadlock"]


def test_a_master_behind_another_that_counts_on_it() -> None:
    turns = (produce("late", 0, 0b100, more=" wait=ring_producer_a>=1"), produce("early", 0, 0b100))
    subject = program(lines(consume("take", 0b100, 8), *turns), grid__rows=3)
    report = hang(subject)
    assert refuted(subject)["deadlock"] in report
    assert "waits for a transfer to pass tile 0 before it, and none can" in refuted(subject)["deadlock"]


MOVE = f"move: wide_to_narrow tiles=0x1 read=[r:2 @0x40+r*{ROW}] write=[w:8 @0x0+w*4] wait=ring_read_a@r>=1+1"
RESET = "clear: tile_fence tiles=0x1 reset=ring_read_a"


@pytest.mark.parametrize("resets", [False, True])
def test_a_flag_that_is_not_reset_lets_a_loop_run_early(resets: bool) -> None:
    """It moves the rows of the phase before instead of those that are on their way."""
    load = lines("old: infeed source=data rows=2 to=0x1", consume("before", 0b1, 2))
    run = lines(*[RESET] * resets, MOVE, consume("now", 0b1, 2), "new: infeed source=data rows=2 address=0x20 to=0x1")
    subject = program(run, load=load, data_memory__bytes_per_cycle=1)
    bench = Bench(subject.topology)
    bench.chip.data_memory.bytes[0, :0x40] = np.repeat([7, 7, 9, 9], ROW)
    bench.run(*subject.load)
    bench.run(*subject.run)
    assert set(bench.narrow()[0, :0x20].tolist()) == ({9} if resets else {7})
    assert rows_at(bench, 0, 0x40, 2) == [9, 9]
    assert ("hazards" in refuted(subject)) is not resets
    if resets:
        assert simulate(subject, []).cycles
    else:
        with pytest.raises(ProgramError, match=r"nothing orders now \(ring_consume\), .* and move \(wide_to_narrow\)"):
            simulate(subject, [])


def test_parameters_at_half_a_row() -> None:
    """128 bytes are half of a wide row, which is where the hardware writes."""
    subject = program(
        lines(
            "weights: ring_consume tiles=0x1 write=[r:2 @0x80+r*256]",
            "send: infeed source=data rows=2 to=0x1",
        ),
        "edge-1x1",
    )
    with pytest.raises(ProgramError, match=r"weights ring_consume: write must begin at a multiple of 256 bytes \(one"):
        simulate(subject, [])


REGIONS = """
.region name=parameters memory=wide tiles=0x1 address=0x40 bytes=32
.region name=scratch memory=wide tiles=0x1 address=0x20 bytes=32
"""


@pytest.mark.parametrize(
    ("address", "rows", "kept", "rules"),
    [
        (0x20, 2, [5, 5], set()),
        (0x20, 3, [1, 5], {"regions", "parameters"}),
        (0x40, 2, [1, 1], {"parameters"}),
    ],
)
def test_scratch_on_top_of_cached_weights(address: int, rows: int, kept: list[int], rules: set[str]) -> None:
    """Nothing hangs and nothing is late: the weights are just others from then on."""
    load = lines("cache: infeed source=data rows=2 to=0x1", consume("weights", 0b1, 2, 0x40))
    spill = f"spill: narrow_to_wide tiles=0x1 read=[w:{4 * rows} @0x0+w*4] write=[r:{rows} @{address:#x}+r*{ROW}]"
    subject = program(spill, load=load, head=REGIONS)
    bench = Bench(subject.topology)
    bench.chip.data_memory.bytes[0, : 2 * ROW] = 5
    bench.narrow()[:] = 1
    bench.run(*subject.load)
    bench.run(*subject.run)
    assert rows_at(bench, 0, 0x40, 2) == kept
    found = refuted(subject)
    assert found.keys() == rules
    assert all("spill narrow_to_wide: write must" in sentence for sentence in found.values())


HOST = """
.input name=in0 index=0 dtype=int8 shape=1,1,4,4 axes=0,1,2,3 element=i8 extent=1,4,4 \
blocks=[origin:0,0,0 extent:1,4,4 pixel_bytes:4 rows:1]
.output name=out0 index=0 dtype=int8 shape=1,12,4,4 axes=0,1,2,3 element=i8 extent=12,4,4 \
blocks=[origin:0,0,0 extent:12,4,4 pixel_bytes:4 rows:12]
"""
IN = np.ones((1, 1, 4, 4), np.int8)


def pending(*end: str) -> Program:
    """The host sends to tile 1 while results of tile 0 are on their way; ``end`` takes them and waits for tile 1."""
    begin = (
        produce("out", 0, SINK, rows=12),
        consume("take", 0b10, 1),
        "taken: tile_fence tiles=0x2 idle=ring_consumer increment=1",
        "send: infeed source=host rows=1 to=0x2",
    )
    return program(lines(*begin, *end), head=HOST, host__latency_cycles=200)


def test_the_host_sends_while_an_output_is_pending() -> None:
    """The host's link has a wire each way and the host takes all that comes, so that the link itself can't deadlock.
    But its two ways share the ring, where results that no outfeed takes stand before what the host sends.
    """
    taken, results = "ready: scalar_fence count=1", "results: outfeed output=0 rows=12"
    assert simulate(pending(results, taken), [IN], rules="observe").outputs[0].shape == (1, 12, 4, 4)
    report = hang(pending(taken, results), IN)
    assert one(report, "chip.ring.stop4: a packet from out with bitmap 0x8 waits for an outfeed to be posted")
    assert one(report, "chip.ring.stop1: a packet from send with bitmap 0x2 waits for a place at the next stop")
    assert one(report, "chip.controller has not issued everything; it is at ready")
    assert report[-1] == (
        "these wait in a circle: results (outfeed) waits for ready (scalar_fence); take (ring_consume of tile 1) waits "
        "for row 0 of 1, and send is to send it"
    )
    assert "send (infeed), on source, tiles 0-1, can meet at tile 0" in refuted(pending(taken, results))["masters"]


@pytest.mark.parametrize(("tiles", "count"), [(0x3, 3), (0x1, 2)])
def test_a_scalar_fence_that_expects_more_than_the_tiles_fenced(tiles: int, count: int) -> None:
    subject = program(f"done: tile_fence tiles={tiles:#x} increment=1\nf: scalar_fence count={count}")
    report = hang(subject)
    assert one(report, f"chip.controller in f has waited since cycle 1 for {count} tile fences to be through; so far")
    assert report[-1] == refuted(subject)["fences"]
    assert report[-1].startswith(
        f"f (scalar_fence) waits for {count} tile fences, but those before it add only {count - 1}"
    )
