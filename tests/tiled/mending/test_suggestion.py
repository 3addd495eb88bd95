"""The smallest wait or fence that mends a refuted program: it proves it, and changes no byte that was right."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from random import Random

import numpy as np
import pytest

from tests.soak import counts
from tests.tiled.mending.refuted import Refuted, refuted_programs
from tests.tiled.programs import program
from tests.tiled.rules.lines import consume, fence, send
from tilesim import load_program
from tilesim.machines import frame
from tilesim.machines.machine import Suggestion
from tilesim.machines.options import silent
from tilesim.shipped import shipped
from tilesim.tiled import stepped
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.mending import suggestion
from tilesim.tiled.mending.runs import Outcome, outcome_of
from tilesim.tiled.mending.suggestion import suggested
from tilesim.tiled.rules.proof import proof_of
from tilesim.tiled.rules.ring.readings import Reading
from tilesim.tiled.rules.tile.hazards import unordered
from tilesim.tiled.run.delayed_issue import tiles_of
from tilesim.tiled.run.touched import misplaced

GUIDED = shipped("workloads") / "dual-master"
SHARE = 0.95
DELAYS, LATEST, HELD = 2, 300, 8


@pytest.mark.parametrize("programs", counts(16, 600))
def test_random_programs_are_mended_and_leave_the_same_bytes(programs: int) -> None:
    mended = Counter[bool]()
    for number, refuted in enumerate(islice(refuted_programs(), programs)):
        made = suggested(refuted.program, refuted.reading, silent)
        mended[made.mended is not None] += 1
        if made.mended is None:
            assert made.document["left"]
            continue
        assert proof_of(made.mended, refuted.reading).proven
        must_leave_what_is_meant(refuted, made.mended, Random(number))  # noqa: S311  (no secret)
    assert mended[True] >= SHARE * programs, mended


def must_leave_what_is_meant(refuted: Refuted, mended: Program, random: Random) -> None:
    """As it was where it was right, as the program did before it lost anything, and whichever instructions are held."""
    before, after = (outcome_of(each) for each in (refuted.program, mended))
    assert after is not None
    assert after.orderly
    if before is not None and before.orderly and before.taken == after.taken:
        assert before.digest == after.digest
    if refuted.intact is not None and keeps_order(refuted.intact, refuted.program):
        assert leaves(refuted.intact) == after.digest
    named = frame.named(mended)
    labels = [op.label for op in named.run if tiles_of(op) is not None]
    for _ in range(DELAYS):
        some = random.sample(labels, random.randint(1, min(HELD, len(labels))))
        held = {label: random.randrange(LATEST) for label in some}
        assert leaves(named, held) == after.digest, held


def keeps_order(intact: Program, refuted: Program) -> bool:
    """Whether a program makes the accesses that another one leaves in no order in that of the program, and not in turn,
    of which nothing may tell any more.
    """
    races = refuted.once(unordered) if refuted.run else []
    watched = {(pair.tile, label) for pair in races for label in (pair.first, pair.other)}
    inputs = [np.zeros(tensor.shape, tensor.dtype) for tensor in intact.inputs]
    run = stepped.simulate(intact, inputs, observes=True, watched=watched) if watched else None
    return run is None or not misplaced(refuted, run.touches)


def leaves(written: Program, held: dict[str, int] | None = None) -> str | None:
    outcome = outcome_of(written, held or {})
    return None if outcome is None else outcome.digest


def changes(made: Suggestion[Program]) -> list[str]:
    return [line.strip() for change in made.document["changes"] for line in change["added"]]


@pytest.mark.parametrize(
    ("name", "line", "cycles"),
    [
        ("overlap", "other.send: ring_produce tiles=0x2 read=[r:4 @0x0+r*16] to=0x8 wait=ring_producer_a>=1", (29, 32)),
        (
            "shared-node",
            "other.send: ring_produce tiles=0x8 read=[r:4 @0x0+r*16] to=0x10 wait=ring_producer_a>=1",
            None,
        ),
        (
            "wraps-overlap",
            "inner.send: ring_produce tiles=0x1 read=[r:4 @0x0+r*16] to=0x8 wait=ring_producer_a>=1",
            None,
        ),
    ],
)
def test_a_guided_program_wants_one_wait(name: str, line: str, cycles: tuple[int, int] | None) -> None:
    refuted = load_program(GUIDED / f"{name}.tasm")
    assert isinstance(refuted, Program)
    made = suggested(refuted, Reading.MEET, silent)
    assert changes(made) == [line]
    assert made.document["additions"] == 1
    assert made.document["proof"]["proven"]
    if cycles is not None:
        assert made.document["cycles"] == dict(zip(("before", "after"), cycles, strict=True))


def test_what_is_proven_needs_nothing() -> None:
    proven = program(consume(3) + send("a", 0, 3), "ring-8")
    made = suggested(proven, Reading.MEET, silent)
    assert made.mended is not None
    assert made.mended.run == proven.run
    assert (made.document["additions"], made.document["changes"], made.document["search"]["proofs"]) == (0, [], 1)


def test_of_mends_of_one_size_the_fastest_is_suggested() -> None:
    """A turn takes fewer cycles than a fence, which holds the controller until rows have come."""
    lines = consume(2, 16) + send("a", 0, 2, rows=16) + consume(3) + send("b", 1, 3)
    made = suggested(program(lines, "ring-8"), Reading.MEET, silent)
    assert made.document["search"]["proven"] > 1
    assert "wait=ring_producer_a>=1" in changes(made)[0]


def test_a_fence_stands_before_what_it_holds() -> None:
    made = suggested(
        program(consume(1) + consume(5) + send("a", 0, 1) + send("b", 4, 5), "ring-8"), Reading.SINGLE, silent
    )
    [change] = made.document["changes"]
    assert (change["section"], change["place"], change["additions"], change["removed"]) == ("run", 3, ["fence"], [])
    assert [line.strip() for line in change["added"]] == [
        "tile_fence tiles=0x2 idle=ring_consumer increment=1",
        "scalar_fence count=1",
    ]
    assert change["kept"][0].startswith("b: ring_produce")


def test_a_counter_that_stands_above_0_is_left_as_it_was() -> None:
    first = "f: tile_fence tiles=0x1 idle=ring_consumer increment=2\n"
    lines = first + consume(1) + send("a", 0, 1) + send("b", 4, 5) + consume(5) + "s: scalar_fence count=2\n"
    made = suggested(program(lines, "ring-8"), Reading.SINGLE, silent)
    assert "tile_fence tiles=0x2 idle=ring_consumer increment=3" in changes(made)
    assert "scalar_fence count=3" in changes(made)


def test_accesses_are_put_in_the_order_of_the_program() -> None:
    """Row by row, which is faster than all at once."""
    lines = (
        consume(3, rows=4, row=0)
        + send("a", 0, 3)
        + "d: wide_to_narrow tiles=0x8 read=[r:4 @0x0+r*16] write=[w:16 @0x0+w*4]\n"
    )
    made = suggested(program(lines, "ring-8"), Reading.MEET, silent)
    [line] = changes(made)
    assert line.endswith(" wait=ring_read_a@r>=1+1")


@pytest.mark.parametrize(
    ("lines", "rule", "reason"),
    [
        (consume(3, 5) + send("a", 0, 3), "arrivals", "what is sent must be taken, row by row"),
        (consume(3) + send("a", 0, 3, wait="ring_read_a>=1"), "deadlock", "more waits only hold back more"),
        (
            consume(3) + consume(3, name="d3", row=12) + send("a", 0, 3) + fence("ring_consumer", 3) + send("b", 1, 3),
            "deadlock",
            "more waits only hold back more",
        ),
        (
            "x: ring_produce tiles=0x1 read=[r:4 @0x8+r*16] to=0x8\n",
            "instructions",
            "whatever waits, the chip can't run it",
        ),
    ],
)
def test_what_no_wait_can_mend_is_said(lines: str, rule: str, reason: str) -> None:
    made = suggested(program(lines, "ring-8"), Reading.MEET, silent)
    assert made.mended is None
    assert rule in {left["rule"] for left in made.document["left"]}
    assert any(left["reason"].startswith(reason) for left in made.document["left"] if left["rule"] == rule)


def test_that_nobody_tells_of_what_is_posted_is_said() -> None:
    made = suggested(
        program(consume(3) + send("a", 0, 3), "ring-8", ring__no_consumer="circulate"), Reading.MEET, silent
    )
    assert [left["rule"] for left in made.document["left"]] == ["posted"]
    assert made.document["left"][0]["reason"] == "no flag and no fence tells that an instruction is posted"


def test_buffers_that_are_too_small_are_said_to_be() -> None:
    masters = "".join(send(f"p{k}", 1, 2, rows=1, wait="ring_read_a>=1") for k in range(6))
    made = suggested(
        program(masters + consume(2, 6) + send("z", 0, 1, rows=1) + consume(1, 1), "ring-8"), Reading.MEET, silent
    )
    assert "instruction_bus.buffer_depth" in {left["rule"]: left["reason"] for left in made.document["left"]}["buffers"]


def test_what_changes_bytes_that_were_right_is_not_suggested(monkeypatch: pytest.MonkeyPatch) -> None:
    """If there were a mend that did."""
    outcomes = iter([Outcome(30, "right", orderly=True), *(Outcome(20, f"wrong {k}", orderly=True) for k in range(99))])
    monkeypatch.setattr(suggestion, "outcome_of", lambda *_args, **_more: next(outcomes))
    made = suggested(
        program(consume(2) + consume(3) + send("a", 0, 2) + send("b", 1, 3), "ring-8"), Reading.MEET, silent
    )
    assert made.mended is None
    assert made.document["left"][0]["rule"] == "data"


def test_a_fence_that_is_suggested_ends_a_record() -> None:
    fill = "r: record tiles=0x1 parts=2\nfill: mesh_in tiles=0x1 side=north write=[w:4 @0x0+w*4] fill=7\n"
    use = "use: narrow_to_wide tiles=0x1 read=[r:1,w:4 @0x0+r*16+w*4] write=[r:1 @0x100+r*16]\n"
    made = suggested(program(fill + use, "ring-8", instruction_bus__record_words=1), Reading.MEET, silent)
    assert made.mended is not None
    assert [op.mnemonic for op in made.mended.run] == ["record", "mesh_in", "tile_fence", "narrow_to_wide"]
    shorter, fence = made.document["changes"]
    assert shorter["removed"] == ["r: record tiles=0x1 parts=2"]
    assert shorter["added"] == ["r: record tiles=0x1 parts=1"]
    assert (shorter["additions"], fence["additions"]) == (["shorter record"], ["fence"])
    assert made.document["additions"] == 1
