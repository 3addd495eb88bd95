"""What tilesim 0.1 saved is read: programs run to the same bits and cycles, runs are reported and compared.

The folders were written by `tilesim run pocket -t CHIP --trace --out DIR` and `tilesim compile` of that release, on
`edge-1x1` and on `systolic-4`.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tilesim.cli import app

SAVED = Path(__file__).resolve().parent / "saved_by_0_1"


def tilesim(*words: object) -> str:
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.mark.parametrize("file", ["tiled/program.tasm", "tiled/program.tbin", "systolic/program.tasm"])
def test_a_program_runs_to_the_same_bits_and_cycles(file: str, tmp_path: Path) -> None:
    folder = (SAVED / file).parent
    tilesim("run", SAVED / file, "--out", tmp_path / "run")
    before, now = (json.loads((run / "run.json").read_text()) for run in (folder, tmp_path / "run"))
    assert (before["cycles"], before["load_cycles"]) == (now["cycles"], now["load_cycles"])
    with np.load(folder / "outputs.npz") as golden, np.load(tmp_path / "run" / "outputs.npz") as outputs:
        assert golden["out0"].tolist() == outputs["out0"].tolist()


def test_a_run_is_reported_compared_and_traced(tmp_path: Path) -> None:
    folder = tmp_path / "tiled"
    shutil.copytree(SAVED / "tiled", folder)
    tilesim("report", folder, "--out", tmp_path / "page.html")
    assert "edge-1x1" in (tmp_path / "page.html").read_text()
    document = json.loads(tilesim("compare", folder, SAVED / "systolic", "--json"))
    assert [run["topology"] for run in document["runs"]] == ["edge-1x1", "systolic-4"]
    tilesim("trace", folder, "--chrome", "-o", tmp_path / "trace.json")
    assert json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
