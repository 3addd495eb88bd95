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

import numpy as np
import pytest

import tilesim as api
from tests.tiled.programs import program
from tests.tiled.rules.arena import mixed
from tests.tiled.rules.lines import consume, fence, send
from tilesim.findings import sentence
from tilesim.shipped import shipped

GUIDED = shipped("workloads") / "dual-master"
REFUTED = {"overlap": "tile 1", "shared-node": "tile 3", "wraps-overlap": "tile 0"}


@pytest.mark.parametrize("name", ["forwarding", "broadcast"])
def test_programs_that_show_an_instruction_are_proven_run_and_verified(tilesim: Any, name: str) -> None:
    path = shipped("workloads") / "tiled" / f"{name}.tasm"
    assert tilesim("check", path, "--topology", "ring-8").stdout.startswith(f"{name} on ring-8: proven\n")
    assert tilesim("run", path, "-t", "ring-8").exit_code == 0
    assert tilesim("verify", path).stdout.startswith(f"{name} on ring-8: simpy and stepped agree\n")


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


def test_the_smallest_wait_is_suggested_and_proven(tilesim: Any, tmp_path: Path) -> None:
    result = tilesim("check", GUIDED / "overlap.tasm", "--suggest", "-o", tmp_path / "mended.tasm")
    lines = result.stdout.splitlines()
    suggested = lines[lines.index("suggested: 1 wait, with which all is proven") :]
    assert (result.exit_code, result.stderr) == (1, "")
    line = "other.send: ring_produce tiles=0x2 read=[r:4 @0x0+r*16] to=0x8"
    assert suggested[1:5] == [
        "@@ run[3] @@",
        f"-{line}",
        f"+{line} wait=ring_producer_a>=1",
        "  a run takes 32 cycles; one of the program as it is takes 29, but breaks the rules",
    ]
    assert "overlap on ring-8: proven" in suggested
    assert suggested[-1] == f"written to {tmp_path / 'mended.tasm'}"
    assert tilesim("check", tmp_path / "mended.tasm").exit_code == 0
    assert tilesim("run", tmp_path / "mended.tasm").exit_code == 0


def test_a_fence_is_shown_with_what_it_stands_before(tilesim: Any) -> None:
    result = tilesim("check", GUIDED / "legal.tasm", "--suggest", "--masters", "single")
    assert "suggested: 1 fence, with which all is proven\n@@ run[3] @@\n+  tile_fence tiles=0x8 " in result.stdout
    assert "\n high.send: ring_produce " in result.stdout
    assert "one of the program as it is takes 50, and leaves the same bytes in all memories" in result.stdout


def test_json_has_the_suggestion_beside_the_check(tilesim: Any) -> None:
    result = tilesim("check", GUIDED / "overlap.tasm", "--suggest", "--json")
    document = json.loads(result.stdout)
    assert document["programs"][0]["proven"] is False
    suggestion = document["suggestion"]
    assert (suggestion["mended"], suggestion["additions"], suggestion["proof"]["proven"]) == (True, 1, True)
    assert suggestion["cycles"] == {"before": 29, "after": 32}
    assert (suggestion["schema"], suggestion["left"]) == ("tilesim.suggestion/1", [])


def test_of_what_is_proven_nothing_is_missing(tilesim: Any, tmp_path: Path) -> None:
    result = tilesim("check", GUIDED / "legal.tasm", "--suggest", "-o", tmp_path / "same.tbin")
    assert result.exit_code == 0
    assert "nothing is missing: all is proven as it is" in result.stdout
    assert (tmp_path / "same.tbin").is_file()


def test_what_no_wait_mends_is_said_and_not_written(tilesim: Any, tmp_path: Path) -> None:
    lines = (consume(3), send("a", 0, 3, wait="ring_read_a>=1"))
    api.save_program(program("".join(lines), "ring-8"), tmp_path / "circle.tasm")
    result = tilesim("check", tmp_path / "circle.tasm", "--suggest", "-o", tmp_path / "mended.tasm")
    assert result.exit_code == 1
    assert "no wait and no fence was found with which all is proven\nleft (deadlock): " in result.stdout
    assert "more waits only hold back more" in result.stdout
    assert not (tmp_path / "mended.tasm").exists()


def test_options_that_do_not_go_together_are_refused_at_once(tilesim: Any, tmp_path: Path) -> None:
    overlap, trace = GUIDED / "overlap.tasm", tmp_path / "ring.csv"
    expected = {
        ("check",): ["a model or a program must be given, or --ring-trace"],
        ("check", overlap, GUIDED / "legal.tasm", "--suggest"): [
            "--suggest must be given with one model or program, not 2"
        ],
        ("check", overlap, "-o", overlap): [
            "--output must be given with --suggest: it is where the mended program goes",
            f"{overlap}: must be a new file, not one that is read",
            f"{overlap.with_suffix('.npz')}: must be a new file, not one that is read",
        ],
        ("check", overlap, "--suggest", "-o", tmp_path / "mended.txt"): [
            f"{tmp_path / 'mended.txt'}: the file of a program must end in .tasm or .tbin, not in .txt"
        ],
        ("check", overlap, "--ring-trace", trace, "--suggest", "-t", "ring-8", "--masters", "none"): [
            f"--ring-trace must be given without {overlap}, --topology, --suggest: the file alone is judged",
            "--masters must be single, disjoint or meet, not 'none'",
        ],
    }
    for words, faults in expected.items():
        result = tilesim(*words)
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.splitlines() == [f"error: {fault}" for fault in faults]


@pytest.mark.parametrize("name", ["legal", "overlap"])
def test_packets_of_a_run_are_judged_from_their_table(tilesim: Any, tmp_path: Path, name: str) -> None:
    trace = tmp_path / "ring.csv"
    run = tilesim("run", GUIDED / f"{name}.tasm", "--rules", "observe", "--ring-trace", trace, "--json")
    told = json.loads(run.stdout)["findings"]
    result = tilesim("check", "--ring-trace", trace)
    refuted = [line for line in result.stdout.splitlines() if line.startswith("refuted (masters): ")]
    assert refuted == [f"refuted (masters): {sentence(finding)}" for finding in told]
    assert (result.exit_code, result.stderr) == (int(bool(told)), "")
    assert result.stdout.startswith(f"{trace}: {'1 pair not kept apart' if told else 'kept'}\n")
    document = json.loads(tilesim("check", "--ring-trace", trace, "--json", "--masters", "single").stdout)
    assert (document["schema"], document["reading"], document["kept"]) == ("tilesim.ring-trace/1", "single", False)
    assert [document["readings"][reading]["kept"] for reading in ("disjoint", "meet")] == [not told] * 2


def test_a_run_that_ends_early_leaves_its_packets(tilesim: Any, tmp_path: Path) -> None:
    trace = tmp_path / "ring.csv"
    assert tilesim("run", GUIDED / "overlap.tasm", "--ring-trace", trace).exit_code == 3
    result = tilesim("check", "--ring-trace", trace)
    assert result.exit_code == 1
    assert "  not over when the recording ends: first.send, other.send\n" in result.stdout
    assert "in cycle 20 a packet of other.send" in result.stdout


def test_faults_of_a_table_are_told_at_once(tilesim: Any, tmp_path: Path) -> None:
    trace = tmp_path / "ring.csv"
    trace.write_text("cycle,node,master,transfer,tail\n1,tile 0,tile 0,a,no\nx,tile 0,tile 0,a,1\n")
    result = tilesim("check", "--ring-trace", trace)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.splitlines() == [
        f"error: {trace}:2:19: tail must be 0, 1, false or true, not 'no'",
        f"error: {trace}:3:1: cycle must be a whole number from 0 on, of at most 18 digits, not 'x'",
    ]


def test_a_table_of_packets_is_of_one_chip_with_a_ring(tilesim: Any, tmp_path: Path) -> None:
    trace = tmp_path / "ring.csv"
    systolic = tilesim("run", "digits", "-t", "systolic-4", "--ring-trace", trace)
    assert systolic.exit_code == 2
    assert "--ring-trace applies to chips that can prove programs before they run" in systolic.stderr
    several = tilesim("run", "digits", "-t", "edge-1x1", "-t", "edge-1x2", "--ring-trace", trace)
    assert several.exit_code == 2
    assert "--ring-trace applies to one chip, not to edge-1x1 and edge-1x2, which are compared" in several.stderr
    read = tilesim("run", GUIDED / "legal.tasm", "--ring-trace", GUIDED / "legal.tasm")
    assert (read.exit_code, "must be a new file, not one that is read" in read.stderr) == (2, True)


def test_a_table_of_packets_replaces_nothing_of_the_run(tilesim: Any, tmp_path: Path) -> None:
    legal, out, inputs = GUIDED / "legal.tasm", tmp_path / "out", tmp_path / "in.npy"
    for name in ("run.json", "program.tasm", "report.html"):
        result = tilesim("run", legal, "--ring-trace", out / name, "--out", out)
        assert result.stderr == f"error: {out / name}: must be a new file, not one of the run itself\n"
        assert (result.exit_code, out.exists()) == (2, False)
    np.save(inputs, np.zeros((1, 8, 8, 1), np.float32))
    before = inputs.read_bytes()
    result = tilesim("run", "digits", "-t", "edge-1x1", "--inputs", inputs, "--ring-trace", inputs)
    assert result.stderr == f"error: {inputs}: must be a new file, not one that is read\n"
    assert (result.exit_code, inputs.read_bytes()) == (2, before)
