"""No transfer passes a tile that counts before the tile has begun to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tilesim
from tests.networks import Weave
from tests.tiled.programs import program
from tilesim.network.evaluate import evaluate
from tilesim.network.operators import ResizeNearest
from tilesim.tiled.isa.model.instructions import Instruction, ScalarFence, TileFence
from tilesim.tiled.link.link import link_programs
from tilesim.tiled.link.start_fence import with_start_fence
from tilesim.tiled.rules.proof import proof_of

SINK = 1 << 3
"""Of a chip of two tiles."""
START = "start: tile_fence tiles=0x3 reset=ring_producer_a"
ONE, BOTH = (f"in: infeed source=host rows=1 to={to}" for to in ("0x1", "0x3"))
FIRST = f"out0: ring_produce tiles=0x1 read=[r:1 @0x0] to={SINK} wait=ring_producer_a>=1"
SECOND = f"out1: ring_produce tiles=0x2 read=[r:1 @0x0] to={SINK} wait=ring_producer_a>=1"


def labels(*lines: str) -> list[str]:
    one = program("\n".join(lines))
    return [op.label for op in with_start_fence(one.run, one.topology)]


def test_who_counts_must_have_begun_before_the_first_tail_passes() -> None:
    """The first tile's rows pass the second one, which has had none."""
    assert labels(START, ONE, FIRST, SECOND) == ["start", "in", "started.fence", "started", "out0", "out1"]


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param((START, BOTH, FIRST, SECOND), id="it has taken rows"),
        pytest.param((START, SECOND, FIRST), id="it has sent some"),
        pytest.param((START, ONE, FIRST), id="it does not count"),
        pytest.param((f"{START} increment=1", "go: scalar_fence count=2", ONE, FIRST, SECOND), id="it is awaited"),
    ],
)
def test_no_wait_if(lines: tuple[str, ...]) -> None:
    assert labels(*lines) == [line.split(":")[0] for line in lines]


def grown(hop_cycles: int = 1) -> tuple[tilesim.Network, tilesim.Topology]:
    """A map on a few tiles, and a larger one on all."""
    weave = Weave()
    x = weave.convolution(weave.input(2, 2, 8), 8, kernel=1)
    rows, columns = ((0, 0, 0, 1, 1, 1),) * 2
    network = weave.network(weave.add(ResizeNearest(rows, columns), x, zero_point=weave.zero_point(x)))
    return network, tilesim.load_topology("edge-4x4", {"grid": "3x3", "instruction_bus.hop_cycles": hop_cycles})


@pytest.mark.parametrize("hop_cycles", [1, 100, 3000])
def test_tiles_that_begin_late_miss_no_tail(hop_cycles: int) -> None:
    network, chip = grown(hop_cycles)
    compiled = tilesim.compile(network, chip)
    assert any(op.label == "started" for op in compiled.run)
    assert proof_of(compiled).proven
    x = np.random.default_rng(0).integers(-128, 128, (1, 2, 2, 8)).astype(np.int8)
    np.testing.assert_array_equal(
        tilesim.simulate(compiled, [x]).outputs[0], evaluate(network, [x])[network.outputs[0]]
    )
    unfenced = [op for op in compiled.run if not op.label.startswith("started")]
    assert not proof_of(replace(compiled, run=tuple(unfenced))).proven


def is_fence(op: Instruction) -> bool:
    return isinstance(op, TileFence | ScalarFence)


def test_a_series_waits_for_tiles_that_count_only_later(tmp_path: Path) -> None:
    """The first network leaves tiles alone that the second one uses."""
    path = tmp_path / "small.yaml"
    path.write_text(
        "input: {shape: [1, 1, 2, 4]}\nlayers: [{name: c, kind: convolution, filters: 4, kernel: [1, 1]}]\n"
    )
    network, chip = grown()
    some = tilesim.compile_networks([tilesim.load_network(path), network], chip)
    assert not any(op.label == "started" for op in some[0].run)
    joint = link_programs(some, [0, 1])
    assert proof_of(joint).proven
    assert [op.label for op in joint.run if is_fence(op)].count("started") == 1
