"""What a user gets from pip: an ordinary install carries the chips and workloads."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "tilesim"
KINDS = ("topologies", "workloads")
CALL = "import sys; sys.path.insert(0, sys.argv.pop(1)); from tilesim.cli import main; main()"


def pip(*arguments: str | Path) -> None:
    done = subprocess.run([sys.executable, "-m", "pip", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


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

    site = tmp_path / "site"
    pip("install", "-q", "--no-deps", "--no-index", "--target", site, wheel)

    def tilesim(*words: str) -> str:
        # -P keeps the working folder, and with it the checkout, off the path; the target comes first.
        command = [sys.executable, "-P", "-c", CALL, str(site), *words]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True).stdout

    tilesim("run", "digits", "--topology", "edge-1x1", "--trace", "--out", "made")
    assert tilesim("report", "made") == f"written to {Path('made', 'report.html')}\n"
    assert "edge-4x4" in tilesim("topologies")
    assert tilesim("guide", "run").startswith("# Run a model")
    assert "example-residual" in tilesim("workloads")
    assert '"schema": "tilesim.run/1"' in tilesim("run", "digits", "--topology", "edge-1x1", "--json")
