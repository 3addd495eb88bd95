"""Static checks of the mesh."""

from __future__ import annotations

from tests.tiled.programs import program
from tilesim.tiled.isa.checks.program import faults

CHIP = {"grid__columns": 3}


def found(run: str, load: str = "") -> list[str]:
    return faults(program(run, "edge-1x1", load, **CHIP))


def out(words: int, tiles: str = "0x3", side: str = "east") -> str:
    return f"mesh_out tiles={tiles} side={side} read=[w:{words} @0x0+w*4]"


def into(words: int, tiles: str = "0x6", side: str = "west", extra: str = "") -> str:
    return f"mesh_in tiles={tiles} side={side} write=[w:{words} @0x0+w*4]{extra}"


def test_ends_that_move_the_same_words_are_sound() -> None:
    assert found(f"{out(4)}\n{into(4)}\n{out(7)}\n{into(7)}") == []
    assert found(f"{into(4)}\n{out(4)}\n{into(9, tiles='0x1', extra=' fill=0')}") == []


def test_a_transfer_that_differs_from_what_is_received_is_named_once() -> None:
    assert found(f"{out(4)}\na: {into(4)}\nb: {out(5)}\n{into(6)}") == [
        "b mesh_out: read must have the 6 words that run[3] mesh_in takes in tile 1, not 5"
    ]


def test_fills_do_not_count_and_the_sections_are_apart() -> None:
    fill = into(3, extra=" fill=0")
    assert found(f"{out(4)}\n{fill}\n{into(4)}", load=f"{out(2)}\n{into(2)}") == []
    [fault] = found(f"{out(4)}\n{fill}\n{into(4)}", load=f"{out(2)}\n{into(3)}")
    assert fault == "load[0] mesh_out: read must have the 3 words that load[1] mesh_in takes in tile 1, not 2"


def test_each_tile_has_its_own_pairs() -> None:
    """Tile 2 takes what tile 1 sends second."""
    assert found(f"{out(4, '0x1')}\n{out(5, '0x2')}\n{into(4, '0x2')}\n{into(5, '0x4')}") == []
    [fault] = found(f"{out(4, '0x1')}\n{out(5, '0x2')}\n{into(4, '0x6')}")
    assert fault == "run[1] mesh_out: read must have the 4 words that run[2] mesh_in takes in tile 2, not 5"


def test_an_end_without_a_partner_is_no_fault() -> None:
    assert found(out(4)) == []
    assert found(into(4)) == []


def test_words_come_from_neighbours_only() -> None:
    assert found(into(4, "0x3", "west")) == [
        "run[0] mesh_in: side must be where every tile has a neighbour, or fill be given; tile 0 has none to the west"
    ]
    assert found(out(4, "0x6", "east")) == [
        "run[0] mesh_out: side must be where every tile has a neighbour; tile 2 has none to the east"
    ]


def test_ends_in_different_memories_must_move_the_same_words() -> None:
    """A row of 256 bytes is 64 words."""
    rows = "mesh_in tiles=0x2 side=west write=[r:2 @0x0+r*256]"
    chip = {**CHIP, "mesh__destination": "wide"}
    assert faults(program(f"{out(128, '0x1')}\n{rows}", "edge-1x1", **chip)) == []
    assert faults(program(f"{out(2, '0x1')}\nb: {rows}", "edge-1x1", **chip)) == [
        "run[0] mesh_out: read must have the 128 words that b mesh_in takes in tile 1, not 2"
    ]


def test_words_leave_wide_memory_only_where_the_mesh_joins_wide_memories() -> None:
    rows = "mesh_out tiles=0x1 side=east read=[r:2 @0x0+r*256] memory=wide"
    assert found(rows) == [
        "run[0] mesh_out: memory must be narrow on a chip whose mesh.destination is narrow, not wide"
    ]
    assert faults(program(rows, "edge-1x1", **CHIP, mesh__destination="wide")) == []


def test_unsound_loops_are_reported_as_such() -> None:
    assert found(f"{out(0)}\n{into(4)}") == ["run[0] mesh_out: read must run the loop w at least once, not 0 times"]
