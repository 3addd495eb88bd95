"""Networks on chips whose mesh joins wide memories: bit for bit, in both models, and proven."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tilesim
from tests.soak import counts
from tests.tiled.test_many_tiles import check_bytes
from tests.tiled.test_random_networks import FAMILIES, chips, exact, loaded, workloads
from tilesim.machines.verify import differences, event_result
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.machine import Tiled

WIDE: dict[str, Any] = {"mesh.destination": "wide"}
EXAMPLES = counts(5, 150)
SHIPPED = [
    ("pocket", "pocket-2x1"),
    ("digits", "edge-2x2"),
    ("example-conv", "edge-1x2"),
    ("example-residual", "edge-2x4"),
]
MODELS = [
    ("mlperf_ad_ae", "edge-2x2"),
    ("mlperf_kws_dscnn", "edge-2x2"),
    ("mlperf_kws_dscnn", "edge-4x4"),
    ("mlperf_resnet8", "fig2-5x2"),
    ("mlperf_resnet8", "edge-4x4"),
    ("mlperf_vww_mnv1", "edge-4x4"),
]
SEANET = ("add0", "conv0", "leaky_relu0", "pad0", "strided_slice0")
"""Those of the eight that tiles run."""


def compiled(path: Path | str, topology: str, partition: str = "spatial", **chip: Any) -> Program:
    return tilesim.compile(tilesim.load_network(path), tilesim.load_topology(topology, WIDE | chip), partition)


@pytest.mark.parametrize("partition", ["spatial", "mixed", "channel"])
@pytest.mark.parametrize(("name", "topology"), SHIPPED)
def test_both_models_agree_and_every_program_is_proven(name: str, topology: str, partition: str) -> None:
    program = compiled(name, topology, partition)
    inputs = [np.zeros(tensor.shape, tensor.dtype) for tensor in program.inputs]
    assert tilesim.check(program).proven
    event = event_result(Tiled(), program, inputs)
    assert event.cycles
    assert not [*differences(event, Tiled().step(program, inputs, trace=True))]


@pytest.mark.parametrize("partition", ["spatial", "mixed"])
@pytest.mark.parametrize(("name", "topology"), MODELS)
def test_models_are_exact_and_proven(models: Path, name: str, topology: str, partition: str) -> None:
    program = compiled(models / name / "model.tflite", topology, partition)
    assert tilesim.check(program).proven
    folder = models / name
    io, acts = np.load(folder / "io.npz"), np.load(folder / "acts_ref.npz")
    run = tilesim.simulate(program, [io["s0_in0"]], keep_tensors=True)
    np.testing.assert_array_equal(run.outputs[0], io["s0_out0_ref"])
    for key in acts.files:
        np.testing.assert_array_equal(run.tensors[int(key[1:])], acts[key])
    check_bytes(program, run)


@pytest.mark.parametrize("name", SEANET)
def test_models_of_16_bits_are_exact(models: Path, name: str) -> None:
    folder = models / f"tflm_seanet_{name}"
    program = compiled(folder / "model.tflite", "edge-2x2")
    assert tilesim.check(program).proven
    io = np.load(folder / "io.npz")
    inputs = [io[key] for key in sorted(io.files) if key.startswith("s0_in")]
    np.testing.assert_array_equal(tilesim.simulate(program, inputs).outputs[0], io["s0_out0_ref"])


@pytest.mark.parametrize("partition", ["spatial", "mixed"])
@pytest.mark.parametrize("examples", EXAMPLES)
@pytest.mark.parametrize("family", FAMILIES)
def test_random_networks_are_exact_and_proven(family: str, examples: int, partition: str, tmp_path: Path) -> None:
    ran = 0

    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(workloads(FAMILIES[family]), chips(), st.sampled_from([1, 2, 4]))
    def check(workload: dict[str, Any], chip: dict[str, Any], width: int) -> None:
        nonlocal ran
        network = loaded(workload, tmp_path)
        topology = tilesim.load_topology("edge-4x4", WIDE | chip | {"mesh.width_bytes": width})
        try:
            program = tilesim.compile(network, topology, partition)
        except tilesim.CapacityError:
            return
        assert tilesim.check(program).proven
        exact(network, program)
        ran += 1

    check()
    assert ran >= 0.6 * examples, "hardly any network may be too large"


def test_it_costs_cycles_and_changes_no_output() -> None:
    """Words go through a row and one engine more, and fill rows that need not be full."""
    network = tilesim.load_network("pocket")
    wide, narrow = compiled("pocket", "pocket-2x1"), tilesim.compile(network, tilesim.load_topology("pocket-2x1"))
    tensor = network.tensors[network.inputs[0]]
    x = tensor.to_model(np.random.default_rng(0).integers(-128, 128, tensor.shape).astype(np.int8))
    runs = [tilesim.simulate(program, [x]) for program in (wide, narrow)]
    np.testing.assert_array_equal(runs[0].outputs[0], runs[1].outputs[0])
    assert runs[0].cycles > runs[1].cycles
