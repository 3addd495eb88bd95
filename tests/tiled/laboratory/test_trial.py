"""Trials: verdicts under three readings, counterexamples, and what a run of them looks like."""

from __future__ import annotations

from typing import Any

import pytest

from tests.tiled.laboratory.brute_force import broken, events_of, groups_of
from tilesim.machines.trial import Trial, TrialDocument
from tilesim.tiled.laboratory.passages import observed
from tilesim.tiled.laboratory.scenario import Scenario
from tilesim.tiled.laboratory.suite import case_named
from tilesim.tiled.laboratory.trial import tried
from tilesim.tiled.rules.ring.readings import Reading

OVERLAP = ({"name": "low", "master": 0, "to": (1, 2)}, {"name": "high", "master": 1, "to": 3})


def trial(*transfers: dict[str, Any], reading: Reading = Reading.MEET, **keys: Any) -> Trial:
    return tried(Scenario.model_validate({"tiles": 4, **keys, "transfers": transfers}), "trial", reading)


def verdicts(document: TrialDocument) -> list[str]:
    return [reading["verdict"] for reading in document["readings"]]


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({}, ["refuted", "refuted", "refuted"]),
        ({"rows": 1}, ["refuted", "refuted", "refuted"]),
        ({"master": 3, "to": "sink"}, ["refuted", "proven", "proven"]),
        ({"after": "low"}, ["proven", "proven", "proven"]),
        ({"after": {"low": "passed"}}, ["not proven", "not proven", "proven"]),
        ({"after": {"low": "sent"}}, ["not proven", "not proven", "not proven"]),
    ],
)
def test_verdicts(changes: dict[str, Any], found: list[str]) -> None:
    low, high = OVERLAP
    result = trial(low, {**high, **changes})
    assert verdicts(result.document) == found
    assert result.verdict == found[-1]


def test_a_counterexample_begins_early_and_is_shown() -> None:
    document = trial(*OVERLAP).document
    [pair] = document["readings"][-1]["pairs"]
    assert pair["transfers"] == ["low", "high"]
    assert pair["start_times"] is not None
    assert max(pair["start_times"].values()) < 32
    picture = document["picture"]
    assert (picture["shows"], picture["start_times"]) == ("counterexample", pair["start_times"])
    [breach] = picture["breaches"]
    assert (breach["cycle"], breach["stop"]) == (pair["cycle"], pair["stop"])
    at_breach = [each for each in picture["passages"] if each["cycle"] == breach["cycle"]]
    assert "high" in [each["transfer"] for each in at_breach if document["nodes"][each["node"]] == breach["stop"]]


def test_a_breach_is_when_the_later_one_begins() -> None:
    """Two begin at once in the cycle in which the later one does."""
    for reading in Reading:
        picture = trial(*OVERLAP, reading=reading).document["picture"]
        begins = max(span["start"] for span in picture["under_way"])
        if reading is not Reading.MEET:
            assert [breach["cycle"] for breach in picture["breaches"] if "begins" in breach["sentence"]] == [begins]


def test_start_times_that_are_given_are_those_of_the_run() -> None:
    low, high = OVERLAP
    apart = trial({**low, "start": 40}, high).document["picture"]
    assert (apart["shows"], apart["start_times"], apart["breaches"]) == ("start", {"low.send": 40}, [])
    assert min(each["cycle"] for each in apart["passages"] if each["transfer"] == "low") > 40


def test_every_row_passes_every_node_of_its_way() -> None:
    document = trial(*OVERLAP).document
    for transfer in document["transfers"]:
        passed = [(each["node"], each["row"]) for each in document["picture"]["passages"]
                  if each["transfer"] == transfer["name"]]  # fmt: skip
        assert sorted(passed) == sorted((node, row) for node in transfer["path"] for row in range(transfer["rows"]))
    assert document["picture"]["ended"]
    low, _ = document["picture"]["under_way"]
    assert low["end"] == max(each["cycle"] for each in document["picture"]["passages"] if each["transfer"] == "low")


@pytest.mark.parametrize("width", [16, 8, 2, 1])
def test_on_a_narrow_ring_a_row_passes_for_as_many_cycles_as_it_has_parts(width: int) -> None:
    """Rows of 16 bytes; the verdicts are the same, and so are the pairs whose rule is broken in a run."""
    document = trial(*OVERLAP, keys={"ring.width_bytes": width}).document
    passages = document["picture"]["passages"]
    for transfer in document["transfers"]:
        for node, row in ((node, row) for node in transfer["path"] for row in range(transfer["rows"])):
            of_row = (transfer["name"], node, row)
            cycles = [each["cycle"] for each in passages if (each["transfer"], each["node"], each["row"]) == of_row]
            assert cycles == [*range(cycles[0], cycles[0] + 16 // width)]
    for span in document["picture"]["under_way"]:
        last = max(each["cycle"] for each in passages if each["transfer"] == span["transfer"])
        assert span["end"] == last
    assert verdicts(document) == ["refuted"] * 3
    assert all(pair["start_times"] for reading in document["readings"] for pair in reading["pairs"])


def test_what_else_is_wrong_is_told() -> None:
    same = {"name": "high", "master": 3, "to": 2}
    document = trial({**OVERLAP[0], "to": 2}, same).document
    assert [sentence.partition(":")[0] for sentence in document["others"]] == ["arrivals"]


def test_a_run_that_hangs_is_shown_as_far_as_it_comes() -> None:
    """Where a flag must exceed what is expected, one transfer is not enough."""
    low, high = OVERLAP
    document = trial(low, {**high, "after": {"low": "received"}}, keys={"tile.strict_compare": True}).document
    assert not document["picture"]["ended"]
    assert {each["transfer"] for each in document["picture"]["passages"]} == {"low"}
    assert "deadlock" in [sentence.partition(":")[0] for sentence in document["others"]]


def test_both_models_of_the_chip_let_the_same_rows_pass() -> None:
    case = case_named("pair-one-node-01")
    found = tried(case.scenario, case.name, Reading.MEET)
    times = found.document["picture"]["start_times"]
    events = events_of(found.program, {(label, None): cycle for label, cycle in times.items()})
    passages, _ = observed(found.program, times, Reading.MEET)
    assert sorted(events) == sorted((each.cycle, each.node, each.sender[0]) for each in passages)
    assert broken(events, groups_of(case.row))["meet"]
