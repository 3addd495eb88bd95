"""Commands are loaded when they are called: what is known of them before, and what is not loaded for others."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from tests.cli.conftest import Tilesim
from tilesim.cli import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
HEAVY = {"numpy", "onnx", "perfetto", "pydantic", "rich", "simpy", "tflite", "yaml"}


def test_every_command_is_a_module_and_its_summary_begins_its_help(tilesim: Tilesim) -> None:
    folder = ROOT / "tilesim" / "cli" / "commands"
    assert {path.stem for path in folder.glob("*.py")} - {"__init__"} == {name.replace(" ", "_") for name in COMMANDS}
    helped = tilesim("--help").stdout
    for name, summary in COMMANDS.items():
        command = import_module(f"tilesim.cli.commands.{name.replace(' ', '_')}").command
        assert (inspect.getdoc(command) or "").splitlines()[0] == summary
        assert f"  {name:<{max(map(len, COMMANDS)) + 2}}{summary}\n" in helped


@pytest.mark.parametrize("words", [("rnu",), ("--nu",), ("run",), ("run", "--nu")])
def test_words_that_are_none_are_one_error(tilesim: Tilesim, words: tuple[str, ...]) -> None:
    result = tilesim(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    [line] = result.stderr.splitlines()
    assert line.startswith("error: ")
    assert line.endswith(" --help`)")


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_no_types_and_no_brackets_twice(tilesim: Tilesim, name: str) -> None:
    helped = tilesim(*name.split(), "--help").stdout
    assert re.search(r"<(?!=)|\[\[|\.\.\.}", helped) is None


def loaded_for(*words: str) -> set[str]:
    """The modules that a process of this command line has loaded, and the packages that they are in."""
    script = "import sys; from tilesim.cli import main\ntry: main()\nfinally: print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script, *words], cwd=ROOT, capture_output=True, text=True, check=True)
    names = set(done.stderr.split())
    return {name.split(".")[0] for name in names} | names


def test_the_help_loads_nothing_heavy() -> None:
    loaded = loaded_for("--help")
    assert loaded & HEAVY == set()
    assert not any(name.startswith("tilesim.cli.commands.") for name in loaded)


def test_a_yaml_network_loads_only_what_it_needs() -> None:
    loaded = loaded_for("run", "pocket")
    assert {"numpy", "simpy", "tilesim.tiled.machine"} <= loaded
    unwanted = {"onnx", "perfetto", "tflite", "matplotlib", "flatbuffers", "google"}
    assert (
        loaded & {*unwanted, "tilesim.systolic.machine", "tilesim.tiled.stepped", "tilesim.tiled.counterexamples"}
        == set()
    )
