"""MobileNetV2 at full size: larger than a tile's memories in every way, and still every tensor of it exact."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tilesim
from tests.soak import part_of
from tests.tiled.busiest import busiest
from tests.tiled.test_many_tiles import check_bytes, check_cycles
from tilesim.machines.policies import SPATIAL, CachePolicy, Wishes
from tilesim.run import Run
from tilesim.tiled.compiler.compile import compile_networks
from tilesim.tiled.isa.model.instructions import Infeed
from tilesim.tiled.isa.model.program import Program

NAME = "coral_tf2_mnv2_ptq"
SOFTMAX = 175
"""A tensor that nothing holds: the classifier makes it, and the host turns it into the output as it comes."""
pytestmark = pytest.mark.slow


def compiled(models: Path, topology: str, policy: CachePolicy) -> Program:
    network = tilesim.load_network(models / NAME / "model.tflite")
    [program] = compile_networks([network], tilesim.load_topology(topology), policy, [Wishes(SPATIAL)])
    return program


def checked(program: Program, folder: Path, idle: float) -> Run:
    """A run of both samples, every tensor of the first one compared, every cycle and byte accounted for. Where fences
    hold the instruction bus, a MAC array is idle for at most this share of the cycles in which it isn't busy.
    """
    io, tensors = np.load(folder / "io.npz"), np.load(folder / "acts_ref.npz")
    run = tilesim.simulate(program, [np.concatenate([io["s0_in0"], io["s1_in0"]])], keep_tensors=True)
    np.testing.assert_array_equal(run.outputs[0], np.concatenate([io["s0_out0_ref"], io["s1_out0_ref"]]))
    assert {int(key[1:]) for key in tensors.files} <= run.tensors.keys() | {SOFTMAX}
    for key in tensors.files:
        if (index := int(key[1:])) != SOFTMAX:
            np.testing.assert_array_equal(run.tensors[index][:1], tensors[key])
    check_cycles(run, idle)
    check_bytes(program, run)
    return run


@pytest.mark.parametrize(
    ("topology", "idle"), part_of([("edge-1x1", 0.001), ("edge-2x2", 0.17), ("edge-8x8", 0.73)], 2)
)
def test_every_tensor_is_that_of_the_reference_kernels(models: Path, topology: str, idle: float) -> None:
    checked(compiled(models, topology, CachePolicy()), models / NAME, idle)


def test_sixteen_tiles_are_nearly_as_fast_as_their_busiest_parts_and_caching_is_worth_it(models: Path) -> None:
    program = compiled(models, "edge-4x4", CachePolicy())
    assert not [op for op in program.run if isinstance(op, Infeed) and op.source == "data"]
    run = checked(program, models / NAME, idle=0.17)
    assert run.cycles <= 1.3 * sum(cycles for _, cycles in busiest(program).values())
    streamed = compiled(models, "edge-4x4", CachePolicy(cache=False))
    assert checked(streamed, models / NAME, idle=0.41).cycles >= 2 * run.cycles


def test_row_bands_and_streams_are_what_makes_it_fit(models: Path) -> None:
    """On one tile neither the image nor a tenth of the parameters fits at once."""
    program = compiled(models, "edge-1x1", CachePolicy())
    assert len(program.inputs[0].blocks) > 1
    assert max(layer.bands for layer in program.layers) > 1
    infeeds = (op for op in program.run if isinstance(op, Infeed) and op.source == "data")
    streamed = sum(op.total_rows for op in infeeds) * program.topology.wide_memory.row_bytes
    assert streamed > 0.9 * sum(segment.data.size for segment in program.data)
