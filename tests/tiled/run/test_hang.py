"""What a hang report says of each wait: who was to end it, as the check says before the run."""

from __future__ import annotations

import pytest

from tests.tiled.programs import program
from tilesim import simulate
from tilesim.errors import HangError
from tilesim.tiled.rules.proof import proof_of

TAKE = "take: ring_consume tiles=0x1 write=[r:2 @0x40+r*16] produce=r"
SEND = "send: infeed source=data rows=2 to=0x1"
COPY = "copy: wide_to_narrow tiles=0x1 read=[r:2 @0x40+r*16] write=[w:8 @0x0+w*4] wait=ring_read_a>={}"
CLEAR = "clear: tile_fence tiles=0x1 reset=ring_read_a"
ONE = "one a tile that is fenced with an increment"
TAKER, COPIER = "take (ring_consume of tile 0) waits for", "copy (wide_to_narrow of tile 0) waits for"


def report(run: str, load: str = "", **changes: object) -> list[str]:
    """The lines of the report on a program that hangs."""
    with pytest.raises(HangError) as caught:
        simulate(program(run, load=load, **changes), [], rules="observe")
    return str(caught.value).splitlines()


def causes(run: str, load: str = "", **changes: object) -> list[str]:
    """Those of them that the check has said before."""
    before = [refutation.sentence for refutation in proof_of(program(run, load=load, **changes)).refutations]
    lines = [line for line in report(run, load, **changes) if not line.startswith("chip.")]
    return [line for line in lines if line in before]


@pytest.mark.parametrize(
    ("run", "load", "cause"),
    [
        ([COPY.format(1)], "", "reach 1; it stands at 0, and nothing else raises it"),
        ([TAKE, SEND, COPY.format(3)], "", "reach 3; it stands at 1, and nothing else raises it"),
        ([COPY.format(3)], f"{TAKE}\n{SEND}", "reach 3; it stands at 1, and nothing else raises it"),
        (
            [CLEAR, COPY.format(1)],
            f"{TAKE}\n{SEND}",
            "reach 1; it stands at 0, and nothing else raises it since a fence set it back",
        ),
    ],
)
def test_a_flag_that_nobody_can_raise_any_more(run: list[str], load: str, cause: str) -> None:
    assert causes("\n".join(run), load) == [f"{COPIER} ring_read_a to {cause}"]


def test_what_does_not_come_to_the_tile_waits_for_the_fence_in_front_of_it() -> None:
    assert causes("\n".join([COPY.format(1), "f: scalar_fence count=1", TAKE, SEND])) == [
        f"f (scalar_fence) waits for 1 tile fence, but those before it add none: {ONE}",
        f"{TAKER} f (scalar_fence)",
        "send (infeed) waits for f (scalar_fence)",
    ]


def test_who_waits_for_a_wait_that_is_explained_has_no_line_of_its_own() -> None:
    lines = report(f"{TAKE}\n{COPY.format(1)}")
    assert any(line.endswith("and only take can still raise it") for line in lines)
    assert [line for line in lines if line.startswith("copy")] == []


def test_the_load_program_is_not_helped_by_the_run() -> None:
    lines = report(f"{TAKE}\n{SEND}", load=COPY.format(1))
    assert lines[0].startswith("the load program hangs")
    assert lines[-1] == f"{COPIER} ring_read_a to reach 1; it stands at 0, and nothing else raises it"


@pytest.mark.parametrize(
    ("run", "lines"),
    [
        (
            TAKE,
            [
                f"{TAKER} rows at tile 0, where 2 are expected in all, but no row arrives",
                f"{TAKER} row 0 of 2, and nothing sends it",
            ],
        ),
        (
            f"{TAKE.replace('r:2', 'r:3')}\n{SEND}",
            [
                f"{TAKER} rows at tile 0, where 3 are expected in all, but only 2 rows arrive in all",
                f"{TAKER} row 2 of 3, and nothing sends it",
            ],
        ),
        (SEND, ["send (infeed) sends to tile 0, where 2 rows arrive in all, but instructions are posted for none"]),
        (
            "send: infeed source=data rows=1 to=0x8",
            ["send (infeed) sends to sink, where 1 row arrives in all, but instructions are posted for none"],
        ),
    ],
)
def test_rows_that_do_not_come_and_rows_that_nobody_takes(run: str, lines: list[str]) -> None:
    assert causes(run) == lines


def test_rows_that_go_round_for_ever_are_counted_too() -> None:
    [line] = causes(SEND, ring__no_consumer="circulate")
    assert line == "send (infeed) sends to tile 0, where 2 rows arrive in all, but instructions are posted for none"


def test_a_master_behind_rows_that_nobody_takes() -> None:
    """Only in a run: the check knows of no end of the ring."""
    behind = "\n".join(f"send{k}: infeed source=data rows=1 to=0x1" for k in range(5))
    assert report(behind)[-1] == "send2 (infeed) waits for send0 (infeed) to go first"
    assert report("send: infeed source=data rows=9 to=0x2")[-1] == (
        "send (infeed) waits for its rows to be taken at tile 1"
    )


def produce(label: str, tile: int, more: str = "") -> str:
    return f"{label}: ring_produce tiles={1 << tile:#x} read=[r:1 @0x0] to=0x4{more}"


NONE = "no other comes by, so that the turn never comes"


@pytest.mark.parametrize(
    ("run", "line"),
    [
        (
            [produce("first", 0, " wait=ring_producer_a>=1"), produce("second", 1)],
            f"first (ring_produce of tile 0) waits for a transfer to pass tile 0 before it, and none can: {NONE}",
        ),
        (
            [produce("a", 0), produce("b", 1, " wait=ring_producer_a>=2")],
            f"b (ring_produce of tile 1) waits for 2 transfers to pass tile 1 before it, and 1 can: {NONE}",
        ),
        (
            ["send: infeed source=data rows=1 to=0x4 turn=1", produce("m", 1)],
            f"send (infeed) waits for a transfer to pass source before it, and none can: {NONE}",
        ),
    ],
)
def test_a_turn_that_does_not_come(run: list[str], line: str) -> None:
    take = "take: ring_consume tiles=0x4 write=[r:2 @0x40+r*16]"
    assert causes("\n".join([take, *run]), grid__rows=3) == [line]


def test_words_that_one_end_of_a_mesh_link_does_not_have() -> None:
    fill = "f: mesh_in tiles=0x1 side=east fill=1 write=[w:4 @0x40+w*4]"
    assert causes(f"x: mesh_in tiles=0x1 side=south write=[w:8 @0x0+w*4]\n{fill}") == [
        "x (mesh_in of tile 0) waits for the other end of its mesh link, where no instruction is left"
    ]


def test_a_scalar_fence_counts_what_stands_before_it() -> None:
    fence = "{}: tile_fence tiles=0x3 increment=1"
    run = [fence.format("a"), "first: scalar_fence count=1", "second: scalar_fence count=2", fence.format("b")]
    assert causes("\n".join(run)) == [
        f"second (scalar_fence) waits for 2 tile fences, but those before it add only 1: {ONE}"
    ]


def test_a_full_buffer_is_named_by_what_stands_first_in_it() -> None:
    """Those that send wait for a row that is issued behind them; four have a place, and one is in hand."""
    sends = [f"p{k}: ring_produce tiles=0x2 read=[r:1 @0x0] to=0x4 wait=ring_read_a>=1" for k in range(6)]
    takes = ["c: ring_consume tiles=0x4 write=[r:6 @0x40+r*16]", "d: ring_consume tiles=0x2 write=[r:1 @0x80]"]
    run = "\n".join([*sends, takes[0], "z: ring_produce tiles=0x1 read=[r:1 @0x0] to=0x2", f"{takes[1]} produce=r"])
    [circle] = causes(run, grid__rows=3)
    assert "waits for a place in the buffer in which p0 (ring_produce of tile 1) stands first" in circle
