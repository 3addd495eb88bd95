"""Start times that the user gives: what they do to an instruction, and what is no start time."""

from __future__ import annotations

from typing import Any

import pytest

import tilesim
from tests.tiled.programs import program
from tilesim.tiled.isa.model.program import Program

RUN = """
take: ring_consume tiles=0x2 write=[r:2 @0x0+r*16]
send: ring_produce tiles=0x1 read=[r:2 @0x0+r*16] to=0x2
both: wide_to_narrow tiles=0x3 read=[r:1 @0x100] write=[w:4 @0x0+w*4] wait=ring_write>=0
"""


@pytest.fixture
def subject() -> Program:
    return program(RUN, load="fill: infeed source=data rows=1 to=0x1\nget: ring_consume tiles=0x1 write=[r:1 @0x40]")


def began(subject: Program, **held: int) -> dict[tuple[str, str], int]:
    """When each unit was first busy with each instruction, from the start of its section."""
    keys = {key.replace("_at_", "@"): cycle for key, cycle in held.items()}
    run = tilesim.simulate(subject, [], trace=True, holds=keys)
    trace, found = run.trace, {}
    assert trace is not None
    columns = (trace.track, trace.start_cycle, trace.kind, trace.what)
    for track, start, kind, what in zip(*columns, strict=True):
        if trace.kinds[kind] == "busy":
            name = trace.tracks[track].removeprefix("chip."), trace.whats[what]
            since = 0 if trace.whats[what] in ("fill", "get") else run.statistics["load_cycles"]
            found.setdefault(name, int(start) - since)
    return found


def stalls(subject: Program, track: str, **held: int) -> dict[str, int]:
    run = tilesim.simulate(subject, [], holds=held)
    return next(each["stall_cycles"] for each in run.statistics["units"] if each["track"] == f"chip.{track}")


@pytest.mark.parametrize(
    ("held", "track", "instruction"),
    [
        ({"send": 100}, "tile0.ring_producer", "send"),
        ({"send_at_0": 100}, "tile0.ring_producer", "send"),
        ({"both": 100}, "tile0.wide_to_narrow", "both"),
        ({"both_at_1": 100}, "tile1.wide_to_narrow", "both"),
        ({"fill": 100}, "infeed", "fill"),
    ],
)
def test_it_begins_in_its_cycle(subject: Program, held: dict[str, int], track: str, instruction: str) -> None:
    plain, late = began(subject), began(subject, **held)
    assert plain[track, instruction] < 40
    assert late[track, instruction] == 100


def test_one_tile_alone_is_held(subject: Program) -> None:
    plain, late = began(subject), began(subject, both_at_1=100)
    assert late["tile0.wide_to_narrow", "both"] == plain["tile0.wide_to_narrow", "both"]


def test_a_consumer_is_not_posted_before(subject: Program) -> None:
    assert began(subject, take=100)["tile1.ring_consumer", "take"] == 100


def test_a_cycle_that_is_past_holds_nothing(subject: Program) -> None:
    plain = tilesim.simulate(subject, []).statistics
    assert tilesim.simulate(subject, [], holds={"send": 1, "take": 0}).statistics == plain


def test_the_wait_is_a_stall_of_its_own(subject: Program) -> None:
    free = stalls(subject, "tile0.ring_producer")
    start = began(subject)["tile0.ring_producer", "send"]
    assert "hold" not in free
    assert stalls(subject, "tile0.ring_producer", send=100) == {**free, "hold": 100 - start}


def test_a_place_is_a_label_where_there_is_none() -> None:
    unnamed = program("ring_consume tiles=0x2 write=[r:1 @0x0]\nring_produce tiles=0x1 read=[r:1 @0x0] to=0x2")
    run = tilesim.simulate(unnamed, [], holds={"run[1]": 200})
    assert run.cycles == 200 + 2 + 1


def test_all_faults_at_once() -> None:
    subject = program(RUN + "f: tile_fence tiles=0x1 idle=tensor\nhost: infeed source=data rows=1 to=0x1\n")
    held: dict[str, Any] = {"sned": 1, "both@2": 2, "both@x": 3, "host@0": 4, "f": 5, "send": -1}
    with pytest.raises(tilesim.InputError) as caught:
        tilesim.simulate(subject, [], holds=held)
    assert caught.value.faults == (
        "hold must be the label of an instruction, not 'sned'; did you mean 'send'?",
        "hold 'both@2': must name a tile that both goes to (0, 1), not '2'",
        "hold 'both@x': must name a tile that both goes to (0, 1), not 'x'",
        "hold 'host@0': must name no tile: host goes to none",
        "hold 'f': must be an instruction that a unit takes up, not a tile_fence",
        "hold 'send': must be up to a cycle from 0 to 1099511627776, not -1",
    )


def test_other_rules_are_refused(subject: Program) -> None:
    with pytest.raises(
        tilesim.InputError, match="rules must be strict or observe, not 'strict '; did you mean 'strict'"
    ):
        tilesim.simulate(subject, [], rules="strict ")
