"""README.md keeps its word: every command in it runs, and prints what it shows."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_commands_print_what_the_readme_shows(tmp_path: Path) -> None:
    """If only the output is new: ``scripts/make_readme.py`` brings the README up to date."""
    spec = spec_from_file_location("make_readme", ROOT / "scripts" / "make_readme.py")
    assert spec is not None
    assert spec.loader is not None
    make_readme = module_from_spec(spec)
    spec.loader.exec_module(make_readme)
    assert make_readme.rewritten(README, tmp_path).splitlines() == README.splitlines()


def test_no_command_is_left_out() -> None:
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    commands = [line.split("#")[0].split() for kind, body in blocks if kind == "sh" for line in body.splitlines()]
    assert commands == [["./scripts/run"], ["./scripts/test"]]
    assert {kind for kind, _ in blocks} == {"text", "sh", "console", "yaml", "python"}


def test_the_first_command() -> None:
    if not (ROOT / ".venv").is_dir() or Path(sys.prefix).resolve() != (ROOT / ".venv").resolve():
        pytest.skip("these tests do not run in the .venv that scripts/setup makes")
    done = subprocess.run([ROOT / "scripts" / "run"], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0] in README
