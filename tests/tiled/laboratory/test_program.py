"""Bare transfers as instructions."""

from __future__ import annotations

from typing import Any

import pytest

from tilesim import simulate
from tilesim.errors import ProgramError
from tilesim.tiled.isa.assembly import ASSEMBLY
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.laboratory.program import program_of
from tilesim.tiled.laboratory.scenario import Scenario
from tilesim.tiled.rules.proof import proof_of

A = {"name": "a", "master": 0, "to": (1, 2), "rows": 3}


def made(*transfers: dict[str, Any], **keys: Any) -> Program:
    return program_of(Scenario.model_validate({"tiles": 4, **keys, "transfers": transfers}), "made")


def lines(program: Program) -> list[str]:
    return ASSEMBLY.write(program).partition(".run\n")[2].splitlines()


def test_a_transfer_is_received_and_sent() -> None:
    assert lines(made(A)) == [
        "a.receive: ring_consume tiles=0x6 write=[r:3 @0x10] produce=r",
        "a.send: ring_produce tiles=0x1 read=[r:3 @0x0] to=0x6",
    ]


@pytest.mark.parametrize(
    ("when", "waits"),
    [
        ("sent", ["tile_fence tiles=0x1 idle=ring_producer increment=1", "scalar_fence count=1"]),
        ("taken", ["tile_fence tiles=0x6 idle=ring_consumer increment=1", "scalar_fence count=2"]),
        ("passed", ["wait=ring_producer_a>=1"]),
        ("received", ["wait=ring_read_a>=1"]),
    ],
)
def test_each_way_to_wait(when: str, waits: list[str]) -> None:
    found = lines(made(A, {"name": "b", "master": 1, "to": 3, "after": {"a": when}}))[2:]
    assert [line for line in found if any(line.endswith(wait) for wait in waits)]
    assert len(found) == 2 + (len(waits) == 2) * 2


def test_a_count_is_of_all_that_stand_before() -> None:
    """The tails that pass tile 2 are those of a and b: waiting for b's is waiting for two."""
    passing = {"name": "b", "master": 1, "to": 3}
    third = {"name": "c", "master": 2, "to": 3, "after": {"b": "passed"}}
    assert lines(made(A, passing, third))[-1].endswith(" wait=ring_producer_a>=2")
    assert lines(made({**A, "to": 1}, passing, third))[-1].endswith(" wait=ring_producer_a>=1")


def test_the_source_sends_and_the_sink_receives() -> None:
    found = made(
        {"name": "a", "master": 1, "to": "sink", "rows": 2},
        {"name": "b", "master": "source", "to": 0, "rows": 3, "after": "a"},
        {"name": "c", "master": "source", "to": 0, "rows": 1},
    )
    assert lines(found) == [
        "a.outfeed: outfeed output=0 rows=2",
        "a.send: ring_produce tiles=0x2 read=[r:2 @0x0] to=0x20",
        "b.after.a.awaited: scalar_fence count=0 idle=outfeed",
        "b.receive: ring_consume tiles=0x1 write=[r:3 @0x10] produce=r",
        "b.send: infeed source=data rows=3 to=0x1",
        "c.receive: ring_consume tiles=0x1 write=[r:1 @0x10] produce=r",
        "c.send: infeed source=data rows=1 to=0x1",
    ]
    assert simulate(found, []).outputs[0].shape == (1, 1, 1, 32)


def test_the_source_waits_for_its_turn() -> None:
    """A tail that goes round passes the source."""
    found = made(
        {"name": "a", "master": 3, "to": 0}, {"name": "b", "master": "source", "to": 1, "after": {"a": "passed"}}
    )
    assert lines(found)[-1] == "b.send: infeed source=data rows=4 to=0x2 turn=1"
    assert proof_of(found).proven


def test_any_number_of_rows_fits_a_tile() -> None:
    assert simulate(made({**A, "rows": 1024}), []).cycles > 2048


def test_a_program_must_fit_the_chip() -> None:
    with pytest.raises(ProgramError, match="must fit in the instruction memory of 16 bytes"):
        made(A, keys={"instruction_memory.size_bytes": 16})
