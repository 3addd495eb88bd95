"""What `import tilesim` gives: every name is there, documented and typed, and nothing heavy comes along."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import tilesim
from tests.scripts import script
from tilesim import public

ROOT = Path(__file__).resolve().parent.parent
HEAVY = {"onnx", "tflite", "flatbuffers", "perfetto", "typer", "click", "rich", "matplotlib", "numpy.ma"}
"""The last one is what numpy itself imports for some of its functions, in a fiftieth of a second."""
SIMULATES = """
import sys, tilesim
program = tilesim.compile(tilesim.load_network("pocket"), tilesim.load_topology("pocket-2x1"))
run = tilesim.simulate(program, seed=0)
print(run.cycles > 0, *sys.modules)
"""
IMPORTS = "import sys, tilesim; print(*sorted(name for name in sys.modules if name.startswith('tilesim')))"


def answer(script: str) -> list[str]:
    """The words that a script prints in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()


def test_every_name_is_there_once_and_in_order() -> None:
    assert tilesim.__all__ == sorted(
        set(tilesim.__all__), key=lambda name: (not name.isupper(), name[0].islower(), name)
    )
    assert dir(tilesim) == sorted(tilesim.__all__)


@pytest.mark.parametrize("name", public.__all__)
def test_every_name_is_documented(name: str) -> None:
    value = getattr(tilesim, name)
    assert value is getattr(public, name)
    if inspect.isfunction(value) or inspect.isclass(value):
        words = inspect.getdoc(value) or ""
        assert words[:1].isupper()
        assert not words.startswith(f"{name}(")  # what a dataclass makes up


@pytest.mark.parametrize("name", [name for name in public.__all__ if inspect.isfunction(getattr(public, name))])
def test_every_argument_is_typed_and_explained(name: str) -> None:
    function = getattr(tilesim, name)
    words = inspect.getdoc(function) or ""
    signature = inspect.signature(function)
    assert signature.return_annotation is not inspect.Signature.empty
    for argument in signature.parameters.values():
        assert argument.annotation is not inspect.Parameter.empty
        assert argument.name in words or argument.name in {"path", "name_or_path", "folder"}


def test_importing_tilesim_imports_nothing_else_of_it() -> None:
    assert answer(IMPORTS) == ["tilesim"]


def test_a_network_of_yaml_is_simulated_without_what_is_heavy() -> None:
    ran, *modules = answer(SIMULATES)
    assert ran == "True"
    assert HEAVY.isdisjoint(modules)


def test_type_checkers_see_the_types() -> None:
    """What is typed wrong in the example fails ``scripts/check``."""
    assert (ROOT / "tilesim" / "py.typed").is_file()
    assert script("typed_example").main() > 0
