"""Programs that use both channels of the ring: as text, checked, run on both models, and compiled."""

from __future__ import annotations

import numpy as np
import pytest

import tilesim
from tests.tiled.programs import program, same
from tilesim.errors import HangError
from tilesim.machines.options import silent
from tilesim.machines.verify import differences, event_result
from tilesim.network.graph import Network
from tilesim.run import Run
from tilesim.shipped import shipped
from tilesim.tiled.flat.coverage import uncovered
from tilesim.tiled.isa.assembly import ASSEMBLY
from tilesim.tiled.isa.checks.program import faults
from tilesim.tiled.isa.model.fields import Channel, Flag
from tilesim.tiled.isa.model.instructions import Infeed, RingConsume, RingProduce
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.machine import Tiled
from tilesim.tiled.mending.suggestion import suggested
from tilesim.tiled.rules.proof import proof_of
from tilesim.tiled.rules.ring.readings import Reading

TWO = {"ring.consumer_queues": 2}
SMALL = {"wide_memory.size_bytes": "16 KiB"}


def both_models(subject: Program) -> str:
    """How a run ends on both models, which must agree in every cycle."""
    event = event_result(Tiled(), subject, [])
    assert not differences(event, Tiled().step(subject, [], trace=False))
    return event.end


def two(run: str, chip: str = "ring-8", queues: int = 2) -> Program:
    return program(run, chip, ring__consumer_queues=queues)


def behind(channel: str) -> tuple[Program, int]:
    """Weights on a channel wait at tile 1 for a copy of 64 words; activations go past them to tile 2. The program, and
    the cycle in which they begin to come.
    """
    turn = "wait=ring_producer_a>=1" if channel == "a" else ""
    subject = two(
        f"""copy: narrow_to_wide tiles=0x2 read=[o:4,w:16 @0x0+w*4] write=[r:16 @0x0+r*16] produce=r
late: ring_consume tiles=0x2 write=[r:4 @0x100+r*16] channel={channel} wait=narrow_to_wide>=1
weights: infeed source=data rows=4 to=0x2 channel={channel}
first: ring_consume tiles=0x4 write=[r:2 @0x0+r*16]
send: ring_produce tiles=0x1 read=[r:2 @0x0+r*16] to=0x4 {turn}"""
    )
    spans = Tiled().step(subject, [], trace=True).spans
    return subject, next(
        at for track, at, _, kind, _ in spans if kind == "busy" and track == "chip.tile2.ring_consumer"
    )


def test_activations_do_not_queue_behind_weights_on_the_other_channel() -> None:
    for subject, _ in map(behind, "ab"):
        assert proof_of(subject).proven
        assert both_models(subject) == "ended"
    assert behind("a")[1] - behind("b")[1] > 50


def crossing(first: str, second: str) -> Program:
    return two(
        f"""one: ring_consume tiles=0x8 write=[r:4 @0x0+r*16] channel={first}
other: ring_consume tiles=0x8 write=[r:4 @0x40+r*16] channel={second}
first.send: ring_produce tiles=0x1 read=[r:4 @0x0+r*16] to=0x8 channel={first}
second.send: ring_produce tiles=0x2 read=[r:4 @0x0+r*16] to=0x8 channel={second}"""
    )


def test_transfers_on_two_channels_never_meet() -> None:
    assert proof_of(crossing("a", "b")).proven
    assert both_models(crossing("a", "b")) == "ended"
    for reading in ("single", "disjoint", "meet"):
        tilesim.simulate(crossing("a", "b"), [], masters=reading)
    for channel in ("a", "b"):
        [first, *_] = proof_of(crossing(channel, channel)).refutations
        assert first.rule == "masters"
        assert ("on channel B" in first.sentence) == (channel == "b")
        assert both_models(crossing(channel, channel)) == "transfers met on the ring"


def test_turns_count_the_transfers_of_their_own_channel() -> None:
    """The second master of a channel waits for one tail of that channel; for two, it waits without end."""
    lines = """one: ring_consume tiles=0x8 write=[r:2 @0x0+r*16] channel=b
again: ring_consume tiles=0x8 write=[r:2 @0x40+r*16] channel=b
mine: ring_consume tiles=0x8 write=[r:2 @0x80+r*16]
a.send: ring_produce tiles=0x1 read=[r:2 @0x0+r*16] to=0x8
b.send: ring_produce tiles=0x1 read=[r:2 @0x0+r*16] to=0x8 channel=b
last.send: ring_produce tiles=0x2 read=[r:2 @0x0+r*16] to=0x8 channel=b wait=ring_producer_b>={turn}"""
    assert proof_of(two(lines.format(turn=1))).proven
    assert both_models(two(lines.format(turn=1))) == "ended"
    verdict = proof_of(two(lines.format(turn=2)))
    assert any("a transfer" in each.sentence or "2 transfers" in each.sentence for each in verdict.refutations)
    assert both_models(two(lines.format(turn=2))) == "the run program hangs"


def test_a_suggestion_names_the_flag_of_the_channel() -> None:
    mended = suggested(crossing("b", "b"), Reading.MEET, silent).mended
    assert mended is not None
    assert proof_of(mended).proven
    waits = [w for op in mended.run if isinstance(op, RingProduce) for w in op.wait]
    assert {watcher.flag for watcher in waits} == {Flag.RING_PRODUCER_B}


def test_the_other_channel_is_refused_where_there_is_one_queue() -> None:
    lacks = "on a chip with one consumer queue (ring.consumer_queues)"
    assert faults(crossing("a", "b").retargeted(tilesim.load_topology("ring-8"))) == [
        f"other ring_consume: channel must be a {lacks}, not b",
        f"second.send ring_produce: channel must be a {lacks}, not b",
    ]
    waiting = two("ring_produce tiles=0x1 read=[r:1 @0x0] to=0x8 wait=ring_producer_b>=1", queues=1)
    [fault] = faults(waiting)
    assert fault.endswith(f"wait must not name ring_producer_b {lacks}")


def test_channel_b_goes_to_tiles_alone() -> None:
    [fault] = faults(two("ring_produce tiles=0x1 read=[r:1 @0x0] to=0x200 channel=b"))
    assert fault.endswith("to must name tiles alone on channel b, not the classifier or the sink, as 0x200 does")


def test_text_and_bytes_say_the_channel() -> None:
    subject = crossing("a", "b")
    text = ASSEMBLY.write(subject)
    assert text.count("channel=b") == 2
    assert "channel=a" not in text
    assert same(ASSEMBLY.binary.decode(ASSEMBLY.binary.encode(subject)), subject)


def test_the_timing_core_does_not_cover_it() -> None:
    assert uncovered(crossing("a", "b")) == ["ring.consumer_queues must be 1 for the compiled engine, not 2"]


def compiled(queues: int, network: str = "digits") -> tuple[Program, Run]:
    keys = {**SMALL, "ring.consumer_queues": queues}
    subject = tilesim.compile(tilesim.load_network(network), tilesim.load_topology("edge-2x2", keys))
    assert isinstance(subject, Program)
    inputs = [np.load(shipped("workloads") / "digits.npz")["in0"][:1]]
    assert not tilesim.verify(subject, inputs).differences
    return subject, tilesim.simulate(subject, inputs)


def test_compiled_parameters_that_stream_go_over_channel_b_and_nothing_else_does() -> None:
    (one, first), (both, second) = compiled(1), compiled(2)
    assert all(np.array_equal(a, b) for a, b in zip(first.outputs, second.outputs, strict=True))
    assert tilesim.check(both).proven
    for op in both.run:
        if isinstance(op, RingConsume | RingProduce | Infeed):
            assert (op.channel is Channel.B) == op.label.startswith("stream")
    assert any(op.label.startswith("stream") for op in both.run)
    assert not any(getattr(op, "channel", Channel.A) is Channel.B for op in one.run)
    assert abs(second.cycles - first.cycles) < 0.01 * first.cycles


def test_where_nothing_streams_the_second_queue_takes_no_cycle() -> None:
    runs = []
    for keys in ({}, TWO):
        network: Network = tilesim.load_network("pocket")
        subject = tilesim.compile(network, tilesim.load_topology("pocket-2x1", keys))
        runs.append(tilesim.simulate(subject, [np.zeros(each.shape, np.int8) for each in subject.inputs]).cycles)
    assert runs[0] == runs[1]


def test_a_hang_names_the_channel_at_whose_stop_a_row_stands() -> None:
    """Nobody takes the row on channel B."""
    with pytest.raises(HangError) as caught:
        tilesim.simulate(two("send: ring_produce tiles=0x1 read=[r:1 @0x0] to=0x8 channel=b"), [])
    text = str(caught.value)
    assert "chip.ring.stop4 on channel B: a packet from send with bitmap 0x8 waits for a ring consumer B to be" in text
    assert "sends to tile 3 on channel B, where 1 row arrives in all, but instructions are posted for none" in text
