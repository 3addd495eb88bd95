"""A tilesim whose folder of C was deleted: SimPy runs everything, and one line says that the other engine is gone."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ASKS = """
import numpy as np
import tilesim
program = tilesim.compile(tilesim.load_network("pocket"), tilesim.load_topology("edge-2x2"))
inputs = [np.zeros(tensor.shape, tensor.dtype) for tensor in program.inputs]
plain, asked, auto = (tilesim.simulate(program, inputs, engine=name) for name in ("simpy", "compiled", "auto"))
assert plain.json() == asked.json() == auto.json()
print(*(run.engine for run in (plain, asked, auto)), plain.note, asked.note, auto.note, sep="|")
"""
IMPORTS_ALL = """
import importlib, pkgutil, tilesim
for module in pkgutil.walk_packages(tilesim.__path__, "tilesim."):
    if module.name != "tilesim.__main__":
        importlib.import_module(module.name)
"""
GONE = "this tilesim has no tilesim/tiled/core"


@pytest.fixture(scope="module")
def without_core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout as far as it is needed, without the core."""
    place = tmp_path_factory.mktemp("without-core")
    leaves_out = shutil.ignore_patterns("__pycache__")
    for name in ("tilesim", "topologies", "workloads", "scripts"):
        shutil.copytree(ROOT / name, place / name, ignore=leaves_out)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, place)
    shutil.rmtree(place / "tilesim" / "tiled" / "core")
    return place


def python(place: Path, *words: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(place)}
    done = subprocess.run(
        [sys.executable, *words], cwd=place, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_simpy_runs_everything(without_core: Path) -> None:
    said = python(without_core, "-c", ASKS)
    assert said == f"simpy|simpy|simpy||SimPy ran this, not the compiled engine: {GONE}|\n"


def test_one_line_says_so(without_core: Path) -> None:
    words = ("-m", "tilesim", "run", "pocket", "-t", "edge-2x2", "--engine", "compiled")
    assert [line for line in python(without_core, *words).splitlines() if "ngine" in line] == [
        f"SimPy ran this, not the compiled engine: {GONE}",
        "engine: simpy",
    ]
    standing = python(without_core, "-m", "tilesim", "--version").splitlines()[-1]
    assert standing == f"compiled engine of tiled chips: not there: {GONE}"


def test_no_other_module_misses_it(without_core: Path) -> None:
    python(without_core, "-c", IMPORTS_ALL)


@pytest.mark.slow
def test_its_wheel_is_pure_python(without_core: Path, tmp_path: Path) -> None:
    python(without_core, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(tmp_path), ".")
    assert [path.name.split("-", 2)[2] for path in tmp_path.iterdir()] == ["py3-none-any.whl"]
