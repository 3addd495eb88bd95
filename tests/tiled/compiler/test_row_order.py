"""Layers that begin with the lines that are there, and what is refused of programs that wait for a line too few."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tilesim
from tests.networks import Weave
from tilesim.network.graph import Network
from tilesim.network.operators import Rescale
from tilesim.tiled.isa.model.fields import Flag, Watcher
from tilesim.tiled.isa.model.instructions import Infeed, MeshOut, TensorOp, WideToNarrow, counted_nest
from tilesim.tiled.isa.model.loops import rounds_of
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.rules.tile.hazards import hazards

STRIDED = """
seed: 1
input: {shape: [1, 64, 64, 3], zero_point: 7}
layers:
 - {name: c, kind: convolution, filters: 40, kernel: [3, 3], strides: [2, 2]}
 - {name: d, kind: depthwise_convolution, kernel: [3, 3], input: c}
 - {name: p, kind: convolution, filters: 16, kernel: [1, 1], input: d}
"""


def network(folder: Path, text: str = STRIDED) -> Network:
    path = folder / "net.yaml"
    path.write_text(text)
    return tilesim.load_network(path)


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return tilesim.compile(network(tmp_path), tilesim.load_topology("edge-2x2"), partition="mixed")


def test_all_tiles_get_their_first_lines_before_any_gets_its_last(program: Program) -> None:
    infeeds = [op for op in program.run if isinstance(op, Infeed)]
    assert [(op.rows, op.to, op.transfers) for op in infeeds] == [(2, 1, 4)] * 8  # 4 lines of 128 bytes
    first, *others = (block.origin for block in program.inputs[0].blocks)
    assert [first, *others[:4]] == [(0, 0, 0), (0, 32, 0), (32, 0, 0), (32, 32, 0), (4, 0, 0)]
    (unpack,) = (op for op in program.run if isinstance(op, WideToNarrow))
    assert rounds_of(counted_nest(unpack), "r") == 16


def test_the_first_layer_begins_before_its_input_is_there(tmp_path: Path, program: Program) -> None:
    run = tilesim.simulate(program)
    before = tilesim.simulate(tilesim.compile(network(tmp_path), program.topology, "spatial"))
    host_cycles = 64 * 64 * 4 // 8
    assert run.statistics["layers"][0]["start_cycle"] < host_cycles / 4
    assert before.statistics["layers"][0]["start_cycle"] > host_cycles / 4
    assert run.cycles < before.cycles


def test_rows_that_need_the_last_lines_of_a_neighbour_are_made_last(program: Program) -> None:
    ops = [op for op in program.run if isinstance(op, TensorOp) and op.label.startswith("depthwise")]
    made = {op.label.split(".")[1]: op.nest.loops[0].bound for op in ops}
    assert made == {"0": 15, "1": 1}
    late = next(op for op in ops if op.label.split(".")[1] == "1")
    assert [watcher.flag for watcher in late.wait if watcher.flag is Flag.MESH_NORTH_IN]


def lowered(op: TensorOp | MeshOut, place: int) -> TensorOp | MeshOut:
    """The instruction, one of its watchers content with a count of one less."""
    watchers = list(op.wait)
    watchers[place] = watchers[place]._replace(expected=watchers[place].expected - 1)
    return replace(op, wait=tuple(watchers))


def early_waits(program: Program, kind: type) -> list[tuple[int, int, Watcher]]:
    """Where watchers for what comes over the ring stand."""
    return [
        (number, place, watcher)
        for number, op in enumerate(program.run)
        if isinstance(op, kind)
        for place, watcher in enumerate(op.wait)
        if watcher.flag is Flag.WIDE_TO_NARROW
    ]


@pytest.mark.parametrize("kind", [TensorOp, MeshOut])
@pytest.mark.parametrize("strict", [False, True])
def test_a_program_that_waits_for_one_row_too_few_is_refused(tmp_path: Path, kind: type, strict: bool) -> None:
    chip = tilesim.load_topology("edge-2x2", {"tile.strict_compare": strict})
    program = tilesim.compile(network(tmp_path), chip, partition="mixed")
    assert not hazards(program)
    waits = early_waits(program, kind)
    assert len(waits) >= 2
    for number, place, watcher in waits:
        ops = list(program.run)
        wrong = replace(program, run=(*ops[:number], lowered(ops[number], place), *ops[number + 1 :]))
        assert any(ops[number].label in sentence for sentence in hazards(wrong)), watcher


def test_waits_for_lines_of_neighbours_are_needed_too(program: Program) -> None:
    """One line of a neighbour too few is refused as well, wherever the tensorop reads it."""
    ops, refused = list(program.run), 0
    for number, op in enumerate(ops):
        for place, watcher in enumerate(op.wait if isinstance(op, TensorOp) else ()):
            if watcher.flag in {Flag.MESH_WEST_IN, Flag.MESH_EAST_IN} and watcher.loop:
                wrong = replace(program, run=(*ops[:number], lowered(op, place), *ops[number + 1 :]))
                assert hazards(wrong), (op.label, watcher)
                refused += 1
    assert refused


@pytest.mark.parametrize("chip", ["edge-1x1", "edge-2x2", "edge-4x4", "fig2-5x2"])
def test_both_models_run_it_alike_and_every_tensor_is_exact(tmp_path: Path, chip: str) -> None:
    net = network(tmp_path)
    program = tilesim.compile(net, tilesim.load_topology(chip), partition="mixed")
    x = np.random.default_rng(1).integers(-128, 128, (1, 64, 64, 3)).astype(np.int8)
    run, golden = tilesim.simulate(program, [x], keep_tensors=True), net.evaluate([x])
    for index, tensor in run.tensors.items():
        np.testing.assert_array_equal(tensor, golden[index])
    verdict = tilesim.verify(program, [x])
    assert not verdict.differences
    assert verdict.cycles == run.cycles
    assert tilesim.check(program).proven


def shifted(zero_point: int, filters: int = 4) -> Network:
    """A network whose input is turned from uint8 into int8 first."""
    weave = Weave()
    x = weave.input(8, 8, 3, dtype=np.uint8, zero_point=zero_point)
    to_signed = Rescale(zero_point, zero_point - 128, "double", 1 << 30, 1, (-128, 127), np.dtype(np.int8))
    y = weave.add(to_signed, x, zero_point=zero_point - 128)
    return weave.network(weave.convolution(y, filters))


@pytest.mark.parametrize("chip", ["edge-1x1", "edge-2x2"])
@pytest.mark.parametrize("zero_point", [0, 127, 128])
def test_what_only_moves_the_zero_point_of_an_input_is_left_to_its_reader(chip: str, zero_point: int) -> None:
    net = shifted(zero_point)
    program = tilesim.compile(net, tilesim.load_topology(chip), partition="mixed")
    assert [layer.place for layer in program.layers] == ["nowhere", "tiles"]
    x = np.random.default_rng(1).integers(0, 256, (1, 8, 8, 3)).astype(np.uint8)
    run = tilesim.simulate(program, [x])
    np.testing.assert_array_equal(run.outputs[0], net.evaluate([x])[net.outputs[0]])
    spatial = tilesim.compile(net, tilesim.load_topology(chip), "spatial")
    assert [layer.place for layer in spatial.layers] == ["tiles", "tiles"]


def test_what_scales_or_is_read_by_others_too_stays_a_layer() -> None:
    weave = Weave()
    x = weave.input(8, 8, 4, dtype=np.uint8, zero_point=128)
    twice = Rescale(128, 0, "double", 1 << 30, 2, (-128, 127), np.dtype(np.int8))
    scaled = weave.convolution(weave.add(twice, x, zero_point=0), 4)
    to_signed = Rescale(128, 0, "double", 1 << 30, 1, (-128, 127), np.dtype(np.int8))
    net = weave.network(scaled, weave.add(to_signed, x, zero_point=0))
    program = tilesim.compile(net, tilesim.load_topology("edge-2x2"), partition="mixed")
    assert [layer.place for layer in program.layers] == ["tiles"] * 3


@pytest.mark.parametrize("partition", ["mixed", "spatial"])
@pytest.mark.parametrize("height", range(20, 32))
def test_a_tile_may_hold_no_line_of_what_it_reads(tmp_path: Path, height: int, partition: str) -> None:
    """Of 25 lines the last of six tiles has none, and it makes one of the 21."""
    net = network(
        tmp_path,
        f"input: {{shape: [1, {height}, 12, 15]}}\n"
        "layers: [{name: c, kind: convolution, kernel: [5, 1], filters: 8, padding: valid}]\n",
    )
    program = tilesim.compile(net, tilesim.load_topology("edge-4x4", {"grid.rows": 6, "grid.columns": 1}), partition)
    x = np.random.default_rng(1).integers(-128, 128, (1, height, 12, 15)).astype(np.int8)
    np.testing.assert_array_equal(tilesim.simulate(program, [x]).outputs[0], net.evaluate([x])[net.outputs[0]])
    assert tilesim.check(program).proven
