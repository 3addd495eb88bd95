"""What a hang report says that the program holds for each wait."""

from __future__ import annotations

import pytest

from tests.tiled.programs import program
from tilesim import simulate
from tilesim.errors import HangError

TAKE = "take: ring_consume tiles=0x1 write=[r:2 @0x40+r*16] produce=r"
SEND = "send: infeed source=data rows=2 to=0x1"
COPY = "copy: wide_to_narrow tiles=0x1 read=[r:2 @0x40+r*16] write=[w:8 @0x0+w*4] wait=ring_read_a>={}"
CLEAR = "clear: tile_fence tiles=0x1 reset=ring_read_a"


def report(run: str, load: str = "", **changes: object) -> list[str]:
    """The lines of the report on a program that hangs."""
    with pytest.raises(HangError) as caught:
        simulate(program(run, load=load, **changes), [], rules="observe")
    return str(caught.value).splitlines()


@pytest.mark.parametrize(
    ("run", "load", "cause"),
    [
        ([COPY.format(1)], "", "no instruction raises it"),
        ([TAKE, SEND, COPY.format(3)], "", "take raises it, to 1 in all"),
        ([COPY.format(3)], f"{TAKE}\n{SEND}", "take raises it, to 1 in all"),
        ([CLEAR, COPY.format(1)], f"{TAKE}\n{SEND}", "take raised it, but a fence has set it back since"),
        (
            [COPY.format(1), "f: scalar_fence count=1", TAKE, SEND],
            "",
            "take raises it, to 1 in all, but take has not come to the tile",
        ),
    ],
)
def test_a_flag_that_nobody_can_raise_any_more(run: list[str], load: str, cause: str) -> None:
    assert f"flag ring_read_a of tile 0: {cause}" in report("\n".join(run), load)


def test_a_flag_that_somebody_can_raise_has_its_line_already() -> None:
    lines = report(f"{TAKE}\n{COPY.format(1)}")
    assert any(line.endswith("and only take can still raise it") for line in lines)
    assert not any(line.startswith("flag ") for line in lines)


def test_the_load_program_is_not_helped_by_the_run() -> None:
    lines = report(f"{TAKE}\n{SEND}", load=COPY.format(1))
    assert lines[0].startswith("the load program hangs")
    assert "flag ring_read_a of tile 0: no instruction raises it" in lines


@pytest.mark.parametrize(
    ("run", "line"),
    [
        (TAKE, "tile 0: the program sends it no rows and takes 2 rows (take 2) there"),
        (
            f"{TAKE.replace('r:2', 'r:3')}\n{SEND}",
            "tile 0: the program sends it 2 rows (send 2), of which 2 have come, and takes 3 rows (take 3) there",
        ),
        (SEND, "tile 0: the program sends it 2 rows (send 2), of which none has come, and takes no rows there"),
        (
            f"{SEND}\nf: scalar_fence count=1\n{TAKE}",
            (
                "tile 0: the program sends it 2 rows (send 2), of which none has come, and takes 2 rows (take 2) "
                "there, but take has not come there"
            ),
        ),
        (
            "send: infeed source=data rows=1 to=0x8",
            "sink: the program sends it 1 row (send 1), of which none has come, and takes no rows there",
        ),
        (
            "\n".join(f"send{k}: infeed source=data rows=1 to=0x1" for k in range(5)),
            (
                "tile 0: the program sends it 5 rows (send0 1, send1 1, send2 1 and 2 more), of which none has come, "
                "and takes no rows there"
            ),
        ),
    ],
)
def test_rows_that_do_not_come_and_rows_that_nobody_takes(run: str, line: str) -> None:
    assert line in report(run)


def test_rows_that_go_round_for_ever_are_counted_too() -> None:
    line = "tile 0: the program sends it 2 rows (send 2), of which none has come, and takes no rows there"
    assert line in report(SEND, ring__no_consumer="circulate")


def test_a_stop_that_a_packet_only_passes_is_not_named() -> None:
    lines = report("send: infeed source=data rows=9 to=0x2")
    assert [line for line in lines if ": the program sends it" in line] == [
        "tile 1: the program sends it 9 rows (send 9), of which none has come, and takes no rows there"
    ]


def produce(label: str, tile: int, more: str = "") -> str:
    return f"{label}: ring_produce tiles={1 << tile:#x} read=[r:1 @0x0] to=0x4{more}"


@pytest.mark.parametrize(
    ("run", "line"),
    [
        (
            [produce("first", 0, " wait=ring_producer_a>=1"), produce("second", 1)],
            "ring stop of tile 0: nothing passes it; second (ring_produce of tile 1) does not",
        ),
        (
            [produce("late", 0, " wait=ring_producer_a>=1"), produce("early", 0)],
            "ring stop of tile 0: nothing passes it; early (ring_produce of tile 0) waits behind late",
        ),
        (
            [produce("a", 0), produce("b", 1, " wait=ring_producer_a>=2")],
            "ring stop of tile 1: a (ring_produce of tile 0) passes it",
        ),
        (
            ["send: infeed source=data rows=1 to=0x4 turn=1", produce("m", 1)],
            "ring stop of source: nothing passes it; m (ring_produce of tile 1) does not",
        ),
    ],
)
def test_a_turn_that_does_not_come(run: list[str], line: str) -> None:
    take = "take: ring_consume tiles=0x4 write=[r:2 @0x40+r*16]"
    assert line in report("\n".join([take, *run]), grid__rows=3)


def test_words_that_one_end_of_a_mesh_link_does_not_have() -> None:
    fill = "f: mesh_in tiles=0x1 side=east fill=1 write=[w:4 @0x40+w*4]"
    lines = report(f"x: mesh_in tiles=0x1 side=south write=[w:8 @0x0+w*4]\n{fill}")
    assert lines[-1] == "mesh from tile 1 to tile 0: the program sends no words and takes 8 words (x 8)"


def test_a_scalar_fence_counts_what_stands_before_it() -> None:
    fence = "{}: tile_fence tiles=0x3 increment=1"
    run = [fence.format("a"), "first: scalar_fence count=1", "second: scalar_fence count=2", fence.format("b")]
    assert report("\n".join(run))[-1] == (
        "second expects 2 tile fences: before it the program has 2 tile fences (a 2), of which scalar fences before it "
        "take 1"
    )
