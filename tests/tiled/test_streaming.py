"""Parameters that don't stay in the tiles: from their home tile or from data memory, ahead of their use."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tilesim
from tests.tiled.mutate import without
from tests.tiled.test_many_tiles import check_bytes, check_cycles
from tilesim.machines.policies import SPATIAL, CachePolicy, Wishes
from tilesim.run import Run
from tilesim.shipped import shipped
from tilesim.tiled.compiler.compile import compile_networks
from tilesim.tiled.isa.model.instructions import Infeed, RingProduce
from tilesim.tiled.isa.model.program import Program

SMALL = {"wide_memory.size_bytes": "48 KiB"}
NOTHING = CachePolicy(cache=False)


def checked(program: Program, folder: Path) -> Run:
    """A run of a real model, every tensor and byte of which is as it must be."""
    io, acts = np.load(folder / "io.npz"), np.load(folder / "acts_ref.npz")
    run = tilesim.simulate(program, [io["s0_in0"]], keep_tensors=True)
    np.testing.assert_array_equal(run.outputs[0], io["s0_out0_ref"])
    for key in acts.files:
        np.testing.assert_array_equal(run.tensors[int(key[1:])], acts[key])
    check_cycles(run)
    check_bytes(program, run)
    return run


def streamed_bytes(program: Program) -> int:
    row_bytes = program.topology.wide_memory.row_bytes
    infeeds = (op for op in program.run if isinstance(op, Infeed) and op.source == "data")
    return sum(op.total_rows * row_bytes for op in infeeds)


@pytest.mark.parametrize("topology", ["edge-1x1", "edge-2x2", "edge-4x4"])
@pytest.mark.parametrize("name", ["mlperf_kws_dscnn", "mlperf_resnet8"])
def test_without_a_cache_all_parameters_come_in_every_inference(models: Path, name: str, topology: str) -> None:
    network, chip = tilesim.load_network(models / name / "model.tflite"), tilesim.load_topology(topology)
    [program] = compile_networks([network], chip, NOTHING, [Wishes(SPATIAL)])
    run, cached = (checked(each, models / name) for each in (program, tilesim.compile(network, chip, SPATIAL)))
    assert program.load == ()
    assert run.statistics["streamed_bytes"] == streamed_bytes(program)
    assert streamed_bytes(program) == sum(segment.data.size for segment in program.data)
    assert {layer["parameters"] for layer in run.statistics["layers"]} == {"", "streamed"}
    assert {layer["parameters"] for layer in cached.statistics["layers"]} <= {"", "copy", "partition"}
    assert run.cycles > cached.cycles
    assert run.cycles >= streamed_bytes(program) / chip.data_memory.bytes_per_cycle


@pytest.mark.parametrize("topology", ["edge-2x2", "edge-4x4"])
def test_a_home_tile_multicasts_what_has_no_room_in_every_tile(models: Path, topology: str) -> None:
    """Nearly as fast as with all parameters in every tile: they come while the tiles compute."""
    network = tilesim.load_network(models / "mlperf_kws_dscnn" / "model.tflite")
    program = tilesim.compile(network, tilesim.load_topology(topology, SMALL), SPATIAL)
    labels = [op.label for op in program.run if isinstance(op, RingProduce)]
    assert [label for label in labels if label.startswith("stream")]
    assert streamed_bytes(program) == 0
    run = checked(program, models / "mlperf_kws_dscnn")
    assert "home tile" in {layer["parameters"] for layer in run.statistics["layers"]}
    whole = tilesim.compile(network, tilesim.load_topology(topology), SPATIAL)
    assert run.cycles <= 1.02 * checked(whole, models / "mlperf_kws_dscnn").cycles


def test_what_fits_no_tile_comes_from_data_memory_and_the_rest_from_home_tiles(models: Path) -> None:
    network = tilesim.load_network(models / "mlperf_vww_mnv1" / "model.tflite")
    program = tilesim.compile(network, tilesim.load_topology("edge-2x2", SMALL))
    assert 0 < streamed_bytes(program) < sum(segment.data.size for segment in program.data)
    labels = [op.label for op in program.run if isinstance(op, RingProduce)]
    assert [label for label in labels if label.startswith("stream")]
    checked(program, models / "mlperf_vww_mnv1")


def test_a_layer_whose_parameters_are_too_many_is_made_some_outputs_at_a_time(models: Path) -> None:
    """Source 003 [0065]: a convolution's set is split further."""
    network = tilesim.load_network(models / "mlperf_resnet8" / "model.tflite")
    program = tilesim.compile(network, tilesim.load_topology("edge-2x2", {"wide_memory.size_bytes": "64 KiB"}))
    parts = {op.label for op in program.run if op.label.startswith("convolution") and "." in op.label}
    assert len(parts) > 2
    checked(program, models / "mlperf_resnet8")


def test_each_transfer_of_parameters_is_needed() -> None:
    network = tilesim.load_network("digits")
    [program] = compile_networks([network], tilesim.load_topology("edge-1x2"), NOTHING)
    held_out = np.load(shipped("workloads") / "digits.npz")
    inputs, expected = held_out["in0"][:1], held_out["out0"][:1]
    np.testing.assert_array_equal(tilesim.simulate(program, inputs).outputs[0], expected)
    for place in [k for k, op in enumerate(program.run) if op.label.startswith("stream")]:
        try:
            outputs = tilesim.simulate(without(program, "run", place), inputs).outputs
        except tilesim.TilesimError:
            continue
        assert not np.array_equal(outputs[0], expected), program.run[place].label


def test_networks_that_are_compiled_together_keep_their_parameters_side_by_side() -> None:
    networks = [tilesim.load_network(name) for name in ("digits", "example-residual")]
    chip = tilesim.load_topology("edge-2x2")
    a, b = compile_networks(networks, chip, CachePolicy())
    places = [{(r.address, r.address + r.bytes) for r in p.regions if r.name == "parameters"} for p in (a, b)]
    assert all(end <= other or start >= stop for start, end in places[0] for other, stop in places[1])
    assert a.token == b.token != tilesim.compile(networks[0], chip).token
