"""Operands that leave their region."""

from tests.tiled.programs import program
from tilesim.tiled.rules.tile.regions import strays

REGIONS = """.region name=a memory=narrow tiles=0x1 address=0x0 bytes=32
.region name=b memory=narrow tiles=0x1 address=0x20 bytes=32"""
OP = "m: tensorop tiles=0x1 operation=maximum nest=[x:8,lane:4] input=@0x0+x*4 output=@0x20+x*4"


def test_operands_inside_one_region_are_fine() -> None:
    assert strays(program(OP, head=REGIONS)) == []


def test_an_operand_across_two_regions_strays() -> None:
    assert strays(program(OP.replace("@0x0", "@0x4"), head=REGIONS)) == [
        (
            "m tensorop: input must stay within one region of the narrow memory, such as a from 0x0 to 0x1f, "
            "not touch 0x4 to 0x23"
        )
    ]


def test_a_memory_without_regions_is_free() -> None:
    assert strays(program(OP.replace("@0x0", "@0x4"))) == []
