"""What a fence of the controller may lack."""

from __future__ import annotations

import pytest

from tests.tiled.programs import program
from tests.tiled.rules.lines import consume, send
from tilesim.tiled.isa.model.fields import Engine
from tilesim.tiled.isa.model.instructions import TileFence
from tilesim.tiled.mending.additions import AddedFence, Draft
from tilesim.tiled.mending.fences import fence_additions
from tilesim.tiled.mending.search import search
from tilesim.tiled.rules.ring.readings import Reading

LINES = consume(3) + consume(4) + send("a", 0, 3, 4) + "s: scalar_fence count={}\n" + consume(5) + send("b", 2, 5)


def test_increments_that_are_missing_come_where_rows_do() -> None:
    added = list(fence_additions(Draft(program(LINES.format(2), "ring-8"))))
    assert added[0] == AddedFence(3, (TileFence(tiles=0x18, idle=(Engine.RING_CONSUMER,), increment=1),))
    assert all(
        fence.increment * fence.tiles.bit_count() == 2
        for addition in added
        if isinstance(addition, AddedFence)
        for fence in addition.fences
        if isinstance(fence, TileFence)
    )


@pytest.mark.parametrize("count", [1, 2, 3])
def test_with_them_all_is_proven(count: int) -> None:
    found = search(program(LINES.format(count), "ring-8"), Reading.MEET)
    assert {len(tried.draft.additions) for tried in found.proven} == {1}


def test_where_none_is_missing_none_is_added() -> None:
    fence = "f: tile_fence tiles=0x18 idle=ring_consumer increment=1\n"
    lines = LINES.format(2).replace("s:", f"{fence}s:")
    assert list(fence_additions(Draft(program(lines, "ring-8")))) == []
