"""What is added to a program, and where it stands then."""

from __future__ import annotations

from tests.tiled.programs import program
from tests.tiled.rules.lines import consume, send
from tilesim.tiled.isa.checks.program import faults
from tilesim.tiled.isa.model.fields import Engine, Flag, Watcher
from tilesim.tiled.isa.model.instructions import Infeed, Record, RingProduce, ScalarFence, TileFence
from tilesim.tiled.mending.additions import (
    AddedFence,
    AddedTurn,
    AddedWait,
    Draft,
    EndedRecord,
    WiderFence,
    before,
    controller_fence,
)

TURN = Watcher(Flag.RING_PRODUCER_A, 2)
FENCE = TileFence(tiles=8, idle=(Engine.RING_CONSUMER,))
LINES = consume(3) + send("a", 0, 3) + send("b", 1, 3, wait="ring_producer_a>=1")
TWO_TURNS = "i: infeed source=data rows=1 to=0x8 turn=3\nf: tile_fence tiles=0x1 idle=tensor\n"


def test_a_wait_comes_to_the_others_or_asks_for_more() -> None:
    draft = Draft(program(LINES, "ring-8"))
    for place, watched in ((1, (TURN,)), (2, (TURN,))):
        op = draft.plus(AddedWait(place, TURN)).program.run[place]
        assert isinstance(op, RingProduce)
        assert op.wait == watched
    less = draft.plus(AddedWait(2, Watcher(Flag.RING_PRODUCER_A, 0))).program.run[2]
    assert isinstance(less, RingProduce)
    assert less.wait == (Watcher(Flag.RING_PRODUCER_A, 1),)


def test_a_turn_and_a_fence_only_grow() -> None:
    draft = Draft(program(TWO_TURNS, "ring-8"))
    turns = [draft.plus(AddedTurn(0, turn)).program.run[0] for turn in (2, 5)]
    assert [op.turn for op in turns if isinstance(op, Infeed)] == [3, 5]
    fence = draft.plus(WiderFence(1, (Engine.RING_CONSUMER,))).program.run[1]
    assert isinstance(fence, TileFence)
    assert fence.idle == (Engine.TENSOR, Engine.RING_CONSUMER)


def test_fences_stand_before_an_instruction_of_its_section_and_have_its_place() -> None:
    written = program(LINES, "ring-8", load="l: tile_fence tiles=0x1 idle=tensor")
    draft = Draft(written).plus(AddedFence(1, (FENCE,))).plus(AddedFence(3, (FENCE, ScalarFence(count=1))))
    run = draft.program.run
    assert draft.program.load == written.load
    assert [op.mnemonic for op in run] == [
        *("tile_fence", "ring_consume", "ring_produce", "tile_fence", "scalar_fence", "ring_produce"),
    ]
    assert draft.places == [0, 1, 1, 2, 3, 3, 3]
    assert draft.minus(AddedFence(1, (FENCE,))).places == [0, 1, 2, 3, 3, 3]


def test_additions_are_listed_in_the_order_of_the_program() -> None:
    late, early = AddedWait(2, TURN), AddedFence(1, (FENCE,))
    assert Draft(program(LINES, "ring-8")).plus(late).plus(early).listed == [early, late]


def test_what_starts_a_broadcast_stays_beside_it() -> None:
    lines = "x: broadcast tiles=0x1\nc: ring_consume tiles=0x3 write=[r:4 @0x0+r*16]\n" + send("a", 2, 0, 1)
    assert [before(program(lines, "ring-8"), place) for place in (0, 1, 2)] == [0, 0, 2]


RECORDS = {"instruction_bus__record_words": 1}


def test_fences_before_a_sub_instruction_end_its_record() -> None:
    """Before the first one they stand in front of the header; what comes behind them travels alone."""
    written = program("r: record tiles=0xb parts=3\n" + LINES, "ring-8", **RECORDS)
    assert [before(written, place) for place in range(4)] == [0, 0, 2, 3]
    draft = Draft(written).plus(AddedFence(3, (FENCE,))).plus(AddedFence(0, (FENCE,)))
    assert [op.mnemonic for op in draft.program.run] == [
        *("tile_fence", "record", "ring_consume", "ring_produce", "tile_fence", "ring_produce"),
    ]
    assert draft.program.run[1] == Record(tiles=0xB, parts=2, label="r")
    assert draft.changes == [AddedFence(0, (FENCE,)), EndedRecord(0, 2), AddedFence(3, (FENCE,))]
    assert draft.listed == [AddedFence(0, (FENCE,)), AddedFence(3, (FENCE,))]
    assert draft.places == [0, 0, 1, 2, 3, 3]
    assert faults(draft.program) == []


def test_a_wait_leaves_the_record_whole() -> None:
    written = program("r: record tiles=0xb parts=3\n" + LINES, "ring-8", **RECORDS)
    assert Draft(written).plus(AddedWait(3, TURN)).program.run[0] == written.run[0]


def test_a_fence_of_the_controller_counts_what_is_left_over() -> None:
    left = "f: tile_fence tiles=0x3 idle=tensor increment=2\ns: scalar_fence count=1\n"
    fence, stop = controller_fence(program(left + LINES, "ring-8"), 3, 0b110, Engine.RING_CONSUMER)
    assert isinstance(fence, TileFence)
    assert isinstance(stop, ScalarFence)
    assert (fence.increment, stop.count) == (4, 8)
