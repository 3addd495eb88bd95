"""What is said of the tiled chip's instructions: what they do, and who raises the flags that they wait for."""

from __future__ import annotations

import pytest

from tests.tiled.programs import program
from tilesim.machines.instructions import Wait
from tilesim.tiled.explanations import explanations, tiles_words

PACK = "pack: narrow_to_wide tiles=0x3 read=[w:8 @0x0+w*4] write=[g:2,r:1 @0x0+g*16] produce=r"
SEND = "send: ring_produce tiles=0x1 read=[r:2 @0x0+r*16] to=0x2 wait=narrow_to_wide@r>=1+1"
TAKE = "take: ring_consume tiles=0x2 write=[r:2 @0x40+r*16] produce=r"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (PACK, "copies 8 words of narrow memory from 0x0 into 2 rows of wide memory from 0x0"),
        (SEND, "sends 2 rows of wide memory from 0x0 over the ring to tile 1"),
        (TAKE, "takes from the ring into 2 rows of wide memory from 0x40"),
        (
            "mesh_in tiles=0x1 side=north write=[w:4 @0x0+w*4] fill=-3",
            "puts -3, for want of a neighbour, into 4 words of narrow memory from 0x0",
        ),
        (
            "mesh_in tiles=0x2 side=north write=[w:1 @0x0]",
            "takes from the north into 1 word of narrow memory from 0x0",
        ),
        ("mesh_out tiles=0x1 side=south read=[w:1 @0x10]", "sends 1 word of narrow memory from 0x10 to the south"),
        (
            "tile_fence tiles=0x3 reset=avdata increment=1",
            "holds its tiles' later instructions, then sets 1 flags to 0, and counts 1 at the controller",
        ),
        (
            "infeed source=host rows=2 to=0x1 transfers=2",
            "puts 4 rows from the host on the ring for tile 0, in 2 transfers, each a stop further",
        ),
        (
            "infeed source=data rows=1 address=0x20 to=0x4",
            "puts 1 rows from data memory from 0x20 on the ring for classifier",
        ),
        (
            "record tiles=0x3 parts=2",
            "is the header of the next 2 instructions, which come behind it in a word less each",
        ),
        ("outfeed output=0 rows=2", "passes 2 rows from the ring on to the host, as output 0"),
    ],
)
def test_what_an_instruction_does(line: str, words: str) -> None:
    assert explanations(program(line))[0].operands == words


def test_a_sub_instruction_names_its_record() -> None:
    lines = f"r: record tiles=0x3 parts=2\n{PACK}\n{SEND}\n{TAKE}"
    assert [each.operands.partition("; ")[2] for each in explanations(program(lines))] == ["", *["in record r"] * 2, ""]


def test_a_flag_is_raised_by_those_that_count_up_to_what_is_waited_for() -> None:
    pack, send = explanations(program(f"{PACK}\n{SEND}"))
    assert pack.raises == "narrow_to_wide +2"
    assert pack.tiles == (0, 1)
    assert send.unit == "ring_producer"
    assert send.waits == (Wait("narrow_to_wide ≥ 1 + k in round k of r, 2 at last", (0,)),)


def test_a_later_count_is_another_ones() -> None:
    twice = f"{PACK}\n{PACK.replace('pack', 'again')}\n{SEND.replace('@r>=1+1', '>=3')}"
    assert explanations(program(twice))[-1].waits == (Wait("narrow_to_wide ≥ 3", (1,)),)


def test_counts_begin_anew_behind_a_fence_that_resets_them() -> None:
    fence = "fence: tile_fence tiles=0x1 idle=narrow_to_wide reset=narrow_to_wide"
    again = f"{PACK}\n{fence}\n{PACK.replace('pack', 'again')}\n{SEND}"
    _, fence_, _, send = explanations(program(again))
    assert fence_.waits == (Wait("narrow to wide to be idle", (0,)),)
    assert fence_.unit == "instruction_bus.stop"
    assert send.waits[0].by == (2,)


def test_what_the_load_program_raised_counts_and_is_not_listed() -> None:
    assert explanations(program(SEND, load=PACK))[0].waits[0].by == ()


def test_its_turn_on_the_ring_no_instruction_raises() -> None:
    [wait] = explanations(program(SEND.replace("narrow_to_wide@r>=1+1", "ring_producer_a>=1")))[0].waits
    assert wait.words.startswith("ring_producer_a ≥ 1: its turn on the ring")
    assert wait.by == ()


def test_the_controller_waits_for_fences_since_it_last_did() -> None:
    fence = "tile_fence tiles=0x3 increment=1"
    lines = f"{fence}\nscalar_fence count=2\n{fence}\n{fence}\nscalar_fence count=4 idle=outfeed"
    waits = [explanation.waits for explanation in explanations(program(lines))]
    assert waits[1] == (Wait("2 fences of tiles", (0,)),)
    assert waits[4] == (Wait("4 fences of tiles, and outfeed to be idle", (2, 3)),)


def test_tiles_in_words() -> None:
    assert tiles_words([3]) == "tile 3"
    assert tiles_words([0, 1, 2, 5, 7, 8]) == "tiles 0-2, 5, 7-8"
    assert tiles_words(range(0, 32, 2)) == "16 tiles"
