"""What is one set of parameters: when sets are cut along their inputs, and what that gains."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import yaml

import tilesim
from tests.scripts import script
from tilesim.errors import CapacityError
from tilesim.machines.options import CompileOptions
from tilesim.machines.policies import PartitionPolicy
from tilesim.network.graph import Network
from tilesim.tiled.cache_plan import plan_cache
from tilesim.tiled.caching import Home
from tilesim.tiled.isa.model.instructions import TensorOp, program_bytes
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.topology import Topology

MIB = 1 << 20


def network(folder: Path, shape: Sequence[int], *layers: dict[str, Any]) -> Network:
    path = folder / "net.yaml"
    named = [{"name": f"layer{k}", **layer} for k, layer in enumerate(layers)]
    path.write_text(yaml.safe_dump({"input": {"shape": [1, *shape]}, "layers": named}))
    return tilesim.load_network(path)


def chip(grid: str, wide_kib: int, **keys: object) -> Topology:
    """``keys`` with two underscores for a dot."""
    others = {key.replace("__", "."): value for key, value in keys.items()}
    return tilesim.load_topology(f"edge-{grid}", {"wide_memory.size_bytes": f"{wide_kib} KiB", **others})


def convolution(filters: int, kernel: int = 3) -> dict[str, Any]:
    return {"kind": "convolution", "filters": filters, "kernel": [kernel, kernel]}


def parts(program: Program) -> int:
    """Tensorops that read sums."""
    return sum(isinstance(op, TensorOp) and op.sums_in is not None for op in program.run)


def exact(net: Network, program: Program) -> None:
    shape = net.tensors[net.inputs[0]].shape
    x = np.random.default_rng(5).integers(-128, 128, shape).astype(np.int8)
    run, golden = tilesim.simulate(program, [x], keep_tensors=True), net.evaluate([x])
    for index, tensor in run.tensors.items():
        np.testing.assert_array_equal(tensor, golden[index])
    verdict = tilesim.verify(program, [x])
    assert (verdict.ended, verdict.differences) == (True, ())


def test_nothing_is_cut_where_all_parameters_have_a_place_on_the_chip(tmp_path: Path) -> None:
    """A set of 144 KiB, more than an eighth of what a tile has, stays whole, in a home tile or in all."""
    net = network(tmp_path, (4, 4, 256), convolution(64), convolution(256, 1))
    for size in (512, 320):
        assert parts(tilesim.compile(net, chip("2x2", size), "spatial")) == 0


def test_a_fully_connected_layer_whose_block_is_larger_than_wide_memory_runs_in_parts(tmp_path: Path) -> None:
    """A block of 64 outputs of 7 x 7 x 96 inputs takes 294 KiB, as VGG16's first one takes 1,568."""
    net = network(tmp_path, (7, 7, 96), {"kind": "fully_connected", "units": 100})
    for grid in ("1x1", "2x2"):
        program = tilesim.compile(net, chip(grid, 64), "spatial")
        assert parts(program) > 0
        exact(net, program)


def test_a_layer_of_one_word_of_channels_is_cut_by_rows_of_its_kernel(tmp_path: Path) -> None:
    """A word of 20 x 20 inputs takes 100 KiB for 64 outputs."""
    net = network(tmp_path, (20, 20, 3), {"kind": "fully_connected", "units": 64})
    program = tilesim.compile(net, chip("1x1", 48), "spatial")
    assert parts(program) == 19
    exact(net, program)


def test_sums_that_take_more_than_a_set_are_kept_only_where_there_is_no_other_way(tmp_path: Path) -> None:
    """A tile's 16 x 16 rows of sums take 64 KiB, the quarter of four tiles 16 KiB; a set 36.75 KiB."""
    net = network(tmp_path, (16, 16, 64), convolution(64), convolution(64))
    chips = {(grid, size): chip(grid, size) for grid, size in (("1x1", 96), ("1x1", 60), ("2x2", 40))}
    assert parts(tilesim.compile(net, chips["1x1", 96], "spatial")) == 0
    with pytest.raises(CapacityError, match=r"parameters of layer layer. must fit .*: 36.75 KiB are needed at once"):
        tilesim.compile(net, chips["1x1", 60], "spatial")
    program = tilesim.compile(net, chips["2x2", 40], "spatial")
    assert parts(program) > 0
    exact(net, program)


def test_a_set_that_no_tile_has_room_for_has_several_home_tiles(tmp_path: Path) -> None:
    """Source 003 [0065], [0067]: a convolution's parameters are split further where they don't fit."""
    net = network(tmp_path, (4, 4, 256), convolution(64))
    small = chip("2x2", 96)
    plan = plan_cache({"net": net}, small)
    homes = {decision.tile for decision in plan.decisions if decision.home is Home.HOME_TILE}
    assert len(homes) == 4
    assert all(decision.cached for decision in plan.decisions)
    exact(net, tilesim.compile(net, small, "spatial"))


def test_parameters_come_in_fewer_sets_where_instruction_memory_wants_that(tmp_path: Path) -> None:
    """A block of 64 outputs takes 36 KiB, half of what a tile has."""
    net = network(tmp_path, (2, 2, 64), *[convolution(64)] * 4)
    program = tilesim.compile(net, chip("1x1", 72), "spatial")
    size = program_bytes((*program.load, *program.run))
    shorter = tilesim.compile(net, chip("1x1", 72, instruction_memory__size_bytes=size - 16), "spatial")
    assert 0 < program_bytes((*shorter.load, *shorter.run)) < size
    assert 0 < parts(shorter) < parts(program)
    exact(net, shorter)


@pytest.mark.slow
def test_resnet_50_fits_the_instruction_memory_of_the_edge_chip(tmp_path: Path) -> None:
    model, _ = script("make_resnet50").resnet()
    onnx.save_model(model, tmp_path / "resnet.onnx")
    net, edge = tilesim.load_network(tmp_path / "resnet.onnx"), tilesim.load_topology("edge-4x4")
    for partition in ("spatial", "mixed"):
        assert parts(tilesim.compile(net, edge, partition)) > 0


@pytest.mark.slow
@pytest.mark.parametrize("partition", ["spatial", "mixed"])
def test_resnet_50_keeps_three_and_a_half_mebibytes(partition: str, tmp_path: Path) -> None:
    model, _ = script("make_resnet50").resnet()
    onnx.save_model(model, tmp_path / "resnet.onnx")
    net = tilesim.load_network(tmp_path / "resnet.onnx")
    options = CompileOptions(partition=PartitionPolicy(partition))
    plan = plan_cache({"resnet": net}, tilesim.load_topology("edge-4x4"), options)
    kept = sum(decision.set.data_bytes for decision in plan.decisions if decision.cached)
    assert kept >= 3.5 * MIB
