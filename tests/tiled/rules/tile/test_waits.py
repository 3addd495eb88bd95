"""Waits for later instructions."""

from tests.tiled.programs import program
from tilesim.tiled.rules.tile.hazards import hazards

MAKE = "make: tensorop tiles=1 operation=maximum nest=[y:2,lane:4] input=@0x0+y*4 output=@{0}+y*4 produce=y"
SEND = "send: mesh_out tiles=1 side=south read=[w:2 @{0}+w*4] wait=avdata>={1} produce=w"
LATER = "later: tensorop tiles=1 operation=maximum nest=[y:2,lane:4] input=@0x40+y*4 output=@0x80+y*4 produce=y"


def test_a_wait_for_an_instruction_before_is_none_of_our_business() -> None:
    assert hazards(program("\n".join([MAKE.format("0x100"), LATER, SEND.format("0x100", 2)]))) == []


def test_a_wait_for_a_later_instruction_that_makes_what_is_sent_is_fine() -> None:
    assert hazards(program("\n".join([SEND.format("0x80", 1), LATER]))) == []


def test_a_wait_for_a_later_instruction_that_shares_no_bytes_is_refused() -> None:
    found = hazards(program("\n".join([MAKE.format("0x100"), SEND.format("0x100", 2), LATER])))
    end = "which only later (tensorop) does, later in the program and with no bytes in common"
    assert found == [f"tile 0: send (mesh_out) waits for avdata to reach 2, {end}"]


def test_a_wait_for_what_comes_behind_the_one_that_clears_the_place_is_fine() -> None:
    """A row may be filled again when what was made of it has been sent."""
    fill = "fill: mesh_in tiles=1 side=north write=[y:2,b:1 @0x40] fill=0 wait=mesh_south_out@y>=0+1 produce=b"
    later = LATER.replace("0x40+y*4", "0x40").replace(" produce", " wait=mesh_north_in@y>=1+1 produce")
    later = later.replace("[y:2,lane:4]", "[y:2,x:1,lane:4]").replace("produce=y", "produce=x")
    send = SEND.format("0x80", 1).replace("avdata>=1 produce=w", "avdata@w>=1+1 produce=b").replace("w:2", "w:2,b:1")
    assert hazards(program(f"{fill}\n{later}\n{send}")) == []
    assert len(hazards(program(f"{fill.replace('0+1', '0+0')}\n{later}\n{send}"))) == 1


def test_a_wait_that_nothing_ends_is_left_to_the_run_to_explain() -> None:
    assert hazards(program("\n".join([MAKE.format("0x100"), SEND.format("0x100", 9)]))) == []
