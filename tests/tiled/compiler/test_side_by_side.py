"""Several outputs of a row side by side in the lanes: the kernel that makes them, how many, and what that takes."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import tilesim
from tilesim.machines.policies import MIXED, SPATIAL, Wishes
from tilesim.network.graph import Network
from tilesim.tiled.compiler.lower.side_by_side import SideBySide, ungrouped, widened
from tilesim.tiled.compiler.partition import Partition, partition_network
from tilesim.tiled.compiler.tile_plan import plan_operators
from tilesim.tiled.isa.model.instructions import TensorOp
from tilesim.tiled.isa.model.program import Program

SMALL = st.integers(1, 4)


def loaded(tmp_path: Path, shape: list[int], *layers: dict[str, Any]) -> Network:
    named = [{"name": f"l{k}", "kind": "convolution", "kernel": [3, 3], **layer} for k, layer in enumerate(layers)]
    path = tmp_path / "net.yaml"
    path.write_text(yaml.safe_dump({"input": {"shape": shape}, "layers": named}))
    return tilesim.load_network(path)


def spread(network: Network, chip: str, choice: str = MIXED, **changes: Any) -> Partition:
    topology = tilesim.load_topology(chip, changes)
    return partition_network(plan_operators(network, 4), topology, (), Wishes(choice))


def pixels(network: Network, chip: str, choice: str = MIXED, **changes: Any) -> list[int]:
    partition = spread(network, chip, choice, **changes)
    return [partition.made(node).pixels for node in network.nodes]


def convolutions(program: Program) -> list[TensorOp]:
    return [op for op in program.run if isinstance(op, TensorOp)]


# ---- the kernel ----------------------------------------------------------------------------------------------------


@given(st.builds(SideBySide, st.integers(2, 5), SMALL, SMALL), SMALL, SMALL, st.integers(0, 9))
def test_the_wide_kernel_makes_every_pixel(beside: SideBySide, taps: int, outputs: int, fill: int) -> None:
    """Column by column: what a lane multiplies is its pixel's tap there, and what has no tap is worth nothing."""
    rng, channels, lanes = np.random.default_rng(taps), 3, 5
    weights = rng.integers(-9, 9, (outputs, 2, taps, channels))
    columns = (taps - 1) * beside.dilation + (beside.pixels - 1) * beside.stride + 1
    x = rng.integers(-9, 9, (2, columns, channels))
    kernel = beside.kernel(weights, lanes, fill)
    assert kernel.shape == (beside.pixels * lanes, 2, beside.columns(taps), channels)
    walked = x[:, :: beside.pitch]
    sums = np.einsum("okwc,kwc->o", kernel - fill, walked).reshape(beside.pixels, lanes)
    for pixel in range(beside.pixels):
        window = x[:, pixel * beside.stride :: beside.dilation][:, :taps]
        np.testing.assert_array_equal(sums[pixel, :outputs], np.einsum("okwc,kwc->o", weights - fill, window))
        assert not sums[pixel, outputs:].any(), "a lane without an output"


@given(st.builds(SideBySide, st.integers(1, 8), SMALL, SMALL), SMALL)
def test_it_walks_over_the_columns_that_any_pixel_reads(beside: SideBySide, taps: int) -> None:
    read = {pixel * beside.stride + tap * beside.dilation for pixel in range(beside.pixels) for tap in range(taps)}
    assert max(read) // beside.pitch + 1 == beside.columns(taps) >= len(read)
    if beside.pixels == 1 or beside.stride == beside.dilation == 1:
        assert beside.columns(taps) == len(read)


@given(st.integers(1, 8), st.integers(1, 40))
def test_turns_and_the_last_of_them_make_all_outputs(pixels: int, outputs: int) -> None:
    beside = SideBySide(pixels)
    assert (beside.turns(outputs) - 1) * pixels + beside.last(outputs) == outputs
    assert 1 <= beside.last(outputs) <= pixels
    assert widened(range(3, 3 + outputs), pixels) == range(3, 3 + beside.turns(outputs) * pixels)


def test_numbers_of_outputs_become_those_of_lanes() -> None:
    values = np.array([5, 6, 7], np.int32)
    assert SideBySide(2).of_all(values, 4).tolist() == [5, 6, 7, 0, 5, 6, 7, 0]


def test_grouped_weights_are_written_out() -> None:
    weights = np.arange(1, 5).reshape(2, 1, 1, 2)
    assert ungrouped(weights, 2, 9).tolist() == [[[[1, 2, 9, 9]]], [[[9, 9, 3, 4]]]]


# ---- how many ------------------------------------------------------------------------------------------------------


def test_as_many_as_lanes_are_there_for_and_only_where_it_is_asked(tmp_path: Path) -> None:
    network = loaded(tmp_path, [1, 8, 16, 16], *({"filters": filters} for filters in (16, 32, 10, 64, 33)))
    assert pixels(network, "edge-1x1") == [4, 2, 4, 1, 1], "10 channels take 12 lanes; 16 columns are 4 turns of 4"
    assert pixels(network, "edge-1x1", SPATIAL) == [1] * 5
    assert pixels(network, "edge-1x1", **{"tile.lanes": 32}) == [2, 1, 2, 1, 1]


def test_turns_are_even_and_what_saves_no_steps_is_left_alone(tmp_path: Path) -> None:
    odd = loaded(tmp_path, [1, 4, 9, 16], {"filters": 16})
    assert pixels(odd, "edge-1x1") == [3], "three turns of three, not four, four and one"
    alone = [{"filters": 16, "kernel": [3, 1]}, {"filters": 16, "kernel": [1, 1]}]
    assert pixels(loaded(tmp_path, [1, 4, 16, 16], *alone), "edge-1x1") == [1, 1]


def test_weights_for_which_there_is_no_room_must_be_worth_their_way(tmp_path: Path) -> None:
    """Of 4 pixels, 72 rows instead of 36 of a quarter each: 16,128 bytes more, from data memory 8,064 cycles."""
    network = loaded(tmp_path, [1, 8, 8, 16], {"filters": 16})
    small = {"wide_memory.size_bytes": 2 << 17, "wide_memory.reserve_bytes": (2 << 17) - 4096}
    assert pixels(network, "edge-1x1", **small) == [1], "half of 2,304 steps are less"
    large = loaded(tmp_path, [1, 64, 32, 16], {"filters": 16})
    assert pixels(large, "edge-1x1", **small) == [4], "half of 73,728 are more"


# ---- what it takes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("width", [8, 9, 11])
def test_steps_are_those_of_the_formula(width: int, stride: int, tmp_path: Path) -> None:
    network = loaded(tmp_path, [1, 6, width * stride, 16], {"filters": 16, "strides": [1, stride]})
    partition = spread(network, "edge-1x1")
    beside = SideBySide(partition.made(network.nodes[0]).pixels, stride)
    assert beside.pixels > 1
    ops = convolutions(tilesim.compile(network, tilesim.load_topology("edge-1x1"), MIXED))
    steps = sum(prod(loop.bound for loop in op.nest.loops[:-1]) for op in ops)  # in parts, as rows of the input come
    assert steps == 6 * beside.turns(width) * 3 * (3 - 1 + (beside.pixels - 1) * stride + 1) * 4
    last = beside.last(width) * 16
    assert {op.nest.loops[-1].bound for op in ops} == {16 * beside.pixels}
    assert {op.nest.alternate.limit if op.nest.alternate else 16 * beside.pixels for op in ops} == {last}


def test_a_map_has_room_for_the_columns_of_the_last_turn(tmp_path: Path) -> None:
    """11 outputs in turns of 4 read as 12 do: a column more than stands in the map and its border."""
    network = loaded(tmp_path, [1, 6, 11, 16], {"filters": 16})
    [narrow, wide] = (
        partition.maps[f"tensor{partition.plan.sources[0].stored.index}"].columns.length
        for partition in (spread(network, "edge-1x1", SPATIAL), spread(network, "edge-1x1"))
    )
    assert (narrow, wide) == (13, 14)
