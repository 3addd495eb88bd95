"""What ``tilesim check`` promises, on the guided programs among others."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from itertools import count, pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

import tilesim as api
from tests.tiled.programs import program
from tests.tiled.rules.arena import mixed
from tests.tiled.rules.lines import consume, fence, send
from tilesim.findings import sentence
from tilesim.shipped import shipped

GUIDED = shipped("workloads") / "dual-master"
REFUTED = {"overlap": "tile 1", "shared-node": "tile 3", "wraps-overlap": "tile 0"}


@pytest.mark.parametrize("name", ["legal", "wraps"])
def test_legal_programs_are_proven_and_run(tilesim: Any, name: str) -> None:
    result = tilesim("check", GUIDED / f"{name}.tasm", "--topology", "ring-8")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith(f"{name} on ring-8: proven\n")
    assert tilesim("run", GUIDED / f"{name}.tasm").exit_code == 0


@pytest.mark.parametrize("name", REFUTED)
def test_what_is_refuted_meets_as_the_check_says(tilesim: Any, name: str) -> None:
    result = tilesim("check", GUIDED / f"{name}.tasm")
    assert result.exit_code == 1
    assert f"can meet at {REFUTED[name]} (they share " in result.stdout
    [command] = re.findall(r"to see them meet: tilesim (.*)", result.stdout)
    observed = tilesim(*shlex.split(command), "--json")
    assert [each["kind"] for each in json.loads(observed.stdout)["findings"]] == ["meeting"]
    strict = tilesim(*shlex.split(command.replace("observe", "strict")))
    assert strict.exit_code == 3


def test_a_recipe_names_a_file_that_could_be_an_option(
    tilesim: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(GUIDED / "overlap.tasm", "-o.tasm")
    assert "tilesim run ./-o.tasm --rules observe" in tilesim("check", "--", "-o.tasm").stdout


def test_all_guided_programs_are_here() -> None:
    assert {path.stem for path in GUIDED.glob("*.tasm")} == {"legal", "wraps", *REFUTED}


def test_a_model_is_compiled_first(tilesim: Any) -> None:
    result = tilesim("check", "digits", "--topology", "edge-1x2")
    lines = result.stdout.splitlines()
    assert (result.exit_code, lines[0]) == (0, "digits on edge-1x2: proven")
    assert re.fullmatch(
        r"  \d+ transfers on the ring, \d+ pairs: .* of the same master, .* in a proven order", lines[1]
    )
    assert tilesim("check", "digits").exit_code == 2


def test_json_says_the_same(tilesim: Any) -> None:
    result = tilesim("check", GUIDED / "overlap.tasm", "--json")
    document = json.loads(result.stdout)
    assert result.exit_code == 1
    assert (document["schema"], document["proven"], document["together"]) == ("tilesim.check/2", False, [])
    [refutation] = document["programs"][0]["refutations"]
    assert refutation["start_times"].keys() == {"first.send", "other.send"}


@pytest.mark.parametrize("reading", ["single", "disjoint", "meet"])
def test_each_reading_is_told_and_one_binds(tilesim: Any, reading: str) -> None:
    """Low and high masters on disjoint nodes, at once."""
    result = tilesim("check", GUIDED / "legal.tasm", "--masters", reading)
    assert result.exit_code == (1 if reading == "single" else 0)
    told = "single: 1 pair unproven; disjoint: proven; meet: proven"
    assert told in result.stdout.replace(", which binds", "")
    assert f"{reading}, which binds: " in result.stdout
    [program] = json.loads(tilesim("check", GUIDED / "legal.tasm", "--masters", reading, "--json").stdout)["programs"]
    assert (program["reading"], program["proven"]) == (reading, reading != "single")
    assert {name: each["pairs"] for name, each in program["readings"].items()} == {
        "single": 1,
        "disjoint": 0,
        "meet": 0,
    }


def test_a_recipe_of_a_stricter_reading_is_seen_in_a_run(tilesim: Any) -> None:
    result = tilesim("check", GUIDED / "legal.tasm", "--masters", "single")
    assert "can be under way at once (they share no node): no flag and no fence makes high.send wait" in result.stdout
    [command] = re.findall(r"to see them under way at once: tilesim (.*)", result.stdout)
    [finding] = json.loads(tilesim(*shlex.split(command), "--json").stdout)["findings"]
    assert (finding["kind"], finding["instructions"]) == ("under way at once", ["low.send", "high.send"])
    assert tilesim(*shlex.split(command.replace("observe", "strict"))).exit_code == 3
    assert json.loads(tilesim(*shlex.split(command.replace("single", "disjoint")), "--json").stdout)["findings"] == []


def test_what_is_not_seen_is_said_to_be_unordered(tilesim: Any, tmp_path: Path) -> None:
    lines = (consume(4), consume(5), send("a", 0, 4), fence("ring_producer", 0), send("b", 2, 5))
    api.save_program(program("".join(lines), "ring-8"), tmp_path / "far.tasm")
    result = tilesim("check", tmp_path / "far.tasm")
    assert result.exit_code == 1
    assert re.search(
        r"^  nothing orders them, but in \d\d runs they were not seen to meet$", result.stdout, re.MULTILINE
    )
    assert "tilesim run" not in result.stdout
    [refutation] = json.loads(tilesim("check", tmp_path / "far.tasm", "--json").stdout)["programs"][0]["refutations"]
    assert (refutation["start_times"], refutation["runs"] > 9) == (None, True)


def test_a_recipe_for_a_model_names_its_chip(tilesim: Any) -> None:
    result = tilesim("check", "digits", "-t", "edge-2x2", "--set", "tile.lanes=32", "--masters", "disjoint")
    assert result.exit_code == 1
    [command, *_] = re.findall(r"to see them under way at once: tilesim (.*)", result.stdout)
    assert command.startswith(
        "run digits --topology edge-2x2 --set tile.lanes=32 --rules observe --masters disjoint --hold "
    )
    found = json.loads(tilesim(*shlex.split(command), "--json").stdout)["findings"]
    assert "under way at once" in {each["kind"] for each in found}


def test_there_are_three_readings(tilesim: Any) -> None:
    for command in ("check", "run"):
        result = tilesim(command, GUIDED / "legal.tasm", "--masters", "singl")
        fault = "--masters must be single, disjoint or meet, not 'singl'; did you mean 'single'?"
        assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"error: {fault}\n")
    systolic = tilesim("run", "digits", "-t", "systolic-4", "--masters", "single")
    assert (systolic.exit_code, systolic.stdout) == (2, "")
    assert "masters must be left out" in systolic.stderr


@pytest.mark.parametrize("recipes", [12, pytest.param(400, marks=pytest.mark.soak)])
def test_every_recipe_is_seen_when_it_is_run(tilesim: Any, tmp_path: Path, recipes: int) -> None:
    """Of random programs of several masters, by the commands that are printed."""
    tried, seeds = 0, count()
    while tried < recipes:
        random = Random(next(seeds))  # noqa: S311  (no secret)
        api.save_program(mixed(random).program(), tmp_path / "random.tasm")
        masters = random.choice(["single", "disjoint", "meet", "meet"])
        shown = tilesim("check", tmp_path / "random.tasm", "--masters", masters)
        pattern = r"refuted \(masters\): (\S+) .*?, and (\S+) .*\n  to see them (.*): tilesim (.*)"
        for first, other, what, command in re.findall(pattern, shown.stdout):
            run = tilesim(*shlex.split(command), "--json")
            assert run.exit_code in {0, 3}, run.stderr
            told = json.loads(run.stdout)["findings"] if run.stdout else []
            lines = [*map(sentence, told), *run.stderr.splitlines()]  # a run that hangs lists them
            verb = "passes" if what == "meet" else "begins while"
            assert any({f"{first} from", f"{other} from", verb} <= _words(line) for line in lines), command
            tried += 1


def _words(line: str) -> set[str]:
    """Words of a sentence, and pairs of them."""
    words = line.split()
    return {*words, *(f"{one} {other}" for one, other in pairwise(words))}


def test_several_programs_share_a_chip(tilesim: Any, tmp_path: Path) -> None:
    head, _, run = (GUIDED / "wraps.tasm").read_text().partition(".load")
    region = ".region name=parameters memory=wide tiles=0x2 address={} bytes=64\n"
    staging = '.region name="staging" memory=wide tiles=0xff address={} bytes=64\n'
    paths = []
    for name, address in (("a", 0), ("b", 0x20)):
        text = head.replace("name=wraps", f"name={name}") + region.format(address)
        everywhere = staging.format(0x80) + '.region name="sent" memory=wide tiles=0x44 address=0 bytes=64\n'
        paths.append(tmp_path / f"{name}.tasm")
        paths[-1].write_text(f"{text}{everywhere}.load{run}")
    result = tilesim("check", *paths)
    assert result.exit_code == 1
    assert "a and b: their regions parameters and parameters must not overlap" in result.stdout


def test_models_are_checked_as_run_compiles_them(tilesim: Any) -> None:
    """Alone, each would put its parameters where the other has them."""
    both = ("digits", "example-conv", "--topology", "edge-1x2")
    together = tilesim("check", *both, "--json")
    assert (together.exit_code, json.loads(together.stdout)["together"]) == (0, [])
    cached, streamed = (json.loads(tilesim("check", *both, *more, "--json").stdout) for more in ((), ("--no-cache",)))
    assert [each["transfers"] for each in cached["programs"]] != [each["transfers"] for each in streamed["programs"]]
    spread = tilesim(
        "check", *both, "--partition", "auto", "--priority", "example-conv", "--layer-priority", "digits:1"
    )
    assert (spread.exit_code, spread.stderr) == (0, "")


def test_programs_and_models_may_be_mixed(tilesim: Any, tmp_path: Path) -> None:
    chip = ("--topology", "edge-1x2")
    assert tilesim("compile", "digits", *chip, "-o", tmp_path / "p.tbin").exit_code == 0
    result = tilesim("check", "example-conv", tmp_path / "p.tbin", *chip)
    assert [line for line in result.stdout.splitlines() if " on edge-1x2" in line] == [
        "example-conv on edge-1x2: proven",
        f"{tmp_path / 'p.tbin'}: digits on edge-1x2: proven",
    ]
    assert "must not overlap" in result.stdout
    alone = tilesim("check", tmp_path / "p.tbin", "--no-cache", "--priority", "digits")
    assert alone.stderr.splitlines() == [
        "error: --priority must be left out, as --no-cache leaves nothing in the tiles",
        f"error: --priority applies to models that are compiled, not to {tmp_path / 'p.tbin'}, a program",
        f"error: --no-cache applies to models that are compiled, not to {tmp_path / 'p.tbin'}, a program",
    ]


def test_programs_of_one_name_are_called_by_their_files(tilesim: Any, tmp_path: Path) -> None:
    first, other = tmp_path / "first.tbin", tmp_path / "other.tbin"
    for path in (first, other):
        assert tilesim("compile", "pocket", "-t", "pocket-2x1", "-o", path).exit_code == 0
    result = tilesim("check", first, other)
    assert result.exit_code == 1
    assert f"{first} on pocket-2x1: proven" in result.stdout.splitlines()
    assert f"refuted (parameters): {first} and {other}: their regions " in result.stdout
