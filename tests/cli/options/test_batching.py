"""What ``tilesim run`` promises of batches on a systolic machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tilesim.files import read_npz

PUBLISHED = ("--weight-reuse", 1500, "--power-of-two")
BATCHES = ("run", "pocket", "--topology", "systolic-4", "--inferences", 4)


def test_a_summary_for_people(tilesim: Any) -> None:
    text = tilesim(*BATCHES, "--batch-schedule", "lcm", "--weight-reuse", 32).stdout
    document = json.loads(tilesim(*BATCHES, "--batch-schedule", "lcm", "--weight-reuse", 32, "--json").stdout)
    found = document["batching"]
    assert text.startswith("pocket on systolic-4, 4 inferences\n")
    assert (found["schedule"], found["weight_reuse"], found["weight_set_loads"]) == ("lcm", 32, 2)
    assert document["interval_cycles"] == document["cycles"] / 4
    assert "schedule lcm: weights of a layer fetched 2 times; at most" in text
    assert f"streaming   {document['streamed_bytes']} B of parameters from weight memory" in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize(("schedule", "loads"), [("none", 192), ("demand", 45), ("lcm", 6)])
def test_the_published_example(tilesim: Any, schedule: str, loads: int) -> None:
    """Batches of 1, 2, 8, 8, 8 and 32: 45 loads on demand, 6 with the least common multiple."""
    words = ("run", "batching", "-t", "tpu-v1", "-n", 32, "--batch-schedule", schedule, *PUBLISHED, "--json")
    found = json.loads(tilesim(*words).stdout)["batching"]
    assert found["weight_set_loads"] == loads
    assert found["batches"][:6] == ([1, 2, 8, 8, 8, 32] if schedule != "none" else [1] * 6)


def test_without_a_schedule_the_fastest_is_taken_and_said(tilesim: Any, tmp_path: Path) -> None:
    words = ("run", "digits", "-t", "systolic-32", "-n", 4)
    document = json.loads(tilesim(*words, "--json").stdout)
    cycles = {
        schedule: json.loads(tilesim(*words, "--batch-schedule", schedule, "--json").stdout)["cycles"]
        for schedule in ("none", "demand", "lcm")
    }
    assert document["batching"]["predicted_cycles"] == cycles
    assert document["cycles"] == min(cycles.values()) < cycles["none"]
    chosen = document["batching"]["schedule"]
    text = " ".join(tilesim(*words, "--out", tmp_path / "run").stdout.split())
    figures = ", ".join(f"{schedule} {count:,}" for schedule, count in cycles.items())
    assert f"schedule {chosen}, the fastest as predicted (cycles: {figures}): weights" in text
    again = json.loads(tilesim("run", tmp_path / "run" / "program.tasm", "--json").stdout)
    assert again == document == json.loads((tmp_path / "run" / "run.json").read_text())


def test_a_schedule_that_is_asked_for_is_taken(tilesim: Any) -> None:
    found = json.loads(tilesim(*BATCHES, "--batch-schedule", "none", "--json").stdout)["batching"]
    assert (found["schedule"], found["predicted_cycles"]) == ("none", None)


def test_schedules_without_room_are_left_out(tilesim: Any) -> None:
    small = (*BATCHES, "--weight-reuse", 200, "--set", "unified_buffer.size_bytes=700")
    found = json.loads(tilesim(*small, "--json").stdout)["batching"]
    assert (found["schedule"], [*found["predicted_cycles"]]) == ("none", ["none"])
    refused = tilesim(*BATCHES, "--set", "unified_buffer.size_bytes=300")
    assert refused.exit_code == 2
    assert "tensors of one inference must fit the unified buffer" in refused.stderr


def test_each_inference_gets_its_sample(tilesim: Any, tmp_path: Path) -> None:
    images = np.arange(2 * 64).reshape(2, 4, 4, 4).astype(np.int8)
    np.savez(tmp_path / "in.npz", in0=images)
    for k in range(2):
        np.savez(tmp_path / f"in{k}.npz", in0=images[k : k + 1])
        assert (
            tilesim(*BATCHES[:4], "--inputs", tmp_path / f"in{k}.npz", "--out", tmp_path / f"alone{k}").exit_code == 0
        )
    words = (*BATCHES, "--batch-schedule", "demand", "--inputs", tmp_path / "in.npz", "--out", tmp_path / "together")
    assert tilesim(*words).exit_code == 0
    alone = [read_npz(tmp_path / f"alone{k % 2}" / "outputs.npz")["out0"] for k in range(4)]
    together = read_npz(tmp_path / "together" / "outputs.npz")
    assert all(np.array_equal(together[f"out{k}"], alone[k]) for k in range(4))


def test_a_program_of_several_inferences_runs_again(tilesim: Any, tmp_path: Path) -> None:
    assert tilesim(*BATCHES, "--batch-schedule", "demand", "--out", tmp_path / "run").exit_code == 0
    again = tilesim("run", tmp_path / "run" / "program.tasm", "--json")
    assert json.loads(again.stdout) == json.loads((tmp_path / "run" / "run.json").read_text())


@pytest.mark.parametrize(
    ("words", "sentences"),
    [
        (
            ("pocket", "-t", "pocket-2x1", "--batch-schedule", "lcm", "--fit"),
            [
                "--batch-schedule applies to chips that can run batches, such as tpu-v1, not to pocket-2x1",
                "--fit applies to chips that can run batches, such as tpu-v1, not to pocket-2x1",
            ],
        ),
        (
            ("pocket", "-t", "systolic-4", "--batch-schedule", "lmc"),
            ["--batch-schedule must be a schedule, not 'lmc'; did you mean 'lcm'?"],
        ),
        (
            ("pocket", "-t", "systolic-4", "--weight-reuse", "1e3"),
            ["--weight-reuse must be a number such as 1500, above 0 and at most 1,000,000, not '1e3'"],
        ),
        (
            (
                "batching",
                "-t",
                "tpu-v1",
                "-n",
                32,
                "--batch-schedule",
                "lcm",
                "--set",
                "unified_buffer.size_bytes=1 MiB",
            ),
            ["--fit makes batches smaller"],
        ),
        (
            ("pocket", "-t", "systolic-4", "-t", "edge-1x1", "--batch-schedule", "lcm"),
            ["--batch-schedule applies to chips that can run batches, such as tpu-v1, not to edge-1x1"],
        ),
    ],
)
def test_words_that_make_no_sense(tilesim: Any, words: tuple[object, ...], sentences: list[str]) -> None:
    result = tilesim("run", *words)
    assert result.exit_code == 2
    said = " ".join(result.stderr.split())
    assert all(sentence in said for sentence in sentences), said


@pytest.mark.parametrize(
    ("command", "what"),
    [
        ("cache", "keep parameters in tiles"),
        ("check", "prove programs before they run"),
        ("verify", "be run on a second model"),
    ],
)
def test_commands_about_what_a_machine_can_not_say_so(tilesim: Any, command: str, what: str) -> None:
    result = tilesim(command, "pocket", "-t", "systolic-4")
    assert result.exit_code == 2
    words = " ".join(result.stderr.split())
    assert words.startswith(f"error: systolic-4: must be a chip whose machine can {what}, such as edge-4x4")
    assert words.endswith(", not one of the systolic machine")


def test_chips_of_both_machines_are_compared(tilesim: Any) -> None:
    text = tilesim("run", "pocket", "-t", "pocket-2x1", "-t", "systolic-4").stdout
    assert [line.split()[:2] for line in text.splitlines()[3:5]] == [["pocket-2x1", "2"], ["systolic-4", "1"]]
