"""What ``tilesim compare`` promises to scripts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilesim as api

CHIPS = ("edge-1x1", "edge-2x2")


NOTHING = {"actions": {}, "total_pj": 0}
ENERGY = {"table": {}, "units": [], "layers": [], "outside_layers": NOTHING, **NOTHING}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Folders of the same network on two chips, and of another network."""
    folder = tmp_path_factory.mktemp("runs")
    wanted = [("example-conv", chip, chip) for chip in CHIPS] + [("pocket", "pocket-2x1", "pocket")]
    for network, chip, name in wanted:
        program = api.compile(api.load_network(network), api.load_topology(chip))
        arrays = [np.zeros(tensor.shape, tensor.dtype) for tensor in program.inputs]
        api.simulate(program, arrays).save(folder / name)
    return [folder / name for _, _, name in wanted]


def test_tables_and_a_page(tilesim: Any, runs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = tilesim("compare", *runs[:2])
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("example-conv, 2 runs; the first is edge-1x1\n")
    assert result.stdout.endswith("written to compare.html\n")
    assert [path.name for path in tmp_path.iterdir()] == ["compare.html"]
    again = tilesim("compare", *runs[:2], "-o", tmp_path / "other.html")
    assert again.stdout.endswith(f"written to {tmp_path / 'other.html'}\n")
    assert (tmp_path / "other.html").read_bytes() == (tmp_path / "compare.html").read_bytes()


def test_json_stands_alone_and_is_that_of_the_runs(
    tilesim: Any, runs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = json.loads(tilesim("compare", *runs[:2], "--json").stdout)
    assert not list(tmp_path.iterdir())
    cycles = [json.loads((run / "run.json").read_text())["cycles"] for run in runs[:2]]
    assert [run["cycles"] for run in found["runs"]] == cycles
    assert found["runs"][1]["speed_up"] == cycles[0] / cycles[1]
    assert found["notes"] == []
    for k, each in enumerate(cycles):
        assert sum(row["cycles"][k] for row in found["causes"]) == pytest.approx(each)


def test_every_fault_is_told_and_nothing_is_written(tilesim: Any, runs: list[Path], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "run.json").write_text('{"schema": "tilesim.run/0"}')
    result = tilesim("compare", runs[0], tmp_path / "nowhere", tmp_path / "broken", "-o", page)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.splitlines() == [
        f"error: {tmp_path / 'nowhere'}: is no folder; give one that `tilesim run MODEL --out DIR` has written",
        f"error: {tmp_path / 'broken' / 'run.json'}: schema must be 'tilesim.run/1', not \"tilesim.run/0\"",
    ]
    assert not page.exists()


def test_other_networks_and_single_runs_are_refused(tilesim: Any, runs: list[Path], tmp_path: Path) -> None:
    result = tilesim("compare", runs[0], runs[2], "-o", tmp_path / "page.html")
    assert result.exit_code == 2
    assert "must be a run of the network example-conv" in result.stderr
    assert tilesim("compare", runs[0], "-o", tmp_path / "page.html").exit_code == 2
    assert tilesim("compare", *runs[:2], "-o", tmp_path).exit_code == 2
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"energy": 3}, "energy must be an object, not 3"),
        ({"energy": ENERGY | {"total_pj": None}}, "energy.total_pj must be a valid number, not null"),
        (
            {"bytes": {"ring": {"carried": -1, "entered": 0}}},
            "bytes.ring.carried must be greater than or equal to 0, not -1",
        ),
        ({"energy": ENERGY}, "energy.layers must be those of 6 layers, not of 0"),
        ({"partition": [1]}, "partition must be an object, not [1]"),
    ],
)
def test_a_run_that_was_changed_is_refused(
    tilesim: Any, runs: list[Path], tmp_path: Path, change: dict[str, Any], fault: str
) -> None:
    document = json.loads((runs[1] / "run.json").read_text()) | change
    (tmp_path / "run.json").write_text(json.dumps(document))
    result = tilesim("compare", runs[0], tmp_path, "-o", tmp_path / "page.html")
    assert (result.exit_code, result.stderr) == (2, f"error: {tmp_path / 'run.json'}: {fault}\n")
