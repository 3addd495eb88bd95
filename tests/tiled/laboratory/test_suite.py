"""The suite's verdicts hold: each counterexample, and against brute force on the stepped model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.scripts import script
from tests.tiled.laboratory.brute_force import broken, complete, events_of, groups_of, some_times, start_times
from tilesim.errors import InputError
from tilesim.machines.holds import Holds
from tilesim.tiled.isa.assembly import ASSEMBLY
from tilesim.tiled.isa.model.fields import node_name
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.laboratory.program import program_of
from tilesim.tiled.laboratory.scenario import Scenario, read_scenario
from tilesim.tiled.laboratory.suite import COLUMNS, Case, case_named, cases, suite, table_path
from tilesim.tiled.rules.ring.readings import Reading

UNSEEN = [case for case in cases().values() if any(case.row[reading] != "refuted" for reading in Reading)]
"""Cases with a reading that no run may break."""
SEEDED = Random(18).sample([case.name for case in UNSEEN if case.row["tiles"] == "4"], 4)  # noqa: S311  (no secret)
EVERY = 40
"""How many cases lie between two that the ordinary tests judge anew."""
LATEST = 60
"""Cycles: by then an undisturbed case is over."""


def test_there_are_enough_cases_of_every_verdict() -> None:
    assert len(cases()) >= 200
    for reading in Reading:
        verdicts = [case.row[reading] for case in cases().values()]
        assert min(verdicts.count(word) for word in ("proven", "refuted", "not proven")) >= 10
        assert {*verdicts} == {"proven", "refuted", "not proven"}


def test_what_keeps_to_a_reading_keeps_to_those_after_it() -> None:
    order = ("refuted", "not proven", "proven")
    for case in cases().values():
        ranks = [order.index(case.row[reading]) for reading in Reading]
        assert ranks == sorted(ranks), case.name


def test_the_table_has_the_cases_that_the_script_makes() -> None:
    made = script("make_dual_master").named()
    assert [*made] == [*cases()]
    assert [sketch.scenario for sketch in made.values()] == [case.scenario for case in cases().values()]
    assert [sketch.family for sketch in made.values()] == [case.row["family"] for case in cases().values()]


@pytest.mark.parametrize("every", [pytest.param(EVERY, id="some"), pytest.param(1, id="all", marks=pytest.mark.soak)])
def test_the_verdicts_are_those_of_today(every: int) -> None:
    """If they are right: ``scripts/make_dual_master.py`` brings the table up to date."""
    maker = script("make_dual_master")
    for name, sketch in [*maker.named().items()][::every]:
        assert maker.row(name, sketch) == dict(cases()[name].row), name


def test_each_counterexample_breaks_the_rule_where_it_says() -> None:
    for case in cases().values():
        groups = groups_of(case.row)
        for reading in [reading for reading in Reading if case.row[reading] == "refuted"]:
            program, pair = program_of(case.scenario, case.name), frozenset(case.row[f"{reading}_pair"].split())
            events = events_of(program, held(case, reading))
            assert pair in broken(events, groups)[reading], (case.name, reading)
            assert complete(events, groups), case.name
            cycle, stop = int(case.row[f"{reading}_cycle"]), case.row[f"{reading}_stop"]
            tiles = int(case.row["tiles"])
            assert [n for at, node, n in events if at == cycle and node_name(node, tiles) == stop and n in pair]


def held(case: Case, reading: Reading) -> Holds:
    """The start times of a counterexample, as the stepped model takes them."""
    split = {key.partition("@")[::2]: cycle for key, cycle in case.start_times(reading).items()}
    return {(label, int(tile) if tile else None): cycle for (label, tile), cycle in split.items()}


@pytest.mark.parametrize("name", SEEDED)
def test_no_start_times_up_to_a_bound_break_what_is_not_refuted(name: str) -> None:
    """What is proven never breaks, nor hangs; of what is not proven, the table says rightly that no run was seen to."""
    assert seen_to_break(cases()[name], 8) <= refuted(cases()[name])


@pytest.mark.soak
@pytest.mark.parametrize("name", cases())
def test_brute_force_breaks_just_what_is_refuted(name: str) -> None:
    assert seen_to_break(cases()[name], 20) == refuted(cases()[name])


def refuted(case: Case) -> set[str]:
    """The readings that the table says are."""
    return {str(reading) for reading in Reading if case.row[reading] == "refuted"}


def seen_to_break(case: Case, bound: int) -> set[str]:
    """The readings that some run broke, of runs that all came to their end."""
    program, groups, seen = program_of(case.scenario, case.name), groups_of(case.row), set[str]()
    for holds in tried_times(program, len(groups), bound):
        events = events_of(program, holds)
        assert complete(events, groups), holds
        seen |= {reading for reading, pairs in broken(events, groups).items() if pairs}
        if len(seen) == len(Reading):
            break
    return seen


def tried_times(program: Program, transfers: int, bound: int) -> Iterator[Holds]:
    """All start times of two transfers up to a bound, their receivers' first or last of these; of three, or of many
    receivers, fewer; and then some that are later.
    """
    receivers = sum(1 for _ in start_times(program, (0,), (0, 1))).bit_length() - 1
    receives = (0, bound) if transfers == 2 and receivers <= 3 else (0,)
    yield from start_times(program, range(1 + bound if transfers == 2 else bound // 2), receives)
    yield from some_times(program, Random(program.name), 5 * bound, LATEST)  # noqa: S311  (no secret)


def test_three_readings_differ_where_they_must() -> None:
    """Two transfers without a node in common, with one, and single packets of which none lies inside the other."""
    verdicts = {
        name: [cases()[name].row[reading] for reading in Reading]
        for name in ("pair-adjacent-01", "pair-one-node-01", "rows-overlap-01", "one-master-01")
    }
    assert verdicts == {
        "pair-adjacent-01": ["refuted", "proven", "proven"],
        "pair-one-node-01": ["refuted", "refuted", "refuted"],
        "rows-overlap-01": ["refuted", "refuted", "proven"],
        "one-master-01": ["proven", "proven", "proven"],
    }


def test_files_of_a_case_say_what_the_table_says(tmp_path: Path) -> None:
    for case, found in zip(cases().values(), suite().cases, strict=True):
        if case.row["hop_cycles"] != "1" or case.row["c_after"]:
            texts = found.files()
            (tmp_path / "case.yaml").write_text(texts[f"{case.name}.yaml"])
            assert read_scenario(tmp_path / "case.yaml") == case.scenario
            program = ASSEMBLY.read(texts[f"{case.name}.tasm"], tmp_path / "case.tasm")
            assert program.run == program_of(case.scenario, case.name).run


def test_a_case_in_words() -> None:
    words = {case.name: case.words for case in suite().cases}
    assert words["pair-adjacent-01"] == "a: 0->1 x3; b: 2->3 x3"
    assert words["fork-02"] == "a: 0->1,2 x2; b: 1->3 x2 after a passed; c: 2->3 x2 after a passed and b passed"


def test_the_table_is_one_that_a_spreadsheet_reads() -> None:
    lines = table_path().read_text(encoding="utf-8").splitlines()
    assert lines[0] == ",".join(COLUMNS)
    assert len(lines) == 1 + len(cases())
    assert isinstance(case_named("count-01").scenario, Scenario)


def test_a_case_that_there_is_not() -> None:
    with pytest.raises(InputError) as caught:
        case_named("pair-adjacent-1")
    assert str(caught.value) == (
        "pair-adjacent-1: must be a case of the suite, or a file with a / or an ending in its name, not "
        "'pair-adjacent-1'; did you mean 'pair-adjacent-01'?; `tilesim masters suite` lists the cases"
    )
