"""A network with the size of MLP0 on the first TPU, beside what was published of it.

Source: Jouppi et al., ISCA 2017, Tables 1 and 3: five fully connected layers, 20 M weights, 200 inferences together.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import tilesim
from tilesim.machines.host import random_inputs
from tilesim.run import Run

BATCH, BATCHES = 200, 3
LAYERS = "\n".join(f"  - {{name: fc{k}, kind: fully_connected, units: 2000, activation: relu}}" for k in range(1, 6))


@pytest.fixture(scope="module")
def mlp0(tmp_path_factory: pytest.TempPathFactory) -> Run:
    path: Path = tmp_path_factory.mktemp("mlp0") / "mlp0.yaml"
    path.write_text(f"input: {{shape: [1, 2000], scale: 0.05, zero_point: 0}}\nlayers:\n{LAYERS}\n")
    network, chip = tilesim.load_network(path), tilesim.load_topology("tpu-v1")
    assert (
        19_000_000
        < sum(tensor.data.size for tensor in network.tensors.values() if tensor.data is not None)
        < 21_000_000
    )
    batches = tilesim.plan_batches(network, chip, BATCH * BATCHES, "demand", weight_reuse=BATCH)
    program = tilesim.compile(network, chip, batches=batches)
    return tilesim.simulate(program, random_inputs(program.inputs))


def test_active_stall_and_shift_are_those_of_the_steady_state(mlp0: Run) -> None:
    """A tile takes 1349.3 cycles to come, 256 to shift in, and 200 vectors use it: 14.8, 66.2 and 19.0 %."""
    found = mlp0.statistics["breakdown"]
    parts = [found["useful MACs"] + found["unused MACs"], found["weight stall"], found["weight shift"]]
    shares = [100 * part / sum(parts) for part in parts]
    assert shares == pytest.approx([14.8, 66.2, 19.0], abs=2)
    assert sum(found.values()) == mlp0.cycles


def test_its_time_is_close_to_the_roofline(mlp0: Run) -> None:
    """Two operations for each of 200 uses of a byte, of which 34e9 come a second: 13.6e12; 12.3e12 were measured."""
    seconds = mlp0.cycles / mlp0.statistics["clock_hz"]
    assert 13.6e12 * 0.9 < 2 * mlp0.statistics["macs"] / seconds < 13.6e12


def test_weights_are_fetched_once_a_batch(mlp0: Run) -> None:
    """Eight times eight tiles a layer."""
    assert mlp0.statistics["batching"]["weight_set_loads"] == 5 * BATCHES
    assert mlp0.statistics["batching"]["weight_bytes"] == 5 * BATCHES * 64 * 65536
