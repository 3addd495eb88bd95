"""Forty cores with one line changed: each is caught by comparing its runs with those of SimPy, or by sanitizers."""

from pathlib import Path

import pytest

from tests.tiled.core.mutation.equivalent import EQUIVALENT
from tests.tiled.core.mutation.expected import kept
from tests.tiled.core.mutation.judge import NO_C, SURVIVED, verdict
from tests.tiled.core.mutation.sites import mutants
from tests.tiled.dataflow.agreement import COMPILED
from tilesim.tiled.core.build import sources

pytestmark = COMPILED
COUNT = 40
NOTE = (
    "common.c: *(u64 *)more(&account->notes, 1) = "
    "since << NOTED_CYCLE | (u64)(account->op + 1) << NOTED_WORK | account->cause;"
)
OF_TRACES = (
    "common.c: account->op = op; -> ;",
    "common.c: tile->raised_by[flag] = op; -> ;",
    f"{NOTE} -> ;",
    f"{NOTE} -> {NOTE.removeprefix('common.c: ').replace('op + 1', 'op + 2')}",
    "common.c: if (account->since >= cycle) return; -> if (account->since > cycle) return;",
    "core.c: count(core, &core->accounts[k], core->start); -> ;",
    "core.c: note(core, core->host_infeed.account, core->cycle, host_infeed, core->host_sent); -> ;",
    "engine.c: note(core, tile->mac, core->cycle + 1, IDLE, -1); -> note(core, tile->mac, core->cycle + 2, IDLE, -1);",
    "host.c: core->taken++; -> ;",
    "ring.c: stop->op = core->transfers[packet.transfer].op; -> ;",
)
"""Changes of lines that are there for a trace."""


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("expected") / "programs"
    assert kept(path) > 100
    return path


def test_mutants_change_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(
        "static int f(int a) {\n    /* Why. */\n    int b = 0;\n    if (a < 3) return b + 1;\n    account(BUSY);\n}\n"
    )
    found = {str(mutant) for mutant in mutants([tmp_path / "a.c"])}
    assert found == {
        "a.c: if (a < 3) return b + 1; -> if (a <= 3) return b + 1;",
        "a.c: if (a < 3) return b + 1; -> if (a < 3) return b + 2;",
        "a.c: if (a < 3) return b + 1; -> if (a < 3) return b + 0;",
        "a.c: if (a < 3) return b + 1; -> ;",
        "a.c: account(BUSY); -> account(IDLE);",
        "a.c: account(BUSY); -> ;",
    }


def test_a_line_that_comes_moves_no_other_mutant(tmp_path: Path) -> None:
    lines = ["void f(void) {", "    first();", "    if (a < 3) b = c + 1;", "    second();", "}"]
    (tmp_path / "a.c").write_text("\n".join(lines))
    before = [*map(str, mutants([tmp_path / "a.c"]))]
    (tmp_path / "a.c").write_text("\n".join([*lines[:2], "    third();", *lines[2:]]))
    after = [*map(str, mutants([tmp_path / "a.c"]))]
    assert [each for each in after if "third" not in each] == before
    assert len(after) == len(before) + 1


@pytest.mark.soak
def test_transfers_that_meet_are_seen(expected: Path) -> None:
    blind = "ring.c: passage->stop->open = passage->tail ? -1 : passage->transfer; -> ;"
    [mutant] = (mutant for mutant in mutants(sources()) if str(mutant) == blind)
    assert verdict(mutant, expected).startswith("program ")


def test_what_is_listed_as_equivalent_is_there() -> None:
    assert {*EQUIVALENT} <= {*map(str, mutants(sources()))}
    assert all(len(reason.split()) > 2 for reason in EQUIVALENT.values())


def test_one_mutant_is_caught_and_the_core_is_not(expected: Path) -> None:
    dropped = "engine.c: log_row(&core->events, core->cycle, tile->index, engine->op, engine->number, RETIRED, 0); -> ;"
    [drops_retirements] = (mutant for mutant in mutants(sources()) if str(mutant) == dropped)
    assert verdict(drops_retirements, expected).startswith("program ")
    assert verdict(None, expected) == SURVIVED


@pytest.mark.soak
@pytest.mark.parametrize("change", OF_TRACES)
def test_what_a_trace_alone_tells_is_told(expected: Path, change: str) -> None:
    [mutant] = (mutant for mutant in mutants(sources()) if str(mutant) == change)
    assert verdict(mutant, expected).startswith("program ")


@pytest.mark.soak
def test_forty_mutants_are_caught(expected: Path) -> None:
    """So many that compile, drawn from all that are not listed as equivalent."""
    caught: list[str] = []
    survivors: list[str] = []
    for mutant in mutants(sources()):
        if str(mutant) in EQUIVALENT or len(caught) + len(survivors) == COUNT:
            continue
        said = verdict(mutant, expected)
        if said != NO_C:
            (survivors if said == SURVIVED else caught).append(f"{mutant}: {said}")
    assert survivors == []
    assert len(caught) == COUNT
