"""The public calls, as a script would make them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tilesim
from tilesim.shipped import shipped


def test_a_model_runs_bit_for_bit_with_every_tensor(models: Path) -> None:
    folder = models / "mlperf_kws_dscnn"
    samples, activations = np.load(folder / "io.npz"), np.load(folder / "acts_ref.npz")
    program = tilesim.compile(tilesim.load_network(folder / "model.tflite"), tilesim.load_topology("edge-1x1"))
    run = tilesim.simulate(program, [samples["s0_in0"]], keep_tensors=True)
    np.testing.assert_array_equal(run.outputs[0], samples["s0_out0_ref"])
    assert run.cycles == run.statistics["cycles"] > 0
    for name in activations.files:
        np.testing.assert_array_equal(run.tensors[int(name.removeprefix("t"))], activations[name])


def test_samples_of_one_run_do_not_meet() -> None:
    program = tilesim.compile(tilesim.load_network("example-conv"), tilesim.load_topology("edge-1x1"))
    images = np.random.default_rng(1).integers(-128, 128, (3, 16, 16, 4), np.int8)
    together = tilesim.simulate(program, [images])
    alone = [tilesim.simulate(program, [images[k : k + 1]]) for k in range(3)]
    np.testing.assert_array_equal(together.outputs[0], np.concatenate([run.outputs[0] for run in alone]))
    assert {run.cycles for run in alone} == {together.cycles}
    assert together.tensors == {}
    assert together.trace is None


def test_topologies_by_name_by_path_and_with_overrides() -> None:
    by_name = tilesim.load_topology("edge-4x4", overrides={"grid.rows": 2})
    by_path = tilesim.load_topology(shipped("topologies") / "edge-4x4.yaml", {"grid": "2x4"})
    assert by_name == by_path
    assert (by_name.grid.rows, by_name.grid.columns) == (2, 4)
    assert by_name.tiles == 8


def test_a_bare_name_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text("machine: tiled\nname: mine\n")
    assert tilesim.load_topology("mine.yaml").name == "mine"
    with pytest.raises(tilesim.ConfigError, match=r"^mine: there is no such topology; there are edge-1x1, "):
        tilesim.load_topology("mine")


def test_a_saved_program_comes_back(tmp_path: Path) -> None:
    program = tilesim.compile(tilesim.load_network("example-residual"), tilesim.load_topology("edge-1x1"))
    tilesim.save_program(program, tmp_path / "block.tasm")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["block.npz", "block.tasm"]
    again = tilesim.load_program(tmp_path / "block.tasm")
    assert again.topology == program.topology
    image = np.zeros((1, 16, 16, 16), np.int8)
    runs = [tilesim.simulate(each, [image], trace=True) for each in (program, again)]
    assert runs[0].statistics == runs[1].statistics
    np.testing.assert_array_equal(runs[0].outputs[0], runs[1].outputs[0])


def test_wrong_inputs_are_refused() -> None:
    program = tilesim.compile(tilesim.load_network("digits"), tilesim.load_topology("edge-1x1"))
    with pytest.raises(tilesim.ArrayError, match="inputs must be 1 arrays, not 0"):
        tilesim.simulate(program, [])
    with pytest.raises(tilesim.ArrayError, match="dtype float32, not int8"):
        tilesim.simulate(program, [np.zeros((1, 1, 8, 8), np.int8)])
