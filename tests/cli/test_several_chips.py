"""``tilesim run`` with several topologies."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tilesim as api
from tilesim.shipped import shipped

DIGITS = ("run", "digits", "-t", "edge-1x1", "-t", "edge-2x2", "--inputs", shipped("workloads") / "digits.npz")


def test_a_line_a_chip(tilesim: Any) -> None:
    result = tilesim(*DIGITS, "--set", "host.latency_cycles=5")
    title, _, header, first, second = result.stdout.splitlines()
    assert title == "digits on 2 chips with host.latency_cycles=5, 360 samples together"
    assert header.split()[:5] == ["topology", "tiles", "cycles", "time", "speed-up"]
    assert first.split()[:2] == ["edge-1x1", "1"]
    assert second.split()[:2] == ["edge-2x2", "4"]
    assert (result.exit_code, result.stderr) == (0, "")


def test_json_is_the_list_of_all_statistics(tilesim: Any) -> None:
    found = json.loads(tilesim(*DIGITS, "--json").stdout)
    alone = json.loads(tilesim("run", "digits", "-t", "edge-2x2", "--json").stdout)
    assert [each["topology"] for each in found] == ["edge-1x1", "edge-2x2"]
    assert found[1] == alone


def test_machines_of_both_kinds_get_the_same_random_numbers(tilesim: Any) -> None:
    result = tilesim("run", "digits", "-t", "edge-1x1", "-t", "systolic-32")
    assert (result.exit_code, result.stderr) == (0, "")
    note = "systolic-32 has no efficiency over edge-1x1: another kind of machine"
    assert result.stdout.splitlines()[-2:] == ["", note]
    quiet = tilesim("run", "digits", "-t", "edge-1x1", "-t", "systolic-32", "-q")
    assert note not in quiet.stdout


def energies(folder: Path) -> Path:
    (folder / "table.yaml").write_text("narrow_read: {pj: 1000, technology: 7 nm}\n")
    return folder / "table.yaml"


TILED, SYSTOLIC = ("pocket-2x1", "edge-1x2"), ("systolic-4", "systolic-32")


@pytest.mark.parametrize(
    ("chips", "words"),
    [
        (TILED, ("--trace-tracks", "*mac_array", "--partition", "channel")),
        (TILED, ("-n", "2", "--no-cache", "--rules", "observe")),
        (TILED, ("--energy", "{table}", "--masters", "disjoint", "--layer-priority", "3")),
        (SYSTOLIC, ("-n", "3", "--trace", "--batch-schedule", "lcm", "--weight-reuse", "2")),
        ((TILED[0], SYSTOLIC[0]), ("--trace", "--trace-window", "10:90")),
    ],
    ids=str,
)
def test_each_run_is_kept_as_that_on_one_chip(
    tilesim: Any, tmp_path: Path, chips: tuple[str, str], words: tuple[str, ...]
) -> None:
    how = [word.format(table=energies(tmp_path)) for word in words]
    several = [word for chip in chips for word in ("-t", chip)]
    result = tilesim("run", "pocket", *several, *how, "--out", tmp_path / "out")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.endswith(f"\n\nwritten to {tmp_path / 'out'}\n")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {*chips, "compare.html"}
    for chip in chips:
        assert tilesim("run", "pocket", "-t", chip, *how, "--out", tmp_path / "one" / chip).exit_code == 0
        assert files(tmp_path / "out" / chip) == files(tmp_path / "one" / chip)
    folders = [tmp_path / "out" / chip for chip in chips]
    assert tilesim("compare", *folders, "-o", tmp_path / "page.html").exit_code == 0
    assert (tmp_path / "page.html").read_bytes() == (tmp_path / "out" / "compare.html").read_bytes()


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_traces_and_what_runs_noticed_are_told_of_each_chip(tilesim: Any) -> None:
    words = ("run", "pocket", "-t", "pocket-2x1", "-t", "edge-1x2", "--trace", "--trace-window", "300:")
    *_, note, first, second = tilesim(*words).stdout.splitlines()
    assert note == "pocket-2x1: the trace is empty: the run ends at cycle 225, before the cycles of --trace-window"
    assert first.startswith("pocket-2x1: trace: 0 spans, sha256 ")
    assert second.startswith("edge-1x2: trace: ")
    in_json = tilesim(*words, "--json")
    assert in_json.stderr.splitlines() == [note]
    assert all(run["trace_sha256"] for run in json.loads(in_json.stdout))


POCKET = ("run", "pocket", "-t", "pocket-2x1", "-t", "edge-1x2")


def test_runs_that_were_there_are_replaced_and_all_else_stays(tilesim: Any, tmp_path: Path) -> None:
    assert tilesim(*POCKET, "--trace", "--out", tmp_path).exit_code == 0
    assert tilesim("report", tmp_path / "edge-1x2", "-q").exit_code == 0
    drawn = tmp_path / "edge-1x2" / "figures" / "timeline.png"
    drawn.parent.mkdir()
    for path in (drawn, tmp_path / "edge-1x2" / "notes", tmp_path / "notes"):
        path.touch()
    (tmp_path / "compare.html").write_text("old")
    assert tilesim(*POCKET, "--out", tmp_path, "-q").exit_code == 0
    kept = ["figures", "notes", "outputs.npz", "program.npz", "program.tasm", "run.json"]
    assert sorted(path.name for path in (tmp_path / "edge-1x2").iterdir()) == kept
    assert not drawn.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["compare.html", "edge-1x2", "notes", "pocket-2x1"]
    assert (tmp_path / "compare.html").read_text().startswith("<!")


def test_chips_of_one_name_are_told_apart(tilesim: Any, tmp_path: Path) -> None:
    chips = [tmp_path / f"{k}.yaml" for k in range(4)]
    for k, name in enumerate(["a/b", "a/b", "../compare.html", "compare.html"]):
        text = (shipped("topologies") / "pocket-2x1.yaml").read_text()
        chips[k].write_text(re.sub(r"(?m)^name: .*", f"name: {name}", text))
    result = tilesim("run", "pocket", *(word for chip in chips for word in ("-t", chip)), "--out", tmp_path / "out")
    assert result.exit_code == 0, result.stderr
    rows = [line.split("  ")[0] for line in result.stdout.splitlines()[3:7]]
    assert rows == ["a/b", "a/b (2)", "../compare.html", "compare.html"]
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"a_b", "a_b (2)", "_compare.html", "compare.html (2)", "compare.html"}


def test_what_is_in_the_way_is_told_before_anything_runs(tilesim: Any, tmp_path: Path) -> None:
    (tmp_path / "edge-1x2").touch()
    result = tilesim(*POCKET, "--out", tmp_path)
    fault = f"error: {tmp_path / 'edge-1x2'}: must be a folder, or not be there yet\n"
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", fault)
    (tmp_path / "edge-1x2").unlink()
    (tmp_path / "compare.html").mkdir()
    result = tilesim(*POCKET, "--out", tmp_path)
    fault = f"error: {tmp_path / 'compare.html'}: must be a file to write, not a folder\n"
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", fault)
    table = tmp_path / "pocket-2x1" / "run.json"
    table.parent.mkdir()
    table.write_text("{}")
    (tmp_path / "compare.html").rmdir()
    result = tilesim(*POCKET, "--out", tmp_path, "--energy", table)
    assert result.stderr == f"error: {table}: must be a new file, not one that is read\n"


def test_where_writing_fails_nothing_is_left(tilesim: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write, seen = api.Run.write, []

    def full(run: api.Run, folder: Path) -> None:
        seen.append(folder.name)
        if len(seen) > 1:
            raise OSError(28, "No space left on device")
        write(run, folder)

    monkeypatch.setattr("tilesim.run.Run.write", full)
    result = tilesim(*POCKET, "--out", tmp_path / "out")
    fault = f"error: {tmp_path / 'out'}: the results cannot be written there: No space left on device\n"
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", fault)
    assert seen == ["pocket-2x1", "edge-1x2"]
    assert list(tmp_path.iterdir()) == []


def test_a_chip_that_is_too_small_does_not_stop_the_others(tilesim: Any) -> None:
    words = ("run", "digits", "-t", "pocket-2x1", "-t", "edge-1x1")
    result = tilesim(*words)
    small, large = result.stdout.splitlines()[-2:]
    assert (small.split()[0], small.endswith("does not fit"), " 1.00 x " in large) == ("pocket-2x1", True, True)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: digits: its program must fit the instruction memory of pocket-2x1: ")
    in_json = tilesim(*words, "--json")
    assert [each["topology"] for each in json.loads(in_json.stdout)] == ["edge-1x1"]
    assert (in_json.exit_code, in_json.stderr) == (2, result.stderr)


def test_of_chips_that_are_too_small_the_others_runs_are_kept(tilesim: Any, tmp_path: Path) -> None:
    words = ("run", "digits", "-t", "pocket-2x1", "-t", "edge-1x1", "--out", tmp_path)
    (tmp_path / "compare.html").write_text("of other runs")
    result = tilesim(*words)
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (2, f"written to {tmp_path}")
    assert [path.name for path in tmp_path.iterdir()] == ["edge-1x1"]
    both = tilesim(*words, "-t", "edge-1x2", "-q")
    assert (both.exit_code, "written" in both.stdout) == (2, False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["compare.html", "edge-1x1", "edge-1x2"]
    none = tilesim("run", "digits", "-t", "pocket-2x1", "-t", "ring-8", "--out", tmp_path / "none")
    assert (none.exit_code, "written" in none.stdout, (tmp_path / "none").exists()) == (2, False, False)


def test_a_run_that_can_not_go_on_does_not_stop_the_others(
    tilesim: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulate = api.api.simulate

    def hanging(program: Any, *arguments: Any, **others: Any) -> Any:
        if program.topology.tiles == 2:
            raise api.HangError(["the run program hangs", "tile 0 waits", "tile 1 waits"])
        return simulate(program, *arguments, **others)

    monkeypatch.setattr("tilesim.api.simulate", hanging)
    words = ("run", "digits", "-t", "edge-1x2", "-t", "pocket-2x1", "-t", "edge-1x1", "-t", "edge-2x2")
    result = tilesim(*words, "--out", tmp_path, "-q")
    hung, small, *ran = result.stdout.splitlines()[-4:]
    assert (hung.split()[0], hung.endswith("can't go on"), small.endswith("does not fit")) == ("edge-1x2", True, True)
    assert [line.split()[0] for line in ran] == ["edge-1x1", "edge-2x2"]
    lines = result.stderr.splitlines()
    assert lines[:3] == ["error: edge-1x2: the run program hangs", "tile 0 waits", "tile 1 waits"]
    assert lines[3].startswith("digits: its program must fit the instruction memory of pocket-2x1: ")
    assert result.exit_code == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["compare.html", "edge-1x1", "edge-2x2"]
    in_json = tilesim(*words[:4], *words[6:8], "--json")
    assert [each["topology"] for each in json.loads(in_json.stdout)] == ["edge-1x1"]
    assert in_json.exit_code == 3


def test_outputs_that_differ_are_a_loud_fault(tilesim: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    simulate = api.api.simulate

    def faulty(program: Any, *arguments: Any, **others: Any) -> Any:
        run = simulate(program, *arguments, **others)
        return replace(run, outputs=[output + 1 for output in run.outputs]) if program.topology.tiles > 1 else run

    monkeypatch.setattr("tilesim.api.simulate", faulty)
    result = tilesim(*DIGITS)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("error: digits: the outputs on edge-2x2 are not those on edge-1x1, but ")


def test_what_makes_no_sense_with_several_chips(tilesim: Any, tmp_path: Path) -> None:
    several = ("-t", "edge-1x1", "-t", "edge-2x2", "--out", tmp_path / "out", "--trace", "--hold", "a=1")
    result = tilesim("run", "digits.tasm", *several)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.splitlines() == [
        "error: digits.tasm: there is no such file",
        "error: --hold applies to one chip, not to edge-1x1 and edge-2x2, which are compared",
        "error: digits.tasm: a program is compiled for one chip; give the model, or at most one --topology",
    ]
    assert list(tmp_path.iterdir()) == []


def test_all_faults_of_all_chips_at_once(tilesim: Any) -> None:
    result = tilesim("run", "digits", "-t", "egde-1x1", "-t", "edge-1x1", "-t", "./none.yaml")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.splitlines() == [
        "error: egde-1x1: there is no such topology; did you mean edge-1x1?",
        "error: none.yaml: there is no such file",
    ]
    twice = tilesim("run", "digits", "-t", "edge-1x1", "-t", "edge-2x2", "--set", "tile.lanse=3").stderr
    assert twice.splitlines() == [
        f"error: {chip}: --set tile.lanse=3: unknown key 'tile.lanse'; did you mean 'tile.lanes'?"
        for chip in ("edge-1x1", "edge-2x2")
    ]
