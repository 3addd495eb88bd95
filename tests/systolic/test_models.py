"""Real models on systolic chips: outputs and whatever tensor can be read out are those of the reference kernels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tilesim
from tests.systolic.compiled import chip
from tilesim import simulate
from tilesim.run import Run
from tilesim.shipped import shipped
from tilesim.systolic.compiler.compile import compile_network

ON_THE_WAY = {"mlperf_kws_dscnn": {30}, "mlperf_vww_mnv1": {84}, "coral_tf2_mnv2_ptq": {171}}
"""Tensors that nothing holds: the vector unit pools them on their way from the accumulators."""
BORDERS = {"mit_mcunet_detection": {35, 100, 117, 125, 157}}
"""Or they are borders that convolutions reach over."""


def checked(models: Path, name: str, topology: str) -> Run:
    network = tilesim.load_network(models / name / "model.tflite")
    program = compile_network(network, chip(topology))
    io, tensors = np.load(models / name / "io.npz"), np.load(models / name / "acts_ref.npz")
    run = simulate(program, [io["s0_in0"]], keep_tensors=True)
    for number, output in enumerate(run.outputs):
        np.testing.assert_array_equal(output, io[f"s0_out{number}_ref"])
    missing = {int(key[1:]) for key in tensors.files} - run.tensors.keys()
    assert missing == ON_THE_WAY.get(name, set()) | BORDERS.get(name, set())
    for key in tensors.files:
        if (index := int(key[1:])) not in missing:
            np.testing.assert_array_equal(run.tensors[index], tensors[key])
    assert run.cycles >= network.macs / program.topology.macs_per_cycle
    return run


NAMES = (
    "mlperf_kws_dscnn",
    "mlperf_resnet8",
    "mlperf_ad_ae",
    "mlperf_vww_mnv1",
    "mit_mcunet_detection",
    "coral_tf2_mnv2_ptq",
)


@pytest.mark.parametrize("topology", ["systolic-32", "tpu-v1"])
@pytest.mark.parametrize("name", NAMES)
def test_every_tensor_is_that_of_the_reference_kernels(models: Path, name: str, topology: str) -> None:
    checked(models, name, topology)


@pytest.mark.parametrize("topology", ["systolic-4", "systolic-32", "systolic-128", "tpu-v1"])
def test_the_digits_equal_onnx_runtime_on_the_whole_held_out_set(topology: str) -> None:
    held_out = np.load(shipped("workloads") / "digits.npz")
    program = compile_network(tilesim.load_network("digits"), chip(topology))
    np.testing.assert_array_equal(simulate(program, [held_out["in0"]]).outputs[0], held_out["out0"])


CHANGES: list[dict[str, object]] = [
    {"array.weights": "rows", "array.rows": 16, "array.columns": 40},
    {"value_loaders.feed": "channels"},
    {"accumulators.entries": 10},
    {"sequencer.queue_depth": 1, "weight_fifo.tiles": 1},
    {"host.bytes_per_cycle": 1, "host.latency_cycles": 100},
    {"vector_unit.lanes": 3, "vector_unit.pipeline_cycles": 40},
    {"weight_memory.clock_hz": 10_000_000},
]


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_what_the_chip_is_like_changes_the_cycles_but_never_the_digits(change: dict[str, object]) -> None:
    held_out = np.load(shipped("workloads") / "digits.npz")
    program = compile_network(tilesim.load_network("digits"), chip("systolic-32", change))
    run = simulate(program, [held_out["in0"][:20]])
    np.testing.assert_array_equal(run.outputs[0], held_out["out0"][:20])


@pytest.mark.parametrize("topology", ["systolic-4", "systolic-32", "systolic-128", "tpu-v1"])
@pytest.mark.parametrize("name", ["pocket", "example-conv", "example-residual"])
def test_shipped_workloads_run_on_all_chips(name: str, topology: str) -> None:
    network = tilesim.load_network(name)
    inputs = [
        np.random.default_rng(0).integers(-128, 128, network.tensors[index].shape).astype(np.int8)
        for index in network.inputs
    ]
    run = simulate(compile_network(network, chip(topology)), inputs, keep_tensors=True)
    expected = network.evaluate(inputs)
    for index, tensor in run.tensors.items():
        np.testing.assert_array_equal(tensor, expected[index])
    for index, output in zip(network.outputs, run.outputs, strict=True):
        np.testing.assert_array_equal(output, expected[index])
