"""Depthwise layers in all lanes: which pixels stand side by side, what that costs, and that nothing else changes."""

from __future__ import annotations

import json
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import tilesim
from tilesim.machines.policies import MIXED, SPATIAL
from tilesim.network.graph import Network
from tilesim.tiled.compiler.lower.depthwise_lanes import (
    LaneCosts,
    PixelGroups,
    Window,
    best_groups,
    repeated,
    side_by_side,
)
from tilesim.tiled.isa.model.instructions import Operation, TensorOp
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.machine import Tiled

CHIP = tilesim.load_topology("edge-1x1")


def costs(columns: int = 14, kernel: int = 3, stride: int = 1, words: int = 16, **changes: Any) -> LaneCosts:
    window = Window(words, 10, columns, (kernel, kernel), (stride, stride), (1, 1))
    return LaneCosts(CHIP, replace(window, **changes), 3)


def network(folder: Path, shape: tuple[int, ...], *layers: dict[str, Any]) -> Network:
    path = folder / "workload.yaml"
    path.write_text(json.dumps({"input": {"shape": shape, "zero_point": 3}, "layers": layers}), "utf-8")
    return tilesim.load_network(path)


def depthwise(name: str = "layer", kernel: int = 3, stride: int = 1, **fields: Any) -> dict[str, Any]:
    kind = {"name": name, "kind": "depthwise_convolution", "padding": "same"}
    return {**kind, "kernel": [kernel] * 2, "strides": [stride] * 2, **fields}


def tensorops(program: Program) -> list[TensorOp]:
    return [op for op in program.run if isinstance(op, TensorOp)]


@given(st.integers(1, 60), st.integers(2, 16))
def test_groups_cover_a_row_and_none_leaves_it(columns: int, most: int) -> None:
    for groups in PixelGroups.all(columns, most):
        firsts = [k * groups.step for k in range(groups.count)]
        made = {first + k for first in firsts for k in range(groups.pixels)}
        assert made == set(range(columns))


def test_pixels_of_a_row_share_the_columns_that_they_read() -> None:
    """4 pixels of 3 x 3 need 6 columns of 3 rows: 18 steps, not 36."""
    assert costs().window.reach(4) == 6
    four = PixelGroups(4, 1, 1)
    assert costs(4).cycles(four) == 10 * (16 * 18 + 3 * 4) + 3 * (16 * 18 * 64 // 256)
    assert costs(4).by_bytes == 10 * (16 * 36 + 3)


def test_where_pixels_share_nothing_the_bytes_of_a_word_go_to_a_lane_each() -> None:
    assert best_groups(costs(kernel=1)) is None
    assert best_groups(costs(columns=1)) is None
    assert best_groups(costs(stride=3)) is None
    assert best_groups(costs(stride=2)) is not None


@pytest.mark.parametrize(("row_cycles", "fewer"), [(3, False), (1 << 20, True)])
def test_weights_that_come_dear_stay_few(row_cycles: int, fewer: bool) -> None:
    assert (best_groups(replace(costs(), row_cycles=row_cycles)) is None) == fewer


def test_weights_stand_where_a_lane_sees_its_tap() -> None:
    """Lane 4 d + c has, in column q, the tap q - d of channel c for the byte c, and the zero point for all others."""
    weights = np.arange(1, 1 + 9 * 6, dtype=np.int8).reshape(3, 3, 6)
    some, two = costs(columns=2, words=2), PixelGroups(2, 1, 1)
    spread = side_by_side(weights, some, two, -7)
    assert spread.shape == (2, 3, 4, some.step_bytes(2))
    lanes = spread[..., : 2 * 4 * 4].reshape(2, 3, 4, 2, 4, 4)
    for word, row, column, pixel, lane, byte in np.ndindex(*lanes.shape):
        channel, tap = 4 * word + lane, column - pixel
        seen = lane == byte and channel < 6 and 0 <= tap < 3
        assert lanes[word, row, column, pixel, lane, byte] == (weights[row, tap, channel] if seen else -7)


def test_a_word_has_its_values_once_for_each_pixel() -> None:
    values = np.arange(6, dtype=np.int32)
    assert repeated(values, costs(words=2), PixelGroups(2, 1, 1)).tolist() == [
        *(0, 1, 2, 3, 0, 1, 2, 3),
        *(4, 5, 0, 0, 4, 5, 0, 0),
    ]


def test_only_mixed_puts_pixels_side_by_side(tmp_path: Path) -> None:
    made = network(tmp_path, (1, 8, 8, 16), depthwise())
    plain, mixed = (tilesim.compile(made, CHIP, partition=way) for way in ("spatial", MIXED))
    assert [op.operation for op in tensorops(plain)] == [Operation.DEPTHWISE]
    for op in tensorops(mixed):  # as its lines come
        assert op.operation is Operation.CONVOLUTION
        assert op.output is not None
        assert op.nest.loops[-1].bound == 4 * 8
        assert dict(op.output.strides)["lane"] == 16
        steps = prod(loop.bound for loop in op.nest.loops if loop.name in op.reduce)
        assert steps == 3 * (8 + 2)


@settings(max_examples=60, deadline=None)
@given(
    st.tuples(st.integers(1, 20), st.integers(1, 20), st.integers(1, 70)),
    st.tuples(st.integers(1, 5), st.integers(1, 5)),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.integers(1, 2),
    st.sampled_from(["edge-1x1", "edge-2x2", "edge-1x2", "fig2-5x2"]),
)
def test_every_tensor_is_the_golden_one(
    tmp_path_factory: pytest.TempPathFactory,
    shape: tuple[int, int, int],
    kernel: tuple[int, int],
    strides: tuple[int, int],
    dilation: int,
    chip: str,
) -> None:
    layer = depthwise() | {"kernel": kernel, "strides": strides, "dilations": [dilation] * 2}
    made = network(tmp_path_factory.mktemp("workload"), (1, *shape), layer, depthwise("behind"))
    x = np.random.default_rng(prod(shape)).integers(-128, 128, (2, *shape)).astype(np.int8)
    program = tilesim.compile(made, tilesim.load_topology(chip), partition=MIXED)
    run = tilesim.simulate(program, [x], keep_tensors=True)
    expected = made.evaluate([x])
    assert {node.output for node in made.nodes} <= run.tensors.keys()
    for index, tensor in run.tensors.items():
        np.testing.assert_array_equal(tensor, expected[index])


@pytest.mark.parametrize("chip", ["edge-1x1", "edge-2x2"])
def test_both_models_agree(tmp_path: Path, chip: str) -> None:
    made = network(tmp_path, (1, 9, 7, 20), depthwise(), depthwise("second", 5, 2))
    program = tilesim.compile(made, tilesim.load_topology(chip), partition=MIXED)
    assert any(op.operation is Operation.CONVOLUTION for op in tensorops(program))
    x = np.random.default_rng(1).integers(-128, 128, (1, 9, 7, 20)).astype(np.int8)
    event, stepped = tilesim.simulate(program, [x]), Tiled().step(program, [x], trace=False)
    assert event.cycles == stepped.cycles
    np.testing.assert_array_equal(event.outputs[0], stepped.outputs[0])


def test_weights_that_would_push_others_out_of_the_tiles_are_left_as_they_are(tmp_path: Path) -> None:
    """Where both fit, pixels stand side by side; where only the plain weights do, these stay."""
    made = network(tmp_path, (1, 8, 8, 64), *(depthwise(f"layer{k}") for k in range(4)))
    plain = tilesim.compile(made, tilesim.load_topology("edge-1x1"), SPATIAL)
    size = sum(region.bytes for region in plain.regions if region.name == "parameters")
    for room, packed in ((1 << 20, True), (-(-size // 4096) * 4096 + 8192, False)):
        chip = tilesim.load_topology("edge-1x1", {"wide_memory.size_bytes": room, "data_memory.bytes_per_cycle": 1})
        ops = tensorops(tilesim.compile(made, chip, partition=MIXED))
        assert {op.operation is Operation.CONVOLUTION for op in ops} == {packed}


def test_in_bands_tiles_with_unequal_columns_keep_to_one_way(tmp_path: Path) -> None:
    """Nine columns on two are five and four, of which bands make no more than their own: one set of weights serves
    both.
    """
    made = network(tmp_path, (1, 30, 9, 24), *(depthwise(f"layer{k}") for k in range(3)))
    chip = tilesim.load_topology("edge-2x2", {"narrow_memory.size_bytes": 5120})
    program = tilesim.compile(made, chip, partition=MIXED)
    assert max(layer.bands for layer in program.layers) > 1
    x = np.random.default_rng(1).integers(-128, 128, (1, 30, 9, 24)).astype(np.int8)
    np.testing.assert_array_equal(tilesim.simulate(program, [x]).outputs[0], made.evaluate([x])[made.outputs[0]])
