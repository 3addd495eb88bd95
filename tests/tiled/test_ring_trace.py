"""Packets on a ring, judged from a table: those of tilesim's own runs as the monitor of the run tells it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.soak import counts
from tests.tiled.rules.arena import mixed
from tilesim import load_program, simulate
from tilesim.errors import RunError
from tilesim.findings import Finding
from tilesim.machines import frame
from tilesim.shipped import shipped
from tilesim.sim.trace.packets import PacketSeen, save_packets
from tilesim.tiled import ring_trace
from tilesim.tiled.isa.model.instructions import Infeed, RingConsume, RingProduce
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.laboratory.program import program_of
from tilesim.tiled.laboratory.suite import cases
from tilesim.tiled.ring_trace import judged
from tilesim.tiled.rules.ring.readings import Reading
from tilesim.tiled.run.delayed_issue import holds_of
from tilesim.tiled.run.event_driven import run_sections
from tilesim.tiled.units.chip import Chip

GUIDED = sorted((shipped("workloads") / "dual-master").glob("*.tasm"))
LATEST = 60
"""Cycles: by then an undisturbed program is over."""


def verdict(folder: Path, reading: Reading, *packets: PacketSeen) -> dict[str, Any]:
    save_packets(packets, folder / "ring.csv")
    return judged(folder / "ring.csv", reading)


def told(findings: list[Finding]) -> list[Finding]:
    """What findings say of pairs of transfers, wherever their cycles begin."""
    kinds = {"meeting", "under way at once"}
    pairs: list[Finding] = [{**finding, "section": "trace"} for finding in findings if finding["kind"] in kinds]
    return sorted(pairs, key=lambda finding: (finding["cycle"], finding["kind"], finding["instructions"]))


@pytest.mark.parametrize("reading", Reading)
@pytest.mark.parametrize("path", GUIDED, ids=lambda path: path.stem)
def test_guided_programs_are_judged_as_their_runs_are(path: Path, reading: Reading, tmp_path: Path) -> None:
    packets: list[PacketSeen] = []
    run = simulate(load_program(path), rules="observe", masters=reading, on_packet=packets.append)
    document = verdict(tmp_path, reading, *packets)
    findings = told(run.statistics["findings"])
    assert told(document["findings"]) == findings
    assert document["kept"] == (not findings)
    assert document["unfinished"] == []


@pytest.mark.parametrize("every", counts(20, 1))
def test_the_cases_of_the_suite_are_judged_as_their_runs_are(every: int, tmp_path: Path) -> None:
    """At the start times with which they break the rule, if any do."""
    for name, case in [*cases().items()][::every]:
        program = program_of(case.scenario, name)
        for reading in Reading:
            packets: list[PacketSeen] = []
            held = case.start_times(reading)
            run = simulate(program, rules="observe", masters=reading, holds=held, on_packet=packets.append)
            findings = told(run.statistics["findings"])
            assert told(verdict(tmp_path, reading, *packets)["findings"]) == findings, (name, reading)
            assert bool(findings) >= bool(held), (name, reading)


@pytest.mark.parametrize("programs", counts(60, 2000))
def test_random_programs_are_judged_as_their_runs_are(programs: int, tmp_path: Path) -> None:
    """If they come to their end or not."""
    found = Counter[bool]()
    for seed in range(programs):
        random = Random(seed)  # noqa: S311  (no secret)
        program, reading = mixed(random).program(), random.choice([*Reading])
        packets, findings = observed(program, reading, random)
        assert told(verdict(tmp_path, reading, *packets)["findings"]) == told(findings), seed
        found[bool(findings)] += 1
    assert min(found.values()) > programs / 10


@pytest.mark.parametrize("programs", counts(30, 1000))
def test_rows_that_go_round_are_judged_likewise(programs: int, tmp_path: Path) -> None:
    """Of transfers whose rows come by again and again only those that meet: the nodes that they were to occupy are not
    in the table.
    """
    for seed in range(programs):
        random = Random(seed)  # noqa: S311  (no secret)
        program = mixed(random).program()
        topology = program.topology
        ring = topology.ring.model_copy(update={"no_consumer": "circulate"})
        program = replace(program, topology=topology.model_copy(update={"ring": ring}))
        packets, findings = observed(program, Reading.MEET, random)
        pairs = [(finding["cycle"], finding["instructions"]) for finding in told(findings)]
        mine = [
            (finding["cycle"], finding["instructions"])
            for finding in verdict(tmp_path, Reading.MEET, *packets)["findings"]
        ]
        assert sorted(mine) == sorted(pairs), seed


def observed(program: Program, reading: Reading, random: Random) -> tuple[list[PacketSeen], list[Finding]]:
    """The packets and the findings of a run in which some are held up."""
    chip = Chip(program.topology, 1, None, frame.forget, reading=reading)
    packets: list[PacketSeen] = []
    chip.monitor.tell(packets.append)
    labels = [op.label for op in program.run if isinstance(op, RingConsume | RingProduce | Infeed)]
    held = {label: random.randrange(LATEST) for label in random.sample(labels, random.randint(0, len(labels)))}
    try:
        run_sections(chip, program, [], holds_of(program, held))
    except RunError as error:
        return packets, error.findings
    return packets, chip.monitor.findings()


A = [(1, "1", "1", "a", False), (2, "2", "1", "a", False), (5, "1", "1", "a", True), (6, "2", "1", "a", True)]
MASTERS = {Reading.SINGLE: False, Reading.DISJOINT: True, Reading.MEET: True}


@pytest.mark.parametrize("reading", Reading)
def test_two_apart_are_only_under_way_at_once(reading: Reading, tmp_path: Path) -> None:
    document = verdict(tmp_path, reading, *A, (5, "7", "7", "b", False), (6, "7", "7", "b", True))
    assert {name: each["kept"] for name, each in document["readings"].items()} == MASTERS
    assert document["kept"] is MASTERS[reading]
    kinds = [finding["kind"] for finding in document["findings"]]
    assert kinds == ([] if MASTERS[reading] else ["under way at once"])


def test_that_last_cycle_does_not_count(tmp_path: Path) -> None:
    assert verdict(tmp_path, Reading.SINGLE, *A, (6, "7", "7", "b", True))["kept"]


@pytest.mark.parametrize(("cycle", "meets"), [(0, False), (1, False), (2, True), (5, True), (6, False), (7, False)])
def test_a_packet_between_the_first_and_the_last_meets(cycle: int, meets: bool, tmp_path: Path) -> None:
    """At node 2, where one that is sent comes behind one that is taken in that cycle."""
    document = verdict(tmp_path, Reading.MEET, *A, (cycle, "2", "2", "b", True))
    assert [finding["cycle"] for finding in document["findings"]] == ([cycle] if meets else [])


def test_lines_may_stand_in_any_order(tmp_path: Path) -> None:
    packets = [*A, (5, "2", "2", "b", True)]
    shuffled = Random(1).sample(packets, len(packets))  # noqa: S311  (no secret)
    assert verdict(tmp_path, Reading.MEET, *packets) == verdict(tmp_path, Reading.MEET, *shuffled)


def test_what_is_not_over_at_the_end_is_under_way_until_then(tmp_path: Path) -> None:
    document = verdict(tmp_path, Reading.MEET, *A[:3], (9, "2", "2", "b", True))
    assert document["unfinished"] == ["a"]
    assert [finding["instructions"] for finding in document["findings"]] == [["a", "b"]]


def test_a_tail_that_is_taken_on_another_lap_ends_a_transfer_all_the_same(tmp_path: Path) -> None:
    """Its other row comes by its master again."""
    lap = [(1, "1", "1", "a", False), (2, "2", "1", "a", True), (2, "1", "1", "a", True), (7, "1", "1", "a", False)]
    document = verdict(tmp_path, Reading.MEET, *lap, (8, "3", "1", "a", False), (9, "3", "3", "b", True))
    assert (document["unfinished"], document["kept"]) == ([], True)


def test_an_empty_table_keeps_to_everything(tmp_path: Path) -> None:
    document = verdict(tmp_path, Reading.SINGLE)
    assert (document["kept"], document["packets"], document["cycles"]) == (True, 0, [])


@pytest.mark.parametrize("bound", ["MOST_LOOKS", "MOST_PAIRS"])
def test_what_is_looked_at_is_bounded(bound: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ring_trace, bound, 0)
    crowd = [(cycle, "1", f"{cycle}", f"t{cycle}", False) for cycle in range(5)]
    assert verdict(tmp_path, Reading.MEET, *crowd)["complete"] is False
