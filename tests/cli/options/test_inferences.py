"""What ``tilesim run`` promises of several inferences, of one or several models."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tilesim.shipped import shipped

CHIP = ("--topology", "edge-1x1")
BOTH = ("run", "digits", "example-conv", *CHIP)


def test_a_summary_for_people(tilesim: Any) -> None:
    text = tilesim(*BOTH, "--inferences", 2).stdout
    document = json.loads(tilesim(*BOTH, "--inferences", 2, "--json").stdout)
    first, second, third, fourth = document["requests"]
    assert text.startswith("digits + example-conv on edge-1x1, 4 inferences\n")
    assert [first["network"], second["network"]] == ["digits", "example-conv"]
    assert f"latency     {first['latency_cycles']:,} cycles" in text
    assert "for the first inference, of digits\n" in text
    assert f"{third['latency_cycles']:,} cycles" in text
    later = round((second["latency_cycles"] + fourth["latency_cycles"]) / 2)
    assert f"{later:,} cycles" in text
    assert f"interval    {document['interval_cycles']:,.0f} cycles" in text
    assert f"throughput  {document['throughput_per_second']:,.1f} inferences a second\n" in text
    assert f"in all      {document['cycles']:,} cycles" in text
    assert f"loading     {document['load_cycles']:,} cycles" in text
    assert "\n   digits\n" in text
    assert "\n   example-conv\n" in text
    assert max(map(len, text.splitlines())) <= 80


def test_layers_and_what_is_beside_them_add_up(tilesim: Any) -> None:
    document = json.loads(tilesim(*BOTH, "-n", 3, "--json").stdout)
    one = json.loads(tilesim("run", "digits", *CHIP, "--json").stdout)
    layers = [layer for layer in document["layers"] if layer["network"] == "digits"]
    assert [layer["macs"] for layer in layers] == [3 * layer["macs"] for layer in one["layers"]]
    assert [layer["cycles"] for layer in layers] == pytest.approx(
        [3 * each["cycles"] for each in one["layers"]], rel=0.1
    )
    table = tilesim(*BOTH, "-n", 3).stdout.split("\n\n")[1]
    found = re.findall(r" (-?[0-9,]+|-) +(?:-?[0-9.]+%|-) +(?:[0-9.]+%|-)  ", table)
    cycles = [int(number.replace(",", "").replace("-", "0")) for number in found]
    assert sum(cycles[:-1]) == cycles[-1] == document["cycles"]


def test_each_inference_gets_the_next_sample(tilesim: Any, tmp_path: Path) -> None:
    with np.load(shipped("workloads") / "digits.npz") as held_out:
        images, expected = held_out["in0"][:3], held_out["out0"][:3]
    np.savez(tmp_path / "three.npz", in0=images)
    words = ("run", "digits", *CHIP, "--inputs", tmp_path / "three.npz", "--out", tmp_path / "out")
    assert tilesim(*words, "--inferences", 5).exit_code == 0
    with np.load(tmp_path / "out" / "outputs.npz") as outputs:
        for k in range(5):
            np.testing.assert_array_equal(outputs[f"out{k}"], expected[k % 3 : k % 3 + 1])


def test_samples_that_no_inference_gets_are_said(tilesim: Any) -> None:
    words = ("run", "digits", *CHIP, "--inputs", shipped("workloads") / "digits.npz")
    note = "of the 360 samples of --inputs, the first 3 were used, one an inference\n"
    assert note in tilesim(*words, "-n", 3).stdout
    assert note not in tilesim(*words, "-n", 3, "--quiet").stdout
    assert tilesim(*words, "-n", 3, "--json").stderr == note
    assert "samples of --inputs" not in tilesim(*words).stdout  # all of them go through one run


def test_what_is_written_runs_again(tilesim: Any, tmp_path: Path) -> None:
    first = tilesim(*BOTH, "--inferences", 2, "--out", tmp_path / "a", "--json")
    again = tilesim("run", tmp_path / "a" / "program.tasm", "--out", tmp_path / "b", "--json")
    assert (first.stdout, first.exit_code) == (again.stdout, 0)
    for name in ("outputs.npz", "program.tasm", "program.npz", "run.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_a_program_runs_several_times(tilesim: Any, tmp_path: Path) -> None:
    tilesim("compile", "digits", *CHIP, "-o", tmp_path / "p.tbin")
    document = json.loads(tilesim("run", tmp_path / "p.tbin", "-n", 2, "--json").stdout)
    assert [request["loaded"] for request in document["requests"]] == [True, False]
    assert document["interval_cycles"] < document["requests"][0]["latency_cycles"]


def test_without_a_cache_everything_streams(tilesim: Any, tmp_path: Path) -> None:
    cached, streamed = (json.loads(tilesim(*BOTH, "-n", 2, "--json", *words).stdout) for words in ((), ("--no-cache",)))
    assert streamed["load_cycles"] == 0 < cached["load_cycles"]
    assert not any(request["loaded"] for request in streamed["requests"])
    assert streamed["interval_cycles"] > 1.3 * cached["interval_cycles"]
    assert tilesim("compile", "digits", *CHIP, "--no-cache", "-o", tmp_path / "p.tasm").exit_code == 0
    assert ".load\n.run\n" in (tmp_path / "p.tasm").read_text()


def test_the_more_important_network_keeps_its_parameters(tilesim: Any) -> None:
    words = (*BOTH, "--set", "wide_memory.size_bytes=16KiB", "--json", "--priority")
    latency = {
        first: [each["latency_cycles"] for each in json.loads(tilesim(*words, first).stdout)["requests"]]
        for first in ("digits", "example-conv")
    }
    assert latency["digits"][0] < latency["example-conv"][0]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            (*BOTH, "-t", "edge-2x2"),
            "digits, example-conv: several models share one chip; give one --topology, not edge-1x1 and ",
        ),
        (
            ("run", "digits", *CHIP, "-t", "systolic-4", "--no-cache"),
            "--no-cache applies to chips that can keep parameters in tiles, such as edge-4x4, not to systolic-4",
        ),
        (("run", "digits", "p.tasm", *CHIP), "p.tasm: a program runs alone; give the models"),
        (("run", "p.tasm", "--no-cache"), "--no-cache applies to models that are compiled, not to p.tasm, a program"),
        ((*BOTH, "--no-cache", "--priority", "digits"), "--priority must be left out, as --no-cache leaves nothing"),
        (
            (*BOTH, "--priority", "digit"),
            "--priority digit: must name one of digits, example-conv; did you mean digits?",
        ),
        ((*BOTH, "--inputs", "x.npz"), "--inputs applies to one model, not to digits and example-conv"),
        (("run", "digits", "digits", *CHIP), "digits: must be given once, not 2 times"),
        (("run", "digits", *CHIP, "-n", "0"), "--inferences must be from 1 to 1,000, not 0"),
        (("run", "digits", "--set", "grid=1x1"), "--topology must name a chip"),
    ],
)
def test_what_makes_no_sense_is_refused(tilesim: Any, words: tuple[str, ...], sentence: str) -> None:
    result = tilesim(*words)
    assert result.exit_code == 2
    assert sentence in result.stderr


def test_a_program_too_long_to_keep_is_not_written(tilesim: Any, tmp_path: Path) -> None:
    small = ("run", "digits", *CHIP, "--set", "instruction_memory.size_bytes=8KiB", "-n", "4")
    assert tilesim(*small).exit_code == 0
    result = tilesim(*small, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert "--out keeps the program of all inferences in one piece: program: its" in result.stderr
    assert not (tmp_path / "out").exists()


def test_outputs_of_several_networks_say_whose_they_are(tilesim: Any) -> None:
    def names(*words: object) -> list[str]:
        lines = tilesim(*words).stdout.splitlines()
        return [line.split(": ")[0] for line in lines if line.startswith("output ")]

    assert names(*BOTH) == ["output request1.out0 (digits)", "output request2.probabilities (example-conv)"]
    assert names("run", "digits", *CHIP, "-n", 2) == ["output request1.out0", "output request2.out0"]
