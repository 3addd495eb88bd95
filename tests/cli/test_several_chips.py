"""``tilesim run`` with several topologies."""

from __future__ import annotations

import json
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
    assert header.split()[:4] == ["topology", "tiles", "cycles", "speed-up"]
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
    several = ("-t", "edge-1x1", "-t", "edge-2x2", "--out", tmp_path / "out", "--trace")
    result = tilesim("run", "digits.tasm", *several)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.splitlines() == [
        "error: digits.tasm: there is no such file",
        "error: --trace applies to one chip, not to edge-1x1 and edge-2x2, which are compared",
        "error: --out applies to one chip, not to edge-1x1 and edge-2x2, which are compared",
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
