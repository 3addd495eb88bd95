"""What scripts/fuzz tells, that it notices what it must, and a part of what it tries."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest

from scripts.fuzzing import archives, bytewise, flatbuffer, models
from scripts.fuzzing.case import Case
from scripts.fuzzing.corpus import corpus
from scripts.fuzzing.judge import faults
from scripts.fuzzing.kinds import KINDS, case
from scripts.fuzzing.process import MOST_BYTES, MOST_SECONDS, Ended
from scripts.fuzzing.table import table
from scripts.fuzzing.trial import Outcome
from tilesim.network.readers import read

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
CHECK = Case("tasm", {}, ("check", "p.tasm", "--json"), frozenset({"out"}))
MISBEHAVIOUR = """
import dataclasses, json, os, signal, sys, tempfile, time, pathlib
import tilesim.cli
from scripts.fuzzing import judge, process, trial
from scripts.fuzzing.case import Case
judge.MOST_BYTES = 400 << 20

def unruly():
    what = sys.argv[1]
    if what == "nothing": print("done")
    if what == "raises": raise ValueError("\\x1b[31mred")
    if what == "signal": os.kill(os.getpid(), signal.SIGSEGV)
    if what == "loops":
        while True: pass
    if what == "eats": print(len(b"x" * (500 << 20)))
    if what == "leaves": pathlib.Path("leftover").touch(); sys.exit("error: left")
    if what == "saves": pathlib.Path("out").mkdir(); pathlib.Path("out/.saving-x").touch()
    if what == "forgets": pathlib.Path(tempfile.gettempdir(), "x").touch()
    if what == "alters": pathlib.Path("m").write_text("other")

tilesim.cli.main = unruly
words = ("nothing", "raises", "signal", "loops", "eats", "leaves", "saves", "forgets", "alters")
for k, word in enumerate(words):
    process.MOST_SECONDS = 1 if word == "loops" else 20
    done = trial.tried(Case("words", {"m": b"model"}, (word,), frozenset({"out"})), k)
    print(json.dumps([word, done.faults]))
"""


def test_what_goes_wrong_is_noticed() -> None:
    command = [sys.executable, "-c", MISBEHAVIOUR]
    done = subprocess.run(command, env=ENVIRONMENT, cwd=ROOT, capture_output=True, text=True, check=True)
    faults = {word: " ".join(sentences) for word, sentences in map(json.loads, done.stdout.splitlines())}
    assert faults["nothing"] == ""
    assert "status 70" in faults["raises"]
    assert "Traceback" in faults["raises"]
    assert r"stderr has '\x1b'" in faults["raises"]
    assert "SIGSEGV" in faults["signal"]
    assert "SIGXCPU" in faults["loops"]
    assert "MiB" in faults["eats"]
    assert "left 'leftover'" in faults["leaves"]
    assert faults["saves"] == "left 'out/.saving-x'"
    assert faults["forgets"] == "left 'x' in the folder for temporary files"
    assert faults["alters"] == "changed 'm'"


@pytest.mark.parametrize(
    ("ended", "expected"),
    [
        (Ended(0, b'{"a": 1}', b"", 1.0, 1000), []),
        (Ended(2, b"", b"error: a: must be b\n", 1.0, 1000), []),
        (Ended(0, b'{"a": NaN}', b"", 1.0, 1000), ["what --json printed is not JSON"]),
        (Ended(2, b"", b"error: a\nb\n", 1.0, 1000), ["a line of errors begins otherwise: 'b'"]),
        (Ended(2, b"", b"", 1.0, 1000), ["ended with 2 without a word"]),
        (Ended(2, b"", b"error: \xe2\x80\xae\n", 1.0, 1000), [r"stderr has '\u202e'"]),
        (Ended(2, b"", b"error: x\n" * 1000, 1.0, 1000), ["wrote 1000 lines, 9000 bytes, to stderr"]),
        (Ended(0, b"1", b"", MOST_SECONDS + 1.0, 1000), ["took 21 s of the processor"]),
        (Ended(0, b"1", b"", 1.0, MOST_BYTES + 1), ["took 1024 MiB"]),
        (Ended(2, b"", b"error: this computer has not enough memory: smaller inputs\n", 1.0, 1000),
         ["asked for more memory than the fuzzer gives: error: this computer has not enough memory: smaller inputs"]),
        (Ended(2, b"", b"error: this computer has not enough memory: a chip's memory of 9\n", 1.0, 1000), []),
        (Ended(-9, b"1", b"", 1.0, 1000), ["ended with SIGKILL"]),
        (Ended(0, b"1", b"x.py:1: RuntimeWarning: overflow", 1.0, 1000),
         ["printed 'Warning:': x.py:1: RuntimeWarning: overflow",
          "ended with 0 and wrote to stderr: x.py:1: RuntimeWarning: overflow"]),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(ended: Ended, expected: list[str]) -> None:
    assert faults(CHECK, ended, {}, {}, {}) == expected


def test_a_number_stands_for_one_input(tmp_path: Path) -> None:
    sound = corpus(tmp_path, None)
    assert sound.keys() == KINDS.keys() - {"words"}
    for number, kind in enumerate(KINDS):
        once, again = (case(5, number, tuple(KINDS), sound) for _ in range(2))
        assert once == again
        assert once.kind == kind
    assert case(5, 0, tuple(KINDS), sound) != case(6, 0, tuple(KINDS), sound)


def test_what_is_damaged_was_sound(tmp_path: Path) -> None:
    made = {
        "layers.tflite": models.lite_layers(), "functions.tflite": models.lite_functions(),
        "layers.onnx": models.open_layers(), "pairs.onnx": models.open_pairs(),
    }  # fmt: skip
    for name, data in made.items():
        (tmp_path / name).write_bytes(data)
        assert len(read(tmp_path / name).nodes) >= 3


def test_what_is_found_in_a_flatbuffer(tmp_path: Path) -> None:
    data = models.lite_layers()
    layout = flatbuffer.layout(data)
    network = tmp_path / "m.tflite"
    network.write_bytes(data)
    assert len(layout.tables) > 3 * len(read(network).nodes)
    for seed in range(50):
        damaged = flatbuffer.damaged(Random(seed), data)  # noqa: S311
        assert len(damaged) == len(data)
        assert sum(a != b for a, b in zip(damaged, data, strict=True)) <= 3 * 8


def test_mutations_keep_what_they_should() -> None:
    members = {"in0.npy": archives.member(np.arange(6, dtype=np.int8))}
    data = archives.packed(members)
    assert archives.unpacked(data) == members
    different = {bytewise.damaged(Random(seed), data, [data]) for seed in range(50)}  # noqa: S311
    assert len(different) > 40


def test_the_table_counts_everything() -> None:
    outcomes = [
        Outcome(0, "npz", ("run", "x"), False, 0, 0.5, 100 << 20, ()),
        Outcome(1, "npz", ("run", "y"), True, 2, 1.5, 50 << 20, ()),
        Outcome(2, "words", ("\u202e",), False, -11, 0.1, 50 << 20, ("ended with SIGSEGV",)),
    ]
    lines = [line.split() for line in table(outcomes).splitlines()]
    assert lines[1] == ["npz", "run", "2", "1", "1", "0", "1", "0", "0", "1.5", "100", "0"]
    assert lines[2] == ["words", "other", "1", "0", "0", "0", "0", "0", "1", "0.1", "50", "1"]
    assert lines[3] == ["all", "3", "1", "1", "0", "1", "0", "1", "1.5", "100", "1"]


def fuzz(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "scripts.fuzzing", "--no-models", *words]
    return subprocess.run(command, env=ENVIRONMENT, cwd=ROOT, capture_output=True, text=True, check=False)


def test_a_seeded_part() -> None:
    done = fuzz("--count", "32", "--seed", "7", "--shell-every", "32", "--processes", "1")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert done.stdout.splitlines()[-1].split()[:3] == ["all", "32", "1"]


@pytest.mark.soak
def test_twenty_thousand() -> None:
    done = fuzz("--count", "20000", "--processes", str(os.cpu_count()))
    assert done.returncode == 0, done.stdout
    count, by_shell = done.stdout.splitlines()[-1].replace(",", "").split()[1:3]
    assert (int(count), int(by_shell) >= 500) == (20_000, True)
