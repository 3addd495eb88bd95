"""What a chip's keys make of it, and which ones don't go together."""

from __future__ import annotations

import pytest

import tilesim
from tests.tiled.programs import program
from tests.tiled.units.bench import chip_of
from tilesim.errors import ConfigError
from tilesim.tiled.isa.checks.program import faults
from tilesim.tiled.topology import WHOLE, Ring

KIB = 1024


@pytest.mark.parametrize(
    ("tiles", "data_kib", "reserve_kib", "fits"),
    [(4, 256, 0, True), (4, 257, 0, False), (4, 256, 1, False), (5, 300, 4, True)],
)
def test_data_memory_against_the_wide_memories_of_all_tiles(
    tiles: int, data_kib: int, reserve_kib: int, fits: bool
) -> None:
    chip = chip_of(
        tiles,
        1,
        data_memory={"size_bytes": data_kib * KIB},
        wide_memory={"size_bytes": 64 * KIB, "reserve_bytes": reserve_kib * KIB},
    )
    assert chip.wide_memories_bytes == tiles * (64 - reserve_kib) * KIB
    assert chip.tiles_hold_data_memory is fits


def test_the_shipped_chips_have_more_data_memory_than_wide_memory() -> None:
    """32 MiB beside 16 times 512 KiB: what is cached has to be chosen."""
    chip = tilesim.load_topology("edge-4x4")
    assert (chip.wide_memories_bytes, chip.tiles_hold_data_memory) == (8 * KIB * KIB, False)


def test_links_are_as_wide_as_what_they_carry_if_nothing_else_is_said() -> None:
    chip = tilesim.load_topology("edge-4x4", {"wide_memory.row_bytes": 512})
    assert (chip.ring.width_bytes, chip.mesh.width_bytes) == (512, 4)
    assert (chip.ring_row_cycles, chip.mesh_beats) == (1, 1)
    assert chip.ring.hop_cycles == Ring().hop_cycles
    assert chip == tilesim.load_topology("edge-4x4", {"wide_memory.row_bytes": 512, "ring.width_bytes": 512})
    assert Ring().width_bytes == WHOLE, "it is each chip's own"


@pytest.mark.parametrize(("width", "cycles"), [(256, 1), (128, 2), (8, 32), (1, 256)])
def test_a_row_takes_as_many_cycles_as_it_has_parts(width: int, cycles: int) -> None:
    assert tilesim.load_topology("edge-4x4", {"ring.width_bytes": width}).ring_row_cycles == cycles


@pytest.mark.parametrize(("width", "beats"), [(4, 1), (2, 2), (1, 4)])
def test_a_word_takes_as_many_cycles_as_it_has_beats(width: int, beats: int) -> None:
    assert tilesim.load_topology("edge-4x4", {"mesh.width_bytes": width}).mesh_beats == beats


@pytest.mark.parametrize(
    ("key", "width", "fault"),
    [
        ("ring.width_bytes", 0, "must be at least 1, not 0"),
        ("ring.width_bytes", 48, "must be a power of two, not 48"),
        ("ring.width_bytes", 512, "must be at most wide_memory.row_bytes 256, not 512"),
        ("ring.width_bytes", "wide", "must be a whole number, not 'wide'"),
        ("mesh.width_bytes", 0, "must be at least 1, not 0"),
        ("mesh.width_bytes", 3, "must be a power of two, not 3"),
        ("mesh.width_bytes", 8, "must be at most narrow_memory.word_bytes 4, not 8"),
    ],
)
def test_widths_that_no_link_can_have_are_refused(key: str, width: object, fault: str) -> None:
    with pytest.raises(ConfigError) as found:
        tilesim.load_topology("edge-4x4", {key: width})
    assert [line.partition(f"{key}={width}: {key} ")[2] for line in found.value.faults] == [fault]


RESERVED = {"wide_memory__reserve_bytes": 32}


@pytest.mark.parametrize(
    "run",
    [
        "ring_consume tiles=1 write=[r:2 @{}+r*16]",
        "wide_to_narrow tiles=1 read=[r:1 @{}] write=[w:4 @0x0+w*4]",
        "tensorop tiles=1 operation=convolution nest=[x:2,lane:4] input=@0x0 weights=@{} sums_out=@0x100+x*16",
        "tensorop tiles=1 operation=convolution nest=[x:2,lane:4] input=@0x0 weights=@0x80 sums_out=@{}+x*16",
    ],
)
def test_a_program_that_touches_the_reserve_is_refused(run: str) -> None:
    """Reading it as well: it belongs to the tile's own code. The row behind it is anybody's."""
    assert faults(program(run.format("0x20"), "pocket-2x1", **RESERVED)) == []
    [fault] = faults(program(run.format("0x10"), "pocket-2x1", **RESERVED))
    assert (
        "must leave the first 32 bytes of the wide memory alone (wide_memory.reserve_bytes), not begin at 16" in fault
    )
