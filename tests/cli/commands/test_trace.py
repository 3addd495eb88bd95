"""What ``tilesim trace`` promises to scripts."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from pathlib import Path
from typing import Any

import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace


@pytest.fixture
def run(tilesim: Any, tmp_path: Path) -> Path:
    assert tilesim("run", "pocket", "--topology", "pocket-2x1", "--trace", "--out", tmp_path / "run").exit_code == 0
    return tmp_path / "run"


def test_either_format_of_a_run(tilesim: Any, tmp_path: Path, run: Path) -> None:
    out = tmp_path / "made" / "x.pftrace"
    first = tilesim("trace", run, "-o", out)
    assert (first.exit_code, first.stderr) == (0, "")
    [packet] = Trace.FromString(out.read_bytes()).packet
    events = [each for each in Trace.FromString(zlib.decompress(packet.compressed_packets)).packet if each.timestamp]
    spans = int(first.stdout.removeprefix(f"{out}: ").split()[0].replace(",", ""))
    assert len(events) > 2 * spans > 100
    before = out.read_bytes()
    assert tilesim("trace", run, "-o", out).exit_code == 0
    assert out.read_bytes() == before
    assert [path.name for path in out.parent.iterdir()] == ["x.pftrace"]
    assert tilesim("trace", run, "-o", tmp_path / "x.json", "--chrome").exit_code == 0
    assert tilesim("trace", run, "-o", tmp_path / "x.json.gz", "--chrome").exit_code == 0
    text = (tmp_path / "x.json").read_bytes()
    assert gzip.decompress((tmp_path / "x.json.gz").read_bytes()) == text
    assert sum("cat" in each and each["ph"] == "X" for each in json.loads(text)["traceEvents"]) == spans


def test_what_is_wrong_is_said(tilesim: Any, tmp_path: Path, run: Path) -> None:
    folder = tilesim("trace", run, "-o", run)
    assert (folder.exit_code, folder.stderr) == (2, f"error: {run}: must be a file to write, not a folder\n")
    os.mkfifo(run.parent / "fifo")
    fifo = tilesim("trace", run, "-o", run.parent / "fifo")
    assert (fifo.exit_code, "must be a file to write, not a pipe" in fifo.stderr) == (2, True)
    (run / "trace.npz").unlink()
    untraced = tilesim("trace", run, "-o", tmp_path / "x.pftrace")
    assert (untraced.exit_code, "must hold a trace.npz" in untraced.stderr) == (2, True)
    nowhere = tilesim("trace", tmp_path / "nowhere", "-o", tmp_path / "x.pftrace")
    assert (nowhere.exit_code, nowhere.stderr.startswith("error: ")) == (2, True)
    assert not (tmp_path / "x.pftrace").exists()


def test_a_file_that_cannot_be_finished_is_not_begun(
    tilesim: Any, tmp_path: Path, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.pftrace").write_text("what was here before")

    def full(*_: object) -> bytes:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tilesim.report.perfetto_file.zlib.compress", full)
    result = tilesim("trace", run, "-o", tmp_path / "x.pftrace")
    assert result.exit_code == 2
    assert "x.pftrace: the trace cannot be written there: No space left on device" in result.stderr
    assert (tmp_path / "x.pftrace").read_text() == "what was here before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run", "x.pftrace"]
