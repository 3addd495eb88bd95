"""Static checks of records."""

from __future__ import annotations

import pytest

from tests.tiled.programs import program
from tilesim.tiled.isa.checks.program import faults

FILL = "f{0}: mesh_in tiles={0} side=north write=[w:4 @0x0+w*4] fill=0"
ONE, TWO = FILL.format("0x1"), FILL.format("0x2")
HEAD = "r: record tiles=0x3 parts={}"


def found(*lines: str, words: int = 1) -> list[str]:
    return faults(program("\n".join(lines), "edge-1x1", grid__columns=2, instruction_bus__record_words=words))


def test_a_record_for_some_tiles_of_its_own_is_sound() -> None:
    assert found(HEAD.format(2), ONE, TWO, ONE.replace("f0x1", "alone")) == []


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ([HEAD.format(3), ONE, TWO], "the next 3 instructions must be for engines of tiles, not only 2 to the end"),
        (
            [HEAD.format(2), ONE, "tile_fence tiles=0x1 idle=tensor"],
            "the next 2 instructions must be for engines of tiles, not tile_fence among them",
        ),
        (
            ["r: record tiles=0x1 parts=2", ONE, TWO],
            "tiles must have those of its sub-instructions: f0x2 is for 0x2, too",
        ),
        ([HEAD.format(0)], "parts must be at least 1, not 0"),
        ([HEAD.format(1), HEAD.format(1).replace("r:", "q:"), ONE], "not record among them"),
    ],
)
def test_what_is_no_record(lines: list[str], sentence: str) -> None:
    [fault] = found(*lines)
    assert fault.startswith("r record: ")
    assert fault.endswith(sentence)


def test_the_chip_must_hold_its_header() -> None:
    six = [HEAD.format(6), *(f"x{k}: {ONE.partition(': ')[2]}" for k in range(6))]
    assert found(*six, words=2) == []
    assert found(*six) == [
        "r record: parts must be so few that its header has at most 1 words, not 6: it has 2",
    ]
    assert found(*six, words=0) == [
        "r record: a record must not be given on a chip without instruction_bus.record_words",
    ]


def test_no_broadcast_of_a_record() -> None:
    [fault] = found("b: broadcast tiles=0x1", "r: record tiles=0x2 parts=1", TWO)
    assert fault == (
        "b broadcast: an instruction for tiles behind tile 0, and none before it, must stand next, "
        "not a record, which comes part by part"
    )
