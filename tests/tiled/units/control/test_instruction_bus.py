"""The way of an instruction: controller, bus, buffers, fences; each cycle of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.tiled.units.bench import Bench, chip_of, line
from tilesim.tiled.isa.model.fields import Engine, Flag, Side, Watcher
from tilesim.tiled.isa.model.instructions import MeshIn, NarrowToWide, RingConsume, ScalarFence, TileFence
from tilesim.tiled.topology import Topology

FILL = MeshIn(tiles=1, side=Side.NORTH, write=line(0, 10, 4), fill=0, label="fill")
"""6 words on the bus, 11 cycles of work."""
ROWS = NarrowToWide(tiles=1, read=line(0, 64, 4), write=line(0, 1, 256), label="rows")
"""7 words on the bus, 65 cycles of work."""
FILL_CYCLES, ROWS_CYCLES = 11, 65
BUSY = MeshIn(tiles=1, side=Side.EAST, write=line(0x100, 100, 4), fill=1, label="busy")
TOKEN = TileFence(tiles=1, increment=1, label="token")


def bus(rows: int = 1, columns: int = 1, **keys: int) -> Topology:
    return chip_of(rows, columns, instruction_bus=keys)


@pytest.mark.parametrize("hop", [1, 2, 3])
@pytest.mark.parametrize("tile", [0, 1, 3])
def test_an_instruction_of_n_words_is_there_after_its_hops_and_n_cycles(hop: int, tile: int) -> None:
    """t + (k + 1) * hop_cycles + n at stop k."""
    bench = Bench(bus(4, 1, hop_cycles=hop))
    bench.run(replace(FILL, tiles=1 << tile))
    assert bench.retired["fill"] == (tile + 1) * hop + 6 + FILL_CYCLES
    assert bench.unit(f"tile{tile}.mesh_in_north")["busy"] == FILL_CYCLES


@pytest.mark.parametrize(("width", "words"), [(4, 24), (16, 6), (32, 3), (96, 1), (128, 1)])
def test_a_narrow_bus_takes_more_cycles(width: int, words: int) -> None:
    bench = Bench(bus(width_bytes=width))
    bench.run(FILL)
    assert bench.retired["fill"] == 1 + words + FILL_CYCLES
    assert bench.unit("controller")["busy"] == words


@pytest.mark.parametrize("hop", [1, 2, 5])
@pytest.mark.parametrize(("width", "words"), [(16, 6), (128, 1)])
def test_the_bus_carries_a_word_a_cycle(hop: int, width: int, words: int) -> None:
    """Eight instructions enter without a gap, at any hop and length."""
    bench = Bench(bus(2, 1, hop_cycles=hop, width_bytes=width))
    bench.run(*(replace(FILL, label=f"{k}", tiles=2) for k in range(8)))
    assert bench.unit("controller")["busy"] == 8 * words
    assert "stall:credit" not in bench.unit("controller")
    spans = bench.spans("instruction_bus.stop1")
    assert [start for start, _, _, _ in spans[1:]] == [start + cycles for start, cycles, _, _ in spans[:-1]]


def test_a_multicast_is_sent_once_and_copied_at_each_stop_that_it_names() -> None:
    bench = Bench(bus(2, 2))
    bench.run(replace(FILL, tiles=0b1011))
    assert bench.unit("controller")["busy"] == 6
    starts = [bench.spans(f"tile{tile}.mesh_in_north") for tile in range(4)]
    assert [spans[0][0] if spans else None for spans in starts] == [1 + 6, 2 + 6, None, 4 + 6]


def test_a_full_buffer_stalls_the_bus_behind_it() -> None:
    """Depth 2: one instruction runs, two wait, the fourth stands at the stop and keeps others from passing."""
    bench = Bench(bus(2, 1, buffer_depth=2))
    work = [replace(ROWS, label=f"rows{k}") for k in range(4)]
    bench.run(*work, replace(FILL, tiles=2))
    first = 1 + 7 + ROWS_CYCLES
    assert [bench.retired[f"rows{k}"] for k in range(4)] == [first + k * ROWS_CYCLES for k in range(4)]
    # a place is freed when rows1 starts, and can be used from the next cycle on
    passed = first + 1 + 7
    assert bench.retired["fill"] == passed + 1 + 6 + FILL_CYCLES
    assert bench.unit("instruction_bus.stop0")["stall:fifo"] == first + 1 - (1 + 3 * 7)


def test_order_within_an_engine_but_not_between_engines() -> None:
    """Oracle 18: two instructions of one kind keep their order; a later one of another kind may finish first."""
    bench = Bench()
    bench.run(replace(ROWS, label="a"), replace(ROWS, label="b"), FILL)
    assert sorted(bench.retired, key=lambda name: bench.retired[name]) == ["fill", "a", "b"]


@pytest.mark.parametrize(("words", "rows", "done"), [(9, 6, (10, 25)), (24, 2, (25, 9))])
def test_a_tile_fence_holds_what_comes_behind_until_the_engines_have_drained(
    words: int, rows: int, done: tuple[int, int]
) -> None:
    """Oracle 17: with DMAs of 10 and 25 cycles pending, nothing passes before the 25th."""
    bench = Bench(chip_of(wide_memory={"row_bytes": 16}, tile={"lanes": 4}))
    bench.deliver(MeshIn(tiles=1, side=Side.EAST, write=line(0, words, 4), fill=0, label="mesh"))
    bench.deliver(NarrowToWide(tiles=1, read=line(0, 4 * rows, 4), write=line(0, rows, 16), label="rows"))
    bench.run(TOKEN, FILL)
    assert (bench.retired["mesh"], bench.retired["rows"]) == done
    assert bench.retired["fill"] == 25 + 6 + FILL_CYCLES


def test_a_tile_fence_waits_for_the_named_engines_alone() -> None:
    bench = Bench()
    bench.deliver(BUSY)
    bench.run(replace(TOKEN, idle=(Engine.MESH_IN_WEST,)), FILL)
    assert bench.retired["fill"] == 1 + 1 + 6 + FILL_CYCLES
    assert bench.retired["busy"] > 101


def test_other_tiles_instructions_pass_a_fence_only_if_they_are_before_it() -> None:
    """A fence holds those behind it that carry its tile's bit, and what stands behind those."""
    bench = Bench(bus(2, 1))
    bench.deliver(BUSY)
    bench.run(TOKEN, replace(FILL, tiles=2, label="passes"), FILL, replace(FILL, tiles=2, label="behind"))
    assert bench.retired["passes"] < 101
    assert bench.retired["fill"] == 101 + 6 + FILL_CYCLES
    assert bench.retired["behind"] > 101 + 6


def test_a_fence_resets_flags_before_anything_behind_it_counts() -> None:
    bench = Bench()
    fill = replace(FILL, produce="r")
    fence = TileFence(tiles=1, reset=(Flag.MESH_NORTH_IN,))
    late = replace(ROWS, wait=(Watcher(Flag.MESH_NORTH_IN, 1),))
    bench.run(fill, fence, late)
    assert bench.chip.tiles[0].flags.count(Flag.MESH_NORTH_IN) == 0
    assert "rows" not in bench.retired


@pytest.mark.parametrize("tiles", [1, 16])
def test_a_scalar_fence_is_released_by_the_last_token(tiles: int) -> None:
    """Oracle 17: expecting 16, it lets go on the 16th; then the counter is 0 again."""
    bench = Bench(bus(tiles, 1))
    everyone = (1 << tiles) - 1
    bench.deliver(BUSY, tile=tiles - 1)
    bench.run(replace(TOKEN, tiles=everyone), ScalarFence(count=tiles, label="fence"), FILL)
    assert bench.spans("controller")[-2:] == [(101, 1, "busy", "fence"), (102, 6, "busy", "fill")]
    assert bench.unit("controller")["stall:flag"] == 101 - 1
    assert bench.chip.sequencer.counters.count("tile_fences") == 0


def test_a_scalar_fence_that_expects_more_than_there_are_waits_for_ever() -> None:
    bench = Bench()
    bench.run(TOKEN, ScalarFence(count=2, label="fence"), FILL)
    waiting = bench.chip.sequencer.unit.waiting
    assert waiting is not None
    assert waiting.describe() == "2 tile fences to be through; so far 1 are"
    assert bench.retired == {}


def test_an_engine_without_instructions_is_idle_and_one_that_waits_is_not() -> None:
    bench = Bench()
    consume = RingConsume(tiles=1, write=line(0, 1, 256), label="consume")
    bench.chip.run((consume,), [])
    bench.chip.close(50)
    assert bench.unit("tile0.ring_consumer") == {"idle": 1 + 4, "stall:fifo": 45}
    assert bench.unit("tile0.narrow_to_wide") == {"idle": 50}
    assert bench.unit("tile0.tensor") == bench.unit("tile0.mac_array") == {"stall:work": 50}
