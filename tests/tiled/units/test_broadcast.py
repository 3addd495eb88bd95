"""Broadcasts that a tile's stop starts: who gets the instruction, when, and after what."""

from __future__ import annotations

from dataclasses import replace

import pytest

import tilesim
from tests.tiled.programs import program
from tests.tiled.units.bench import Bench, chip_of, line
from tilesim.tiled.isa.checks.program import faults
from tilesim.tiled.isa.model.fields import Side
from tilesim.tiled.isa.model.instructions import Broadcast, MeshIn, TileFence

FILL = MeshIn(tiles=1, side=Side.NORTH, write=line(0, 10, 4), fill=0, label="fill")
"""6 words on the bus, 11 cycles of work."""
WORDS, WORK = 6, 11
BUSY = MeshIn(tiles=1, side=Side.EAST, write=line(0x100, 100, 4), fill=1, label="busy")


def arrivals(bench: Bench, tiles: int) -> list[int | None]:
    """When the fill started on each tile."""
    spans = [bench.spans(f"tile{tile}.mesh_in_north") for tile in range(tiles)]
    return [found[0][0] if found else None for found in spans]


@pytest.mark.parametrize("hop", [1, 3])
@pytest.mark.parametrize("first", [0, 1])
def test_those_behind_get_it_as_many_cycles_later_as_it_has_words(first: int, hop: int) -> None:
    """The marker takes a cycle; then t + (k + 1) * hop + n for the tile that starts it, n more for those behind."""
    bench = Bench(chip_of(4, 1, instruction_bus={"hop_cycles": hop}))
    bench.run(Broadcast(tiles=1 << first, label="mark"), replace(FILL, tiles=0b1010 | 1 << first))
    there = [1 + (k + 1) * hop + WORDS * (2 if k > first else 1) for k in range(4)]
    assert arrivals(bench, 4) == [there[k] if k in {1, 3, first} else None for k in range(4)]
    assert bench.unit("controller")["busy"] == 1 + WORDS


def test_the_tile_that_starts_it_need_not_be_among_them() -> None:
    bench = Bench(chip_of(3, 1))
    bench.run(Broadcast(tiles=1, label="mark"), replace(FILL, tiles=0b110))
    assert arrivals(bench, 3) == [None, 1 + 2 + 2 * WORDS, 1 + 3 + 2 * WORDS]
    assert bench.unit("instruction_bus.stop0")["busy"] == 1 + 2 * WORDS
    assert bench.unit("instruction_bus.stop2")["busy"] == WORDS


def test_only_the_next_instruction_is_broadcast() -> None:
    bench = Bench(chip_of(2, 1))
    bench.run(Broadcast(tiles=1, label="mark"), replace(FILL, tiles=2), replace(FILL, tiles=3, label="plain"))
    plain = 1 + 1 + 2 * WORDS + WORDS
    assert bench.spans("tile0.mesh_in_north")[0][0] == plain
    assert bench.retired["plain"] == 1 + 2 + 2 * WORDS + 2 * WORK  # behind the fill, in tile 1


def test_a_fence_of_the_tile_holds_it_for_all() -> None:
    """What tile 1 does comes after what tile 0 did, without a word to the controller."""
    bench = Bench(chip_of(2, 1))
    bench.deliver(BUSY)
    fence = TileFence(tiles=1, label="fence")
    bench.run(fence, Broadcast(tiles=1, label="mark"), replace(FILL, tiles=2))
    through = 101
    assert arrivals(bench, 2) == [None, through + 1 + WORDS + 1 + WORDS]
    direct = Bench(chip_of(2, 1))
    direct.deliver(BUSY)
    direct.run(fence, replace(FILL, tiles=2))
    assert arrivals(direct, 2) == [None, 1 + 2 + WORDS]


def test_broadcasts_can_be_passed_on() -> None:
    """Tile 0 starts that of a marker, with which tile 1 starts that of a fill."""
    bench = Bench(chip_of(3, 1))
    marks = [Broadcast(tiles=1 << tile, label=f"mark{tile}") for tile in (0, 1)]
    bench.run(*marks, replace(FILL, tiles=4))
    assert bench.retired["fill"] == 1 + 1 + 3 + 2 * WORDS + WORK + 1  # stop 0 sends the second marker meanwhile


def test_bytes_are_counted_once_a_stop() -> None:
    bench = Bench(chip_of(3, 1))
    bench.run(Broadcast(tiles=2, label="mark"), replace(FILL, tiles=4))
    found = bench.bytes_by_bus()["instruction_bus"]
    assert found == {"entered": 16 + 96, "carried": 2 * 16 + 3 * 96}


def test_a_broadcast_from_a_text() -> None:
    fill = "fill: mesh_in tiles=6 side=west write=[w:4 @0x0+w*4] fill=7"
    made = program(f"tile_fence tiles=1 idle=mesh_in_east\nbroadcast tiles=1\n{fill}", "edge-1x1", grid__columns=3)
    assert faults(made) == []
    assert tilesim.simulate(made, [], trace=True).cycles == 1 + 1 + 3 + 2 * WORDS + 5


BEHIND = "an instruction for tiles behind tile 1, and none before it, must stand next"
AFTER = "mesh_in tiles={} side=north write=[w:4 @0x0+w*4] fill=0"


@pytest.mark.parametrize(
    ("run", "sentence"),
    [
        (["broadcast tiles=3", AFTER.format(4)], "tiles must name the one tile that starts the broadcast, not 0x3"),
        (["broadcast tiles=2", AFTER.format(2)], f"{BEHIND}, not mesh_in for the bitmap 0x2"),
        (["broadcast tiles=2", AFTER.format(5)], "not mesh_in for the bitmap 0x5"),
        (["broadcast tiles=2", "scalar_fence count=1"], "not scalar_fence for the bitmap 0x0"),
        (["broadcast tiles=2"], "not the end"),
    ],
)
def test_what_no_stop_can_broadcast_is_refused(run: list[str], sentence: str) -> None:
    [fault] = faults(program("\n".join(run), "edge-1x1", grid__columns=3))
    assert fault.startswith("run[0] broadcast: ")
    assert fault.endswith(sentence)


def test_the_classifier_is_behind_all_tiles() -> None:
    run = "broadcast tiles=4\nclassify rows=1 elements=4 function=softmax scaling=0,0,0,0,0"
    assert faults(program(run, "edge-1x1", grid__columns=3)) == []
