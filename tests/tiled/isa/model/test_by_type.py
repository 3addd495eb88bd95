"""Instructions by what they are."""

from __future__ import annotations

import tilesim
from tilesim.tiled.isa.model.by_type import ByType
from tilesim.tiled.isa.model.instructions import INSTRUCTIONS, Broadcast, Outfeed
from tilesim.tiled.isa.model.program import Program


def test_all_instructions_are_found_in_order_with_their_places() -> None:
    program = tilesim.compile(tilesim.load_network("digits"), tilesim.load_topology("edge-2x2"))
    assert isinstance(program, Program)
    ops, found = (*program.load, *program.run), ByType(program)
    assert found.of(Outfeed) == [(place, op) for place, op in enumerate(ops) if isinstance(op, Outfeed)]
    assert not found.of(Broadcast)
    places = sorted(place for kind in INSTRUCTIONS for place, _ in found.of(kind))
    assert places == [*range(len(ops))]
