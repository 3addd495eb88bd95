"""What a user gets from pip: an ordinary install carries the chips, the workloads and the compiled engine."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.tiled.dataflow.agreement import COMPILED
from tilesim.tiled.core.build import file_name

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "tilesim"
KINDS = ("topologies", "workloads")
CALL = "import sys; sys.path.insert(0, sys.argv.pop(1)); from tilesim.cli import main; main()"


def pip(*arguments: str | Path) -> None:
    done = subprocess.run([sys.executable, "-m", "pip", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def installed(wheel: Path) -> Path:
    site = wheel.parent / "site"
    pip("install", "-q", "--no-deps", "--no-index", "--target", site, wheel)
    return site


def called(site: Path, *words: str, **variables: str) -> str:
    # -P keeps the working folder, and with it the checkout, off the path; the target comes first.
    command = [sys.executable, "-P", "-c", CALL, str(site), *words]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | variables
    done = subprocess.run(command, cwd=site.parent, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.slow
def test_the_wheel_has_everything(tmp_path: Path) -> None:
    pip("wheel", "-q", "--no-deps", "-w", tmp_path, ROOT)
    (wheel,) = tmp_path.glob("tilesim-*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    files = (path for kind in KINDS for path in (ROOT / kind).rglob("*") if path.is_file())
    shipped = {f"tilesim/_shipped/{path.relative_to(ROOT)}" for path in files}
    drawers = {f"tilesim/{path.relative_to(PACKAGE)}" for path in (PACKAGE / "report" / "page").glob("*.[jc]s*")}
    pages = {f"tilesim/{path.relative_to(PACKAGE)}" for path in (PACKAGE / "guide").glob("*.md")}
    assert names >= shipped | drawers | pages | {
        "tilesim/config/reading.py",
        "tilesim/report/page/base.js",
        "tilesim/guide/run.md",
    }
    assert not any(name.endswith(".png") for name in names)

    site = installed(wheel)

    def tilesim(*words: str) -> str:
        return called(site, *words)

    tilesim("run", "digits", "--topology", "edge-1x1", "--trace", "--out", "made")
    assert tilesim("report", "made") == f"written to {Path('made', 'report.html')}\n"
    assert "edge-4x4" in tilesim("topologies")
    assert tilesim("guide", "run").startswith("# Run a model")
    assert "example-residual" in tilesim("workloads")
    assert '"schema": "tilesim.run/1"' in tilesim("run", "digits", "--topology", "edge-1x1", "--json")


def made_of_sdist(folder: Path, monkeypatch: pytest.MonkeyPatch, compiler: str) -> Path:
    """The wheel that pip makes of an sdist."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (sdist,) = folder.glob("tilesim-*.tar.gz")
    monkeypatch.setenv("TILESIM_CC", compiler)
    pip("wheel", "-q", "--no-deps", "--no-build-isolation", "-w", folder, sdist)
    (wheel,) = folder.glob("tilesim-*.whl")
    return wheel


ENGINE = ("run", "pocket", "--topology", "edge-2x2", "--engine", "compiled")


@pytest.mark.slow
@COMPILED
def test_a_wheel_has_a_core_for_its_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = made_of_sdist(tmp_path, monkeypatch, os.environ.get("TILESIM_CC", ""))
    names = zipfile.ZipFile(wheel).namelist()
    assert f"tilesim/tiled/core/{file_name()}" in names
    assert "tilesim/tiled/core/core.c" in names
    assert re.fullmatch(r"tilesim-[\d.]+-py3-none-(?!any)\w+\.whl", wheel.name)
    site = installed(wheel)
    nothing = {"PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache"), "TILESIM_CC": ""}
    assert called(site, "--version", **nothing).endswith(f": ready, {site}/tilesim/tiled/core/{file_name()}\n")
    assert "\nengine: compiled\n" in called(site, *ENGINE, **nothing)
    assert not (tmp_path / "cache").exists()


@pytest.mark.slow
@COMPILED
def test_a_wheel_without_a_core_makes_it_at_first_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named = os.environ.get("TILESIM_CC", "")
    wheel = made_of_sdist(tmp_path, monkeypatch, "none")
    assert wheel.name.endswith("-py3-none-any.whl")
    assert not [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".so")]
    variables = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "TILESIM_CC": named}
    site = installed(wheel)
    assert ": made at its first use, by " in called(site, "--version", **variables)
    assert "\nengine: compiled\n" in called(site, *ENGINE, **variables)
    assert [path.name for path in (tmp_path / "cache" / "tilesim").iterdir()] == [file_name()]
    said = called(site, *ENGINE, **variables | {"TILESIM_CC": "none"})
    assert "\nSimPy ran this, not the compiled engine: TILESIM_CC is none\n" in f"\n{said}"
