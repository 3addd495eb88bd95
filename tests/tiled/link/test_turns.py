"""Turns of programs that follow one another."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tilesim
from tests.networks import Weave
from tests.tiled.programs import program
from tilesim.network.operators import ResizeNearest
from tilesim.tiled.isa.assembly import ASSEMBLY
from tilesim.tiled.isa.checks.program import faults
from tilesim.tiled.isa.model.instructions import Instruction, Record, ScalarFence, TileFence
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.link.link import link_programs
from tilesim.tiled.link.turns import TurnRewriter, near_sink, with_start_fence
from tilesim.tiled.rules.proof import proof_of

SINK = 1 << 3
"""Of a chip of two tiles: the classifier is stop 2."""
TURNS = f"""
start: tile_fence tiles=0x3 reset=avdata,ring_producer_a
in: infeed source=host rows=1 to=0x3
out0: ring_produce tiles=0x1 read=[r:1 @0x0] to={SINK} wait=ring_producer_a>=1
out1: ring_produce tiles=0x2 read=[r:1 @0x0] to={SINK} wait=ring_producer_a>=2
back: infeed source=data rows=1 to=0x1 turn=1
both: ring_produce tiles=0x3 read=[r:1 @0x0] to={SINK}
"""


def written(tails: TurnRewriter, one: Program) -> list[str]:
    tails.begin()
    return [ASSEMBLY.write_instruction(rewritten) for op in one.run for rewritten in tails.rewrite(op)]


def test_the_first_program_stays_as_it_is() -> None:
    one = program(TURNS)
    assert written(TurnRewriter(one.topology), one) == [ASSEMBLY.write_instruction(op) for op in one.run]


def test_the_next_one_waits_for_all_tails_before() -> None:
    """The first one's tails: at the infeed's stop 2, at tile 0's 4 (in, out0, back, both), at tile 1's 5."""
    one = program(TURNS)
    tails = TurnRewriter(one.topology)
    written(tails, one)
    start, into, out0, out1, back, both0, both1 = written(tails, one)
    assert "reset=avdata" in start
    assert "ring_producer_a" not in start
    assert into == ASSEMBLY.write_instruction(one.run[1])
    assert "wait=ring_producer_a>=5" in out0
    assert "wait=ring_producer_a>=7" in out1
    assert "turn=3" in back
    assert (both0.split(":")[0], "tiles=0x1" in both0, "wait=ring_producer_a>=4" in both0) == ("both.t0", True, True)
    assert (both1.split(":")[0], "tiles=0x2" in both1, "wait=ring_producer_a>=5" in both1) == ("both.t1", True, True)


def test_strict_chips_count_one_less() -> None:
    one = program(TURNS, tile__strict_compare=True)
    tails = TurnRewriter(one.topology)
    written(tails, one)
    assert "wait=ring_producer_a>=3" in written(tails, one)[5]


def test_a_reset_between_transfers_stays() -> None:
    """Behind it the program's own numbers hold."""
    middle = (
        f"{TURNS}middle: tile_fence tiles=0x3 reset=ring_producer_a\nlast: {TURNS.splitlines()[3].split(':', 1)[1]}"
    )
    one = program(middle)
    tails = TurnRewriter(one.topology)
    written(tails, one)
    *_, fence, last = written(tails, one)
    assert "reset=ring_producer_a" in fence
    assert "wait=ring_producer_a>=1" in last


RECORD = "r: record tiles=0x3 parts={}"
RECORDS = {"instruction_bus__record_words": 1}


def test_a_record_has_more_sub_instructions_when_turns_differ() -> None:
    """Unless its header has no room for them: then the last ones travel alone."""
    for parts, grown_to in ((1, 2), (4, 5), (5, 5)):
        fills = [f"mesh_in tiles=0x1 side=north write=[w:4 @{k:#x}00+w*4] fill=0" for k in range(parts - 1)]
        lines = [line for line in TURNS.split("\n") if line]
        one = program("\n".join([*lines[:-1], RECORD.format(parts), *fills, lines[-1]]), **RECORDS)
        tails = TurnRewriter(one.topology)
        for _ in range(2):
            tails.begin()
            linked = [*tails.rewrite_all(one.run)]
        head = next(op for op in linked if isinstance(op, Record))
        assert (head.parts, len(linked)) == (grown_to, len(one.run) + 1)
        assert faults(replace(one, run=tuple(linked), inputs=(), data=())) == faults(one)


def near(run: str) -> int | None:
    one = program(run, **RECORDS)
    ops: tuple[Instruction, ...] = one.run
    return near_sink(ops, one.topology)


def test_what_comes_near_the_classifiers_replies() -> None:
    feed = "infeed source=host rows=1 to=0x1"
    assert near(feed) is None
    assert near(f"{feed}\noutfeed output=0 rows=1") == 1
    assert near(f"{feed}\n{feed}\ninfeed source=ring rows=1 to=0x1") == 2
    to_tile, around, to_classifier = (
        f"ring_produce tiles={tiles} read=[r:1 @0x0] to={to}" for tiles, to in (("0x1", 2), ("0x2", 1), ("0x1", 4))
    )
    assert near(to_tile) is near(to_classifier) is None
    assert near(f"{to_tile}\n{around}") == 1
    assert near(f"{to_tile}\nbroadcast tiles=0x1\n{around}") == 1
    assert near(f"{feed}\n{RECORD.format(2)}\n{to_tile}\n{around}") == 1


START = "start: tile_fence tiles=0x3 reset=ring_producer_a"
ONE, BOTH = (f"in: infeed source=host rows=1 to={to}" for to in ("0x1", "0x3"))
FIRST = f"out0: ring_produce tiles=0x1 read=[r:1 @0x0] to={SINK} wait=ring_producer_a>=1"
SECOND = f"out1: ring_produce tiles=0x2 read=[r:1 @0x0] to={SINK} wait=ring_producer_a>=1"


def labels(*lines: str) -> list[str]:
    one = program("\n".join(lines), **RECORDS)
    return [op.label for op in with_start_fence(one.run, one.topology)]


def test_who_counts_must_have_begun_before_the_first_tail_passes() -> None:
    """The first tile's rows pass the second one, which has had none."""
    assert labels(START, ONE, FIRST, SECOND) == ["start", "in", "started.fence", "started", "out0", "out1"]
    joined = START, ONE, RECORD.format(2), FIRST, SECOND
    assert labels(*joined) == ["start", "in", "started.fence", "started", "r", "out0", "out1"]


def test_who_has_begun_on_one_channel_may_miss_a_tail_of_the_other() -> None:
    """Rows on channel B for both tiles keep none on A behind them."""
    lines = START, f"{BOTH.replace('in:', 'b:')} channel=b", ONE, FIRST, SECOND
    one = program("\n".join(lines), ring__consumer_queues=2)
    fenced = [op.label for op in with_start_fence(one.run, one.topology)]
    assert fenced == ["start", "b", "in", "started.fence", "started", "out0", "out1"]


def test_each_channel_has_its_own_turns() -> None:
    """Before the second program, tile 0's stop has seen two tails on A, and on B the one that it has sent."""
    lines = """in: infeed source=host rows=1 to=0x3
in2: infeed source=host rows=1 to=0x3
b0: ring_produce tiles=0x1 read=[r:1 @0x0] to=0x2 channel=b wait=ring_producer_a>=2
b1: ring_produce tiles=0x2 read=[r:1 @0x0] to=0x1 channel=b wait=ring_producer_b>=1
back: infeed source=data rows=1 to=0x1 channel=b turn=1"""
    one = program(lines, ring__consumer_queues=2)
    tails = TurnRewriter(one.topology)
    assert written(tails, one) == [ASSEMBLY.write_instruction(op) for op in one.run]
    _, _, b0, b1, back = written(tails, one)
    assert "wait=ring_producer_a>=4,ring_producer_b>=3" in b0  # b1 comes round to it, and the infeed's last
    assert "wait=ring_producer_b>=3" in b1
    assert "turn=3" in back  # b1 and its own pass the infeed


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param((START, BOTH, FIRST, SECOND), id="it has taken rows"),
        pytest.param((START, SECOND, FIRST), id="it has sent some"),
        pytest.param((START, ONE, FIRST), id="it does not count"),
        pytest.param((f"{START} increment=1", "go: scalar_fence count=2", ONE, FIRST, SECOND), id="it is awaited"),
    ],
)
def test_no_wait_if(lines: tuple[str, ...]) -> None:
    assert labels(*lines) == [line.split(":")[0] for line in lines]


def grown(hop_cycles: int = 1) -> tuple[tilesim.Network, tilesim.Topology]:
    """A map on a few tiles, and a larger one on all."""
    weave = Weave()
    x = weave.convolution(weave.input(2, 2, 8), 8, kernel=1)
    rows, columns = ((0, 0, 0, 1, 1, 1),) * 2
    network = weave.network(weave.add(ResizeNearest(rows, columns), x, zero_point=weave.zero_point(x)))
    return network, tilesim.load_topology("edge-4x4", {"grid": "3x3", "instruction_bus.hop_cycles": hop_cycles})


@pytest.mark.parametrize("hop_cycles", [1, 100, 3000])
def test_tiles_that_begin_late_miss_no_tail(hop_cycles: int) -> None:
    network, chip = grown(hop_cycles)
    compiled = tilesim.compile(network, chip)
    assert any(op.label == "started" for op in compiled.run)
    assert proof_of(compiled).proven
    x = np.random.default_rng(0).integers(-128, 128, (1, 2, 2, 8)).astype(np.int8)
    np.testing.assert_array_equal(tilesim.simulate(compiled, [x]).outputs[0], network.evaluate([x])[network.outputs[0]])
    unfenced = [op for op in compiled.run if not op.label.startswith("started")]
    assert not proof_of(replace(compiled, run=tuple(unfenced))).proven


def is_fence(op: Instruction) -> bool:
    return isinstance(op, TileFence | ScalarFence)


def test_a_series_waits_for_tiles_that_count_only_later(tmp_path: Path) -> None:
    """The first network leaves tiles alone that the second one uses."""
    path = tmp_path / "small.yaml"
    path.write_text(
        "input: {shape: [1, 1, 2, 4]}\nlayers: [{name: c, kind: convolution, filters: 4, kernel: [1, 1]}]\n"
    )
    network, chip = grown()
    some = tilesim.compile_networks([tilesim.load_network(path), network], chip)
    assert not any(op.label == "started" for op in some[0].run)
    joint = link_programs(some, [0, 1])
    assert proof_of(joint).proven
    assert [op.label for op in joint.run if is_fence(op)].count("started") == 1
