"""Turns of programs that follow one another."""

from __future__ import annotations

from tests.tiled.programs import program
from tilesim.tiled.isa.assembly import ASSEMBLY
from tilesim.tiled.isa.model.instructions import Instruction
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.link.turns import TurnRewriter, near_sink

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
    return [ASSEMBLY.text.write_instruction(each) for op in one.run for each in tails.rewrite(op)]


def test_the_first_program_stays_as_it_is() -> None:
    one = program(TURNS)
    assert written(TurnRewriter(one.topology), one) == [ASSEMBLY.text.write_instruction(op) for op in one.run]


def test_the_next_one_waits_for_all_tails_before() -> None:
    """The first one's tails: at the infeed's stop 2, at tile 0's 4 (in, out0, back, both), at tile 1's 5."""
    one = program(TURNS)
    tails = TurnRewriter(one.topology)
    written(tails, one)
    start, into, out0, out1, back, both0, both1 = written(tails, one)
    assert "reset=avdata" in start
    assert "ring_producer_a" not in start
    assert into == ASSEMBLY.text.write_instruction(one.run[1])
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


def near(run: str) -> int | None:
    one = program(run)
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
