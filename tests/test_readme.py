"""README.md keeps its word: every command in it runs, and prints what it shows."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import tilesim
from tests.scripts import ROOT, script
from tilesim.network.readers.onnx_operators import ACTIVATIONS, INTEGER, REAL
from tilesim.network.readers.tflite_operators import BUILDERS
from tilesim.systolic.isa.assembly import ASSEMBLY as SYSTOLIC
from tilesim.tiled.isa.assembly import ASSEMBLY
from tilesim.tiled.isa.model.instructions import INSTRUCTIONS
from tilesim.tiled.topology import MODELLED

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_commands_print_what_the_readme_shows(tmp_path: Path) -> None:
    """If only the output is new: ``scripts/make_readme.py`` brings the README up to date."""
    assert script("make_readme").rewritten(README, tmp_path).splitlines() == README.splitlines()


def test_it_lists_every_operator_and_every_key_without_a_choice() -> None:
    listed = README.split("- Operators read from `.tflite`:")[1].split("- Another operator")[0]
    words = set(re.findall(r"\b[A-Z][A-Za-z0-9_]+\b", listed)) - {"Operators"}
    assert words == {"QuantizeLinear", "DequantizeLinear", "Constant", *BUILDERS, *ACTIVATIONS, *REAL, *INTEGER}
    table = dict(re.findall(r"^\| `(\w+\.\w+)` \| `(\w+)` \|", README, re.MULTILINE))
    assert table == {key: str(value).lower() for key, value in MODELLED.items()}


def test_it_lists_every_directive_and_instruction() -> None:
    section = README.split("## How to read a program")[1].split("\n## ")[0]
    named = set(re.findall(r"`(\.?\w+)(?: 1)?`", section))
    assert named >= {kind.mnemonic for kind in INSTRUCTIONS}
    program = tilesim.compile(tilesim.load_network("pocket"), tilesim.load_topology("pocket-2x1"))
    assert named >= set(re.findall(r"^\.\w+", ASSEMBLY.text.write(program), re.MULTILINE))


def test_it_lists_every_instruction_of_the_systolic_machine() -> None:
    named = set(re.findall(r"`(\w+)`", README.split("## A systolic machine")[1].split("\n## ")[0]))
    assert named >= set(SYSTOLIC.text.mnemonics)


def test_no_command_is_left_out() -> None:
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    commands = [line.split("#")[0].split() for kind, body in blocks if kind == "sh" for line in body.splitlines()]
    assert commands == [["./scripts/run"], ["./scripts/test"], ["./scripts/bench", "--quick"]]
    assert {kind for kind, _ in blocks} == {"text", "sh", "console", "yaml", "python"}


def test_its_pictures_are_made_by_commands_that_it_shows() -> None:
    made = script("make_pictures")
    assert [words[1] for words in made.commands(README, made.ONE_RUN)] == ["run", "report"]
    assert [words[1] for words in made.commands(README, made.SCHEDULES)] == ["run", "run", "compare"]
    shown = re.findall(r"!\[[^]]+\]\(([^)]+)\)", README)
    assert {ROOT / path for path in shown} == set(made.PICTURES.iterdir())
    assert all((ROOT / path).stat().st_size < 200_000 for path in shown)


def test_the_first_command() -> None:
    if not (ROOT / ".venv").is_dir() or Path(sys.prefix).resolve() != (ROOT / ".venv").resolve():
        pytest.skip("these tests do not run in the .venv that scripts/setup makes")
    done = subprocess.run([ROOT / "scripts" / "run"], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0] in README
