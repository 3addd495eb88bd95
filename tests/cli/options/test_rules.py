"""``tilesim run --rules --hold``: programs written by hand, whose transfers may meet."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tilesim as api
from tests.tiled.programs import program

RUN = """
take: ring_consume tiles=0x4 write=[r:4 @0x0+r*16]
one: ring_produce tiles=0x1 read=[r:2 @0x0+r*16] to=0x4
other: ring_produce tiles=0x2 read=[r:2 @0x0+r*16] to=0x4
"""


@pytest.fixture
def meeting(tmp_path: Path) -> Path:
    """A program without inputs or outputs."""
    api.save_program(program(RUN, grid__rows=3), tmp_path / "meeting.tasm")
    return tmp_path / "meeting.tasm"


HELD = ("--hold", "one=40", "--hold", "other@1=42")


def test_a_meeting_ends_a_run_with_status_3(tilesim: Any, meeting: Path, tmp_path: Path) -> None:
    result = tilesim("run", meeting, *HELD, "--out", tmp_path / "out")
    assert result.exit_code == 3
    assert result.stdout == ""
    assert result.stderr.startswith(
        "error: the run program lets transfers meet on the ring: in cycle 43 a packet of other "
    )
    assert json.loads((tmp_path / "out" / "run.json").read_text())["end"]["kind"] == "collision"


def test_a_run_that_is_only_observed_tells(tilesim: Any, meeting: Path, tmp_path: Path) -> None:
    result = tilesim("run", meeting, *HELD, "--rules", "observe", "--out", tmp_path / "out")
    assert (result.exit_code, result.stderr) == (0, "")
    words = " ".join(result.stdout.split())
    assert "finding take at tile 2 took rows of transfers that met: 0, 2 of one from tile 0 and 1, 3 of other" in words
    found = json.loads((tmp_path / "out" / "run.json").read_text())["findings"]
    assert [each["kind"] for each in found] == ["meeting", "mixed payload"]


def test_start_times_decide(tilesim: Any, meeting: Path) -> None:
    result = tilesim("run", meeting, "--hold", "other=100", "--json")
    assert (result.exit_code, json.loads(result.stdout)["findings"]) == (0, [])


@pytest.mark.parametrize(
    ("words", "sentences"),
    [
        (("--rules", "observed"), ["--rules must be strict or observe, not 'observed'; did you mean 'observe'?"]),
        (
            ("--hold", "one=" + "9" * 1500),
            [f"--hold one={'9' * 1500}: must be LABEL=CYCLE or LABEL@TILE=CYCLE, such as send=100"],
        ),
        (
            ("--hold", "n=4"),
            ["--hold must be the label of an instruction, not 'n'; did you mean 'one'?"],
        ),
        (("--hold", "on=4"), ["--hold must be the label of an instruction, not 'on'; did you mean 'one'?"]),
        (
            ("--hold", "one", "--hold", "=3", "--hold", "other=-3", "--hold", ""),
            [
                f"--hold {word}: must be LABEL=CYCLE or LABEL@TILE=CYCLE, such as send=100"
                for word in ("one", "=3", "other=-3", "''")
            ],
        ),
    ],
)
def test_faults_are_sentences(tilesim: Any, meeting: Path, words: tuple[str, ...], sentences: list[str]) -> None:
    result = tilesim("run", meeting, *words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.splitlines() == [f"error: {sentence}" for sentence in sentences]


RACE = """
take: ring_consume tiles=0x4 write=[r:4 @0x0+r*16]
send: ring_produce tiles=0x1 read=[r:4 @0x0+r*16] to=0x4
down: wide_to_narrow tiles=0x4 read=[r:4 @0x0+r*16] write=[r:4,w:4 @0x0+r*16+w*4]
"""
"""Nothing makes the last one wait for the rows of the first."""


def test_a_long_run_is_not_followed_cycle_by_cycle(tilesim: Any, tmp_path: Path) -> None:
    api.save_program(program(RACE, grid__rows=3), tmp_path / "race.tasm")
    result = tilesim("run", tmp_path / "race.tasm", "--rules", "observe", "--hold", "send=40000000")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "must take at most 1,000,000 cycles, not 40,000,0" in result.stderr


def test_strict_rules_refuse_such_a_program(tilesim: Any, tmp_path: Path) -> None:
    api.save_program(program(RACE, grid__rows=3), tmp_path / "race.tasm")
    strict = tilesim("run", tmp_path / "race.tasm")
    assert (strict.exit_code, strict.stdout) == (2, "")
    assert "nothing orders take (ring_consume)" in strict.stderr
    observed = tilesim(
        "run", tmp_path / "race.tasm", "--rules", "observe", "--hold", "send=98", "--out", tmp_path / "o"
    )
    assert (observed.exit_code, observed.stderr) == (0, "")
    assert "in cycle 18 down read wide memory of tile 2 " in " ".join(observed.stdout.split())
    found = json.loads((tmp_path / "o" / "run.json").read_text())["findings"]
    assert [each["kind"] for each in found] == ["touched"]


def test_several_chips_have_no_common_instructions(tilesim: Any) -> None:
    chips = ("--topology", "edge-1x1", "--topology", "edge-2x2")
    result = tilesim("run", "digits", *chips, "--rules", "observe", "--hold", "a=1", "--masters", "single")
    assert result.exit_code == 2
    assert result.stderr == "error: --hold applies to one chip, not to edge-1x1 and edge-2x2, which are compared\n"


def test_an_empty_program_runs(tilesim: Any, tmp_path: Path) -> None:
    api.save_program(program(""), tmp_path / "empty.tasm")
    result = tilesim("run", tmp_path / "empty.tasm", "--json")
    assert (result.exit_code, json.loads(result.stdout)["cycles"]) == (0, 0)
    assert tilesim("run", tmp_path / "empty.tasm").exit_code == 0


def test_a_transfer_may_take_no_time(tilesim: Any, meeting: Path) -> None:
    plain, instant = (tilesim("run", meeting, "--json", *words) for words in ((), ("--instant", "o*e")))
    assert (plain.exit_code, instant.exit_code) == (0, 0)
    found = json.loads(instant.stdout)
    assert found["instant"] == ["one"]
    assert found["cycles"] <= json.loads(plain.stdout)["cycles"]


def test_what_can_not_take_no_time_is_said_with_all_else(tilesim: Any, meeting: Path) -> None:
    result = tilesim("run", meeting, "--instant", "on", "--instant", "take")
    assert result.exit_code == 2
    assert result.stderr.splitlines() == [
        "error: --instant must be the label of an instruction, not 'on'; did you mean 'one'?",
        "error: --instant 'take': takes what others send over the ring, whose time is that of what sends it: name that",
    ]
