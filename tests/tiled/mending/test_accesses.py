"""What may put two instructions of a tile in order."""

from __future__ import annotations

import pytest

from tests.tiled.programs import program
from tests.tiled.rules.lines import consume, send
from tilesim.machines import frame
from tilesim.tiled.isa.model.fields import Engine, Flag, Watcher
from tilesim.tiled.isa.model.instructions import TileFence
from tilesim.tiled.mending.accesses import access_additions
from tilesim.tiled.mending.additions import AddedFence, AddedWait, Addition, Draft, WiderFence
from tilesim.tiled.rules.proof import proof_of

FILLED = consume(3, row=0) + send("a", 0, 3)
EMPTIED = "d: wide_to_narrow tiles=0x8 read=[r:4 @0x0+r*16] write=[w:16 @0x0+w*4] produce=r{}\n"
SLOT = (
    "fill: wide_to_narrow tiles=0x8 read=[r:4,b:1 @0x0+r*16] write=[r:4,w:4 @0x0+w*4] wait=ring_read_a>=4{} produce=b\n"
    "use: narrow_to_wide tiles=0x8 read=[r:4,w:4 @0x0+w*4] write=[r:4,b:1 @0x100+r*16] {} produce=b\n"
)


def additions(lines: str) -> list[Addition]:
    return list(access_additions(Draft(frame.named(program(lines, "ring-8")))))


def mends(lines: str) -> list[Addition]:
    written = frame.named(program(lines, "ring-8"))
    return [each for each in additions(lines) if proof_of(Draft(written).plus(each).program).proven]


def test_the_later_one_waits_for_the_flag_or_behind_a_fence() -> None:
    assert mends(FILLED.replace("produce=b", "produce=r") + EMPTIED.format("")) == [
        AddedWait(2, Watcher(Flag.RING_READ_A, 1)),
        AddedFence(2, (TileFence(tiles=8, idle=(Engine.RING_CONSUMER,)),)),
    ]


def test_or_row_by_row() -> None:
    assert AddedWait(2, Watcher(Flag.RING_READ_A, 1, "r", 1)) in mends(FILLED + EMPTIED.format(""))


def test_without_a_flag_only_a_fence_does() -> None:
    silent = FILLED.replace(" produce=b", "")
    assert mends(silent + EMPTIED.format("")) == [AddedFence(2, (TileFence(tiles=8, idle=(Engine.RING_CONSUMER,)),))]


def test_a_fence_that_is_there_may_wait_for_more() -> None:
    lines = FILLED + "f: tile_fence tiles=0x8 idle=tensor\n" + EMPTIED.format("")
    assert WiderFence(2, (Engine.RING_CONSUMER,)) in mends(lines)


def test_a_fence_that_resets_too_early_waits_for_all() -> None:
    lines = FILLED + "f: tile_fence tiles=0x8 idle=tensor reset=ring_read_a\n"
    assert mends(lines) == [WiderFence(2, tuple(Engine))]


@pytest.mark.parametrize(
    ("fill", "use", "place", "watcher"),
    [
        ("", "wait=wide_to_narrow@r>=1+1", 2, Watcher(Flag.NARROW_TO_WIDE, 0, "r", 1)),
        (",narrow_to_wide@r>=0+1", "", 3, Watcher(Flag.WIDE_TO_NARROW, 1, "r", 1)),
    ],
)
def test_a_place_that_is_filled_again_and_again_is_waited_for_in_turn(
    fill: str, use: str, place: int, watcher: Watcher
) -> None:
    lines = FILLED + SLOT.format(fill, use)
    assert AddedWait(place, watcher, in_turn=True) in mends(lines)
