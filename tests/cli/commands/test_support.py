"""What ``tilesim support`` promises."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.network.readers.tflite_models import tensor, write


def sub(folder: Path, name: str = "y") -> Path:
    """Two operators: one that is not read, and one that does not read int16."""
    tensors = [tensor("x", [1, 4], np.int16), tensor("made", [1, 4], np.int16), tensor(name, [1, 4])]
    return write(folder / "sub.tflite", tensors, [("TANH", [0], [1]), ("NEG", [1], [2])], [0], [2])


def test_a_table_with_a_verdict_each_and_then_what_is_in_the_way(tilesim: Any, tmp_path: Path) -> None:
    result = tilesim("support", "pocket", "batching", sub(tmp_path), "-t", "pocket-2x1")
    lines = result.stdout.splitlines()
    assert result.exit_code == 1
    assert lines[0].split("  ")[-1].strip() == "in the way"
    table = {words[0]: " ".join(words[1:]) for line in lines[1:4] for words in [line.split()]}
    assert table["pocket"] == "5 2,368 240 B runs"
    assert table["batching"] == "6 19,515,456 97.84 KiB does not fit the chip"
    assert next(words for word, words in table.items() if word.endswith("sub.tflite")) == "- - - is not read NEG, int16"
    said = " ".join(result.stdout.split())
    assert "NEG 1 operator: y -> make the model without it" in said
    assert "int16 1 place: made -> convert it with activations of int8, not of int16 (`tilesim guide quantise`)" in said
    assert "batching: tensor input must fit the narrow memory of pocket-2x1: it needs 58.45 KiB" in said
    assert max(map(len, lines)) <= 80
    assert result.stderr == ""


def test_all_that_run_is_status_0(tilesim: Any) -> None:
    result = tilesim("support", "pocket", "-t", "systolic-4")
    assert (result.exit_code, result.stderr) == (0, "")
    assert len(result.stdout.splitlines()) == 2


def test_json_has_a_schema(tilesim: Any, tmp_path: Path) -> None:
    result = tilesim("support", sub(tmp_path), "pocket", "--json")
    document = json.loads(result.stdout)
    assert result.exit_code == 1
    assert (document["schema"], document["topology"]) == ("tilesim.support/1", None)
    first, second = document["models"]
    assert (first["verdict"], first["layers"], len(first["obstacles"])) == ("is not read", None, 2)
    assert {key: second[key] for key in ("verdict", "layers", "macs", "obstacles")} == {
        "verdict": "is read",
        "layers": 5,
        "macs": 2368,
        "obstacles": [],
    }


def test_what_is_no_model_is_said_after_the_others(tilesim: Any, tmp_path: Path) -> None:
    (tmp_path / "none.tflite").write_bytes(b"nothing")
    (tmp_path / "none.yaml").write_text("layers: 3\n")
    words = ("support", tmp_path / "none.tflite", "pocket", tmp_path / "gone.onnx", tmp_path / "none.yaml")
    result = tilesim(*words)
    assert result.exit_code == 2
    assert [line.split()[-2:] for line in result.stdout.splitlines()[1:]] == [
        ["no", "model"],
        ["is", "read"],
        ["no", "model"],
        ["no", "model"],
    ]
    assert f"{tmp_path / 'gone.onnx'}: there is no such file" in result.stderr
    assert "must be a TensorFlow Lite file" in result.stderr
    assert [each["verdict"] for each in json.loads(tilesim(*words, "--json").stdout)["models"]] == [
        "no model", "is read", "no model", "no model",
    ]  # fmt: skip


def test_names_cannot_steer_a_terminal(tilesim: Any, tmp_path: Path) -> None:
    result = tilesim("support", sub(tmp_path, "a\x1b[2Jb\x9b31mc\u202ed"))
    assert result.exit_code == 1
    assert not any((ord(each) < 32 and each != "\n") or each in "\x7f\x9b\u202e" for each in result.stdout)
    assert "a\\x1b[2Jb\\x9b31mc\\u202ed" in result.stdout


def test_words_that_make_no_sense(tilesim: Any) -> None:
    for words in (("-t", "tpu-v2"), ("--set", "array.rows=4"), ("-t", "edge-1x1", "-t", "edge-1x2")):
        assert tilesim("support", "pocket", *words).exit_code == 2


@pytest.mark.parametrize(("chip", "wide"), [("edge-2x2", True), ("systolic-32", False)])
def test_real_models(tilesim: Any, models: Path, chip: str, wide: bool) -> None:
    """Those of bytes fit, that of int16 only tiles; the systolic machine has no such sums."""
    names = ["mlperf_kws_dscnn", "mlperf_ad_ae", "tflm_seanet_add0"]
    result = tilesim("support", *(models / name / "model.tflite" for name in names), "-t", chip)
    assert result.exit_code == (0 if wide else 1)
    assert [line.split()[0] for line in result.stdout.splitlines()[1:4]] == names
    assert [" runs" in line for line in result.stdout.splitlines()[1:4]] == [True, True, wide]


@pytest.mark.parametrize("ending", [".tflite", ".onnx", ".yaml"])
def test_what_is_too_large_to_be_read_is_no_model(tilesim: Any, tmp_path: Path, ending: str) -> None:
    path = (tmp_path / "large").with_suffix(ending)
    with path.open("wb") as file:
        file.truncate(1 << 40)
    result = tilesim("support", path)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {path}: must have at most ")


def detector(folder: Path) -> Path:
    """A layer, and a custom operator that reads what it makes."""
    tensors = [tensor("x", [1, 4]), tensor("made", [1, 4]), tensor("boxes", [1, 2], np.float32)]
    return write(folder / "detector.tflite", tensors, [("RELU", [0], [1]), ("Detect", [1], [2])], [0], [2])


def test_what_is_cut_off_a_model_is_said(tilesim: Any, tmp_path: Path) -> None:
    note = (
        "node 1 (custom operator Detect) is cut off, as nothing here computes it: outputs are what goes into it, made"
    )
    model = detector(tmp_path)
    result = tilesim("support", model)
    assert (result.exit_code, note in " ".join(result.stdout.split())) == (0, True)
    [looked_at] = json.loads(tilesim("support", model, "--json").stdout)["models"]
    assert [said[: len(note)] for said in looked_at["notes"]] == [note]
    for command in (("run",), ("compile", "--output", tmp_path / "program.tasm")):
        result = tilesim(command[0], model, "-t", "systolic-4", *command[1:])
        assert (result.exit_code, f"detector: {note}" in result.stdout + result.stderr) == (0, True), command


def test_commands_tell_how_to_quantise_a_float_model(tilesim: Any, tmp_path: Path) -> None:
    tensors = [tensor("x", [1, 4], np.float32), tensor("y", [1, 4], np.float32)]
    result = tilesim("run", write(tmp_path / "float.tflite", tensors, [("RELU", [0], [1])], [0], [1]))
    assert result.exit_code == 2
    assert "what would help: quantise weights and activations to int8 (`tilesim guide quantise`)" in result.stderr
