"""Real models on one tile: every output and every intermediate tensor, bit for bit."""

from pathlib import Path

import numpy as np
import pytest

import tilesim
from tilesim.shipped import shipped

NAMES = ("mlperf_kws_dscnn", "mlperf_resnet8", "mlperf_vww_mnv1", "mlperf_ad_ae")


@pytest.mark.parametrize("name", NAMES)
def test_every_sample_equals_the_reference_kernels(models: Path, name: str) -> None:
    program = tilesim.compile(tilesim.load_network(models / name / "model.tflite"), tilesim.load_topology("edge-1x1"))
    io = np.load(models / name / "io.npz")
    samples = len([key for key in io.files if key.endswith("_in0")])
    alone = [tilesim.simulate(program, [io[f"s{k}_in0"]]) for k in range(samples)]
    together = tilesim.simulate(program, [np.concatenate([io[f"s{k}_in0"] for k in range(samples)])])
    for k, run in enumerate(alone):
        np.testing.assert_array_equal(run.outputs[0], io[f"s{k}_out0_ref"])
        np.testing.assert_array_equal(together.outputs[0][k : k + 1], io[f"s{k}_out0_ref"])
        assert run.cycles == together.cycles


@pytest.mark.parametrize("name", NAMES)
def test_every_intermediate_tensor_is_read_out_of_the_memories(models: Path, name: str) -> None:
    program = tilesim.compile(tilesim.load_network(models / name / "model.tflite"), tilesim.load_topology("edge-1x1"))
    run = tilesim.simulate(program, [np.load(models / name / "io.npz")["s0_in0"]], keep_tensors=True)
    expected = np.load(models / name / "acts_ref.npz")
    for key in expected.files:
        np.testing.assert_array_equal(run.tensors[int(key[1:])], expected[key])


@pytest.mark.parametrize("name", NAMES)
def test_every_cycle_of_every_unit_has_a_reason_and_no_run_beats_its_macs(models: Path, name: str) -> None:
    topology = tilesim.load_topology("edge-1x1")
    network = tilesim.load_network(models / name / "model.tflite")
    run = tilesim.simulate(tilesim.compile(network, topology), [np.load(models / name / "io.npz")["s0_in0"]])
    for unit in [*run.statistics["units"], *run.statistics["links"]]:
        assert unit["busy_cycles"] + sum(unit["stall_cycles"].values()) + unit["idle_cycles"] == run.cycles, unit
    assert run.cycles >= network.macs / topology.macs_per_cycle
    assert run.statistics["macs"] == network.macs


def test_the_digits_equal_onnx_runtime_on_the_whole_held_out_set() -> None:
    held_out = np.load(shipped("workloads") / "digits.npz")
    program = tilesim.compile(tilesim.load_network("digits"), tilesim.load_topology("edge-1x1"))
    run = tilesim.simulate(program, [held_out["in0"]])
    np.testing.assert_array_equal(run.outputs[0], held_out["out0"])


@pytest.mark.parametrize(
    "change",
    [
        {"tile.lanes": 16},
        {"tile.lanes": 32, "wide_memory.row_bytes": 128},
        {"wide_memory.ports": 2},
        {"tile.output_fifo_groups": 1},
        {"instruction_bus.buffer_depth": 1},
        {"instruction_bus.width_bytes": 1, "instruction_bus.hop_cycles": 3},
        {"host.latency_cycles": 100, "host.bytes_per_cycle": 1, "ring.hop_cycles": 5},
        {
            "narrow_memory.word_bytes": 8,
            "tile.vector_bytes": 8,
            "tile.inputs_per_cycle": 8,
            "wide_memory.row_bytes": 512,
        },
        {"grid.rows": 3, "grid.columns": 2},
        {"wide_memory.reserve_bytes": 1024},
        {"tile.strict_compare": True},
    ],
    ids=str,
)
def test_what_the_chip_is_like_changes_the_cycles_but_never_the_digits(change: dict[str, object]) -> None:
    held_out = np.load(shipped("workloads") / "digits.npz")
    program = tilesim.compile(tilesim.load_network("digits"), tilesim.load_topology("edge-1x1", change))
    run = tilesim.simulate(program, [held_out["in0"][:20]])
    np.testing.assert_array_equal(run.outputs[0], held_out["out0"][:20])


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ({"tile.lanes": 64}, {"tile.lanes": 16}),
        ({"wide_memory.ports": 2}, {"wide_memory.ports": 1}),
        ({"host.bytes_per_cycle": 8}, {"host.bytes_per_cycle": 1}),
        ({"tile.output_fifo_groups": 2}, {"tile.output_fifo_groups": 1}),
        ({"instruction_bus.width_bytes": 16}, {"instruction_bus.width_bytes": 1}),
        ({"ring.hop_cycles": 1}, {"ring.hop_cycles": 9}),
    ],
    ids=str,
)
def test_more_of_anything_is_never_slower(better: dict[str, object], worse: dict[str, object]) -> None:
    image = np.load(shipped("workloads") / "digits.npz")["in0"][:1]
    fast, slow = (
        tilesim.simulate(
            tilesim.compile(tilesim.load_network("digits"), tilesim.load_topology("edge-1x1", change)), [image]
        ).cycles
        for change in (better, worse)
    )
    assert fast <= slow
