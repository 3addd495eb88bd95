"""Records on the instruction bus: when each sub-instruction arrives, what stops one, and what it saves."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

import pytest

import tilesim
from tests.tiled.programs import program, same
from tests.tiled.units.bench import Bench, chip_of, line
from tilesim.tiled import stepped
from tilesim.tiled.isa.assembly import ASSEMBLY
from tilesim.tiled.isa.checks.program import faults
from tilesim.tiled.isa.model.fields import Side
from tilesim.tiled.isa.model.instructions import (
    Instruction,
    MeshIn,
    NarrowToWide,
    Record,
    Work,
    program_bytes,
)
from tilesim.tiled.isa.model.sheet import SHEET
from tilesim.tiled.topology import Topology

NORTH = MeshIn(tiles=1, side=Side.NORTH, write=line(0, 10, 4), fill=0, label="north")
"""6 words on the bus, 11 cycles of work."""
WEST = replace(NORTH, side=Side.WEST, write=line(0x100, 10, 4), label="west")
ROWS = NarrowToWide(tiles=1, read=line(0, 64, 4), write=line(0, 1, 256), label="rows")
"""7 words on the bus, 65 cycles of work."""
FILL_CYCLES, ROWS_CYCLES = 11, 65


def chip(tiles: int, **keys: int) -> Topology:
    return chip_of(tiles, 1, instruction_bus={"record_words": 1, **keys})


def record(*parts: Work) -> tuple[Instruction, ...]:
    tiles = 0
    for part in parts:
        tiles |= part.tiles
    return Record(tiles=tiles, parts=len(parts), label="record"), *parts


def started(bench: Bench, tile: int, engine: str) -> int:
    return bench.spans(f"tile{tile}.{engine}")[0][0]


def bus_words(words: int, width_bytes: int) -> int:
    return ceil(words * 16 / width_bytes)


@pytest.mark.parametrize("hop", [1, 3])
@pytest.mark.parametrize("width", [4, 16, 64])
@pytest.mark.parametrize("tile", [0, 2])
def test_each_is_there_when_its_last_word_is(tile: int, width: int, hop: int) -> None:
    """t + (k + 1) * hop_cycles + those of the header + those of all up to it, each one word shorter than alone."""
    bench = Bench(chip(3, hop_cycles=hop, width_bytes=width))
    bench.run(*record(*(replace(part, tiles=1 << tile) for part in (NORTH, ROWS, WEST))))
    there, begun = (tile + 1) * hop + bus_words(1, width), {}
    for engine, words in (("mesh_in_north", 6), ("narrow_to_wide", 7), ("mesh_in_west", 6)):
        there += bus_words(words - 1, width)
        begun[engine] = there
    assert {engine: started(bench, tile, engine) for engine in begun} == begun
    assert bench.unit("controller")["busy"] == there - (tile + 1) * hop


def test_different_tiles_get_different_opcodes() -> None:
    """North goes to both tiles, rows to the first and west to the second alone: it need not come by there."""
    bench = Bench(chip(3))
    bench.run(*record(replace(NORTH, tiles=0b011), ROWS, replace(WEST, tiles=0b010)))
    assert [started(bench, tile, "mesh_in_north") for tile in (0, 1)] == [1 + 1 + 5, 2 + 1 + 5]
    assert started(bench, 0, "narrow_to_wide") == 1 + 1 + 5 + 6
    assert started(bench, 1, "mesh_in_west") == 2 + 1 + 5 + 6 + 5
    assert not bench.spans("tile1.narrow_to_wide")
    assert not bench.spans("instruction_bus.stop2")
    assert [what for _, _, _, what in bench.spans("instruction_bus.stop1")] == ["record", "north", "west"]


def test_bytes_are_those_of_fewer_words() -> None:
    bench = Bench(chip(2))
    parts = record(replace(NORTH, tiles=3), ROWS)
    bench.run(*parts)
    assert program_bytes(parts) == 16 * (1 + 5 + 6)
    assert bench.bytes_by_bus()["instruction_bus"] == {
        "entered": 16 * (1 + 5 + 6),
        "carried": 16 * (2 * 1 + 2 * 5 + 6),
    }


@pytest.mark.parametrize(
    ("tiles", "parts", "size_bytes"),
    [(1, 5, 5 + 10), (1, 6, 5 + 12), (1 << 15, 3, 6 + 9), (1 << 15, 4, 6 + 12), (1 << 63, 2, 12 + 18)],
)
def test_words_of_a_header(tiles: int, parts: int, size_bytes: int) -> None:
    assert Record(tiles=tiles, parts=parts).words == ceil(size_bytes / 16)
    assert SHEET["record"].words == Record(tiles=1, parts=1).words


def test_a_full_buffer_holds_what_is_for_it_and_all_behind_but_nothing_before() -> None:
    """Depth 1: one in hand, one waits, the third stands at the stop until the second has begun."""
    bench = Bench(chip(2, buffer_depth=1))
    rows = [replace(ROWS, label=f"rows{k}") for k in range(3)]
    bench.run(*record(NORTH, *rows, replace(WEST, tiles=2)))
    first = 1 + 1 + 5 + 6
    assert started(bench, 0, "mesh_in_north") == 1 + 1 + 5
    assert [bench.retired[f"rows{k}"] for k in range(3)] == [first + (k + 1) * ROWS_CYCLES for k in range(3)]
    passed = first + ROWS_CYCLES + 1 + 6
    assert bench.retired["west"] == passed + 1 + 5 + FILL_CYCLES


def test_what_comes_behind_a_record_is_whole_again() -> None:
    bench = Bench(chip(1))
    bench.run(*record(NORTH, WEST), ROWS)
    assert started(bench, 0, "narrow_to_wide") == 1 + (1 + 5 + 5) + 7


TEXT = """
r: record tiles=0x3 parts=3
north: mesh_in tiles=0x3 side=north write=[w:4 @0x0+w*4] fill=7 produce=w
rows: narrow_to_wide tiles=0x1 read=[w:64 @0x0+w*4] write=[r:1 @0x0+r*256] wait=mesh_north_in>=1
west: mesh_in tiles=0x2 side=west write=[w:4 @0x100+w*4] fill=3
"""


def test_a_record_as_text_and_as_bytes() -> None:
    made = program(TEXT, "edge-1x1", grid__columns=2, instruction_bus__record_words=1)
    assert faults(made) == []
    text = ASSEMBLY.write(made)
    assert "r: record tiles=0x3 parts=3\nnorth: mesh_in" in text
    assert same(ASSEMBLY.binary.decode(ASSEMBLY.binary.encode(made)), made)


@pytest.mark.parametrize("missing", ["north", "rows", "west"])
def test_both_models_agree_on_it_with_each_of_its_parts_or_without_it(missing: str) -> None:
    """Without what fills, what waits for it hangs; without another, the run is another one."""
    whole = program(TEXT, "edge-1x1", grid__columns=2, instruction_bus__record_words=1)
    kept = tuple(op for op in whole.run if op.label != missing)
    [head, *parts] = kept
    assert isinstance(head, Record)
    less = replace(whole, run=(replace(head, parts=2), *parts))
    both = tilesim.simulate(whole, []).cycles, stepped.simulate(whole, []).cycles
    assert both[0] == both[1]
    if missing == "north":
        with pytest.raises(tilesim.HangError, match="rows"):
            tilesim.simulate(less, [])
        return
    run, other = tilesim.simulate(less, []), stepped.simulate(less, [])
    assert run.cycles == other.cycles <= both[0]
    engine = {"rows": "tile0.narrow_to_wide", "west": "tile1.mesh_in_west"}[missing]
    assert "busy" not in other.units[f"chip.{engine}"]


def test_a_hang_names_the_record() -> None:
    """Rows wait for a flag that nobody raises; the third finds the buffer full."""
    line_of = "narrow_to_wide tiles=0x1 read=[w:64 @0x0+w*4] write=[r:1 @0x0+r*256]"
    text = f"a: {line_of} wait=mesh_north_in>=1\nr: record tiles=0x1 parts=2\nb: {line_of}\nc: {line_of}\n"
    made = program(text, "edge-1x1", instruction_bus__record_words=1, instruction_bus__buffer_depth=1)
    with pytest.raises(tilesim.TilesimError) as hang:
        tilesim.simulate(made, [], rules="observe")
    assert "a place in the instruction buffer of narrow_to_wide, for a sub-instruction of r" in str(hang.value)
