"""Maps that some tiles read whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tilesim
from tilesim.tiled.isa.model.instructions import NarrowToWide, RingProduce, TensorOp, WideToNarrow
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.rules.proof import proof_of


def compiled(
    tmp_path: Path, shape: str, layers: str, topology: str, **changes: object
) -> tuple[tilesim.Network, Program]:
    path = tmp_path / "net.yaml"
    path.write_text(f"seed: 3\ninput: {{shape: {shape}, zero_point: 5}}\nlayers: [{layers}]\n")
    network = tilesim.load_network(path)
    keys = {key.replace("__", "."): value for key, value in changes.items()}
    return network, tilesim.compile(network, tilesim.load_topology(topology, keys), "spatial")


def exact(network: tilesim.Network, program: Program) -> None:
    x = np.random.default_rng(0).integers(-128, 128, program.inputs[0].shape).astype(np.int8)
    run = tilesim.simulate(program, [x])
    np.testing.assert_array_equal(run.outputs[0], network.evaluate([x])[network.outputs[0]])


SPREAD = "{name: c, kind: convolution, filters: 8, kernel: [1, 1]}"
POOL = "{name: p, kind: average_pool, window: [6, 5], padding: valid}"


def test_one_reader_gets_all_parts_in_order_and_unpacks_them_at_once(tmp_path: Path) -> None:
    network, program = compiled(tmp_path, "[1, 6, 5, 8]", f"{SPREAD}, {POOL}", "edge-2x2")
    label = next(op.label for op in program.run if isinstance(op, NarrowToWide))
    assert label.startswith("copy")
    masters = [op for op in program.run if isinstance(op, RingProduce) and op.label.startswith("copy")]
    assert [(op.tiles, op.to) for op in masters] == [(0b10, 1), (0b100, 1), (0b1000, 1)]
    [unpack] = [op for op in program.run if isinstance(op, WideToNarrow) and op.label.startswith("copy")]
    assert [loop.name for loop in unpack.write.nest.loops][:2] == ["i", "j"]
    exact(network, program)


@pytest.mark.parametrize(("units", "topology"), [(1000, "edge-1x2"), (1100, "edge-2x2"), (2620, "fig2-5x2")])
def test_the_classifier_puts_outputs_together_that_were_spread(tmp_path: Path, units: int, topology: str) -> None:
    layers = f"{{name: f, kind: fully_connected, units: {units}}}, {{name: s, kind: softmax}}"
    exact(*compiled(tmp_path, "[1, 64]", layers, topology))


@pytest.mark.parametrize("topology", ["edge-1x2", "fig2-5x2", "edge-4x4"])
@pytest.mark.parametrize("units", [10, 300, 1000])
def test_every_reader_of_a_spread_map_gets_it_whole(tmp_path: Path, units: int, topology: str) -> None:
    layers = f"{SPREAD}, {{name: f, kind: fully_connected, units: {units}}}"
    network, program = compiled(tmp_path, "[1, 7, 5, 3]", layers, topology, wide_memory__size_bytes="2 MiB")
    exact(network, program)


def test_outputs_spread_by_channel_come_together_for_the_next_layer(tmp_path: Path) -> None:
    layers = (
        "{name: a, kind: fully_connected, units: 700}, {name: b, kind: fully_connected, units: 300}, "
        "{name: s, kind: softmax}"
    )
    network, program = compiled(tmp_path, "[1, 512]", layers, "edge-4x4")
    spread = next(op for op in program.run if isinstance(op, TensorOp) and op.label.startswith("fullyconnected0"))
    assert spread.tiles.bit_count() > 1
    exact(network, program)


@pytest.mark.parametrize("depth", [1, 8])
@pytest.mark.parametrize(
    "layer", ["kind: convolution, filters: 64, kernel: [1, 1]", "kind: fully_connected, units: 64"]
)
def test_tiles_that_give_and_take_in_one_queue_hold_nobody_up(tmp_path: Path, layer: str, depth: int) -> None:
    """What a tile takes after its own part comes behind that in its queue."""
    layers = f"{SPREAD}, {{name: f, partition: channel, {layer}}}"
    chip = {"ring__queue": "shared", "instruction_bus__buffer_depth": depth}
    network, program = compiled(tmp_path, "[1, 7, 5, 3]", layers, "edge-2x2", **chip)
    assert proof_of(program).proven
    exact(network, program)
