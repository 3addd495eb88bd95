from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from tilesim.run import FILES, Run
from tilesim.sim.trace.recorder import Recorder
from tilesim.sim.trace.state_log import StateLog


def test_a_run_is_saved_and_saved_over(tmp_path: Path) -> None:
    recorder = Recorder()
    recorder.record("chip.unit", 3, 2, "busy", "op", 4)
    log = StateLog(range(2, 5))
    fill = log.signal("chip.unit.fifo", "fill")
    log.begin(0)
    fill.set(3, 1)
    run = Run([np.arange(3), np.zeros(2)], 7, {"cycles": 7}, trace=recorder.trace(), signals=log.signals(7))
    run.save(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(FILES)
    assert json.loads((tmp_path / "run.json").read_text()) == {"cycles": 7}
    assert np.load(tmp_path / "outputs.npz")["out1"].tolist() == [0, 0]
    assert np.load(tmp_path / "trace.npz")["start_cycle"].tolist() == [3]
    assert np.load(tmp_path / "signals.npz")["cycle"].tolist() == [2, 3]
    replace(run, trace=None, signals=None).save(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(FILES) - {"trace.npz", "signals.npz"}


def test_its_folder_may_be_text(tmp_path: Path) -> None:
    Run([np.arange(3)], 7, {"cycles": 7}).save(f"{tmp_path}/made")
    assert {path.name for path in (tmp_path / "made").iterdir()} == {"outputs.npz", "run.json"}
