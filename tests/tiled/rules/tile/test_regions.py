"""Operands that leave their region, and what lies on cached parameters."""

from __future__ import annotations

from dataclasses import replace

from tests.tiled.programs import program
from tests.tiled.rules.lines import consume
from tilesim.tiled.isa.model.program import Program, Region
from tilesim.tiled.rules.proof import proof_of
from tilesim.tiled.rules.tile.regions import overlaps_between, strays

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


def cached(name: str, address: int, more: tuple[Region, ...] = ()) -> Program:
    region = Region("parameters", "wide", 0b1, address, 32)
    made = program(consume(0, 2) + "i: infeed source=data rows=2 to=0x1\n", "ring-8")
    return replace(made, name=name, regions=(region, Region("staging", "wide", 0b1, 0x80, 32), *more))


def test_nothing_may_lie_on_cached_parameters() -> None:
    assert proof_of(cached("a", 0x0)).proven
    outcome = proof_of(cached("a", 0x90))
    assert [refutation.sentence for refutation in outcome.refutations if refutation.rule == "parameters"] == [
        "region parameters and staging must not overlap, as they do from 0x90 to 0x9f of the wide memory of tile 0",
        "c0 ring_consume: write must not touch 0x90 to 0xaf of the wide memory of tile 0, where parameters are cached",
    ]


def test_programs_that_share_a_chip_leave_each_others_parameters_alone() -> None:
    assert list(overlaps_between([cached("a", 0x0), cached("b", 0x20)])) == []
    [sentence] = overlaps_between([cached("a", 0x0), cached("b", 0x10)])
    assert sentence == (
        "a and b: their regions parameters and parameters must not overlap, as they do from 0x10 to 0x1f of the wide "
        "memory of tile 0"
    )
    assert any("b: c0 ring_consume" in sentence for sentence in overlaps_between([cached("a", 0x90), cached("b", 0x0)]))
