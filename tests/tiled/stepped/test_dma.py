"""The DMA engines of a tile, the mesh: unloaded latency and rate, cycle by cycle."""

from __future__ import annotations

import pytest

from tests.tiled.programs import program
from tests.tiled.stepped.bench import run
from tilesim.tiled.stepped.chip import Chip

ROW_WORDS = 4


@pytest.mark.parametrize("rows", [1, 2, 7])
def test_narrow_to_wide_takes_a_word_a_cycle_and_one_cycle_more(rows: int) -> None:
    words = rows * ROW_WORDS
    times = run(f"a: narrow_to_wide tiles=1 read=[w:{words} @0x0+w*4] write=[r:{rows} @0x0+r*16]")
    assert times.lasted("tile0.narrow_to_wide") == words + 1


@pytest.mark.parametrize("rows", [1, 2, 7])
def test_wide_to_narrow_takes_a_word_a_cycle_and_one_cycle_more(rows: int) -> None:
    words = rows * ROW_WORDS
    times = run(f"a: wide_to_narrow tiles=1 read=[r:{rows} @0x0+r*16] write=[w:{words} @0x0+w*4]")
    assert times.lasted("tile0.wide_to_narrow") == words + 1


FILL = "writer: mesh_in tiles=1 side=north write=[w:4 @0x0+w*4] fill=3"
MAXIMUM = (
    "fill: mesh_in tiles=1 side=south write=[w:1 @0x40] fill=3 produce=w\n"
    "writer: tensorop tiles=1 operation=maximum nest=[x:4,lane:4] input=@0x40 output=@0x0+x*4 wait=mesh_south_in>=1"
)


@pytest.mark.parametrize("writer", [FILL, MAXIMUM], ids=["mesh", "tensor control"])
def test_a_copy_reads_what_stood_there_at_the_start_of_the_cycle(writer: str) -> None:
    """Whoever writes in the same cycle: engines that are asked before the copy, and those asked after it."""
    unordered = program(f"{writer}\ncopy: narrow_to_wide tiles=1 read=[w:4 @0x0+w*4] write=[r:1 @0x0]")
    ahead = set()
    for until in range(48):
        chip = Chip(unordered.topology, unordered.data, keeps_spans=False, watched={(0, "writer"), (0, "copy")})
        chip.run(unordered.run, [], {("writer", 0): until})
        written = {touch.address: touch.cycle for touch in chip.touches[0, "writer"] if touch.writes}
        read = {touch.address: touch.cycle for touch in chip.touches[0, "copy"] if not touch.writes}
        row = chip.tiles[0].memories.wide.read(0, 16)
        assert [row[at] for at in read] == [3 * (written[at] < read[at]) for at in read]
        ahead |= {read[at] - written[at] for at in read}
    assert 0 in ahead
    assert min(ahead) < 0 < max(ahead)


@pytest.mark.parametrize("words", [1, 2, 9])
def test_a_fill_takes_a_word_a_cycle_and_one_cycle_more(words: int) -> None:
    times = run(f"a: mesh_in tiles=1 side=north write=[w:{words} @0x0+w*4] fill=3")
    assert times.lasted("tile0.mesh_in_north") == words + 1


@pytest.mark.parametrize("memory", ["narrow", "wide"])
@pytest.mark.parametrize(("most", "hop"), [(1, 1), (2, 1), (4, 1), (4, 3), (2, 5)])
def test_the_mesh_reads_as_its_credits_come_back(most: int, hop: int, memory: str) -> None:
    """Word k is read in cycle (k // c) * max(c, h + 1) + k % c, and both ends retire h + 1 after the last."""
    words = 2 * ROW_WORDS
    if memory == "narrow":
        out = into = f"[w:{words} @0x0+w*4]"
    else:
        out = into = f"[r:{words // ROW_WORDS} @0x0+r*16]"
    lines = f"in: mesh_in tiles=2 side=north write={into}\n" + (
        f"out: mesh_out tiles=1 side=south read={out}" + (" memory=wide" if memory == "wide" else "")
    )
    times = run(lines, mesh__credits=most, mesh__hop_cycles=hop, mesh__destination=memory)
    expected = [(k // most) * max(most, hop + 1) + k % most for k in range(words)]
    start = times.began("tile0.mesh_out_south")
    assert [cycle - start for cycle in times.busy("tile0.mesh_out_south")] == expected
    assert times.busy("mesh.tile0.south") == times.busy("tile0.mesh_out_south")
    assert times.ended("tile0.mesh_out_south") == times.ended("tile1.mesh_in_north") == start + expected[-1] + hop + 1


def test_words_wait_on_the_link_for_who_comes_later() -> None:
    times = run("out: mesh_out tiles=1 side=south read=[w:2 @0x0+w*4]\nin: mesh_in tiles=2 side=north write=[w:2 @0x0]")
    first = times.began("tile1.mesh_in_north")
    assert times.busy("tile0.mesh_out_south")[-1] < first
    assert times.busy("tile1.mesh_in_north") == [first, first + 1]


def test_a_multiplier_delays_the_first_address() -> None:
    lines = "a: mesh_in tiles=1 side=north write=[w:2 @0x0] fill=3"
    times = run(lines, tile__traversal="multiplier", tile__multiplier_cycles=3)
    start = times.began("tile0.mesh_in_north")
    assert times.spans("tile0.mesh_in_north") == [
        (start, start + 3, "stall:traversal"),
        (start + 3, start + 6, "busy"),
    ]


def test_a_receiver_waits_for_its_flag_first_then_for_the_sender() -> None:
    lines = (
        "g: mesh_in tiles=2 side=east write=[w:20 @0x0] fill=1 produce=w\n"
        "in: mesh_in tiles=2 side=north write=[w:1 @0x40] wait=mesh_east_in@w>=1\n"
        "n: narrow_to_wide tiles=1 read=[w:40 @0x0] write=[r:10 @0x0+r*16]\n"
        "out: mesh_out tiles=1 side=south read=[w:1 @0x0] wait=narrow_to_wide>=0"
    )
    times = run(lines.replace("r*16]", "r*16] produce=r").replace(">=0", ">=1"))
    kinds = [kind for _, _, kind in times.spans("tile1.mesh_in_north")]
    assert kinds == ["stall:flag", "stall:fifo", "busy"]
