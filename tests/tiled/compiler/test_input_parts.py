"""Layers cut along their inputs: the parts, the same bits on both models, and the rows of sums between them."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import tilesim
from tilesim.machines.policies import INPUTS, PartitionPolicy
from tilesim.network.graph import Network
from tilesim.tiled.compiler.input_parts import InputPart, input_parts
from tilesim.tiled.compiler.lower.partial_sums import sum_accesses
from tilesim.tiled.isa.model.instructions import TensorOp
from tilesim.tiled.isa.model.program import Program

LAYERS = [
    {"name": "wide", "kind": "convolution", "filters": 88, "kernel": [3, 3]},
    {"name": "apart", "kind": "convolution", "filters": 70, "kernel": [3, 2], "dilations": [2, 1], "strides": [1, 2]},
    {"name": "groups", "kind": "convolution", "filters": 30, "kernel": [3, 3], "groups": 10, "strides": [2, 1]},
    {"name": "full", "kind": "fully_connected", "units": 130},
]
PIXELS = (42, 24, 12, 1)
"""Of 6 x 7, 6 x 4 and 3 x 4."""
SMALL = {"wide_memory.size_bytes": "24 KiB"}
"""Blocks of lanes take 13.5, 33, 20.25 and 24 KiB: no two of them fit."""


def network(tmp_path: Path) -> Network:
    path = tmp_path / "net.yaml"
    path.write_text(yaml.safe_dump({"input": {"shape": [1, 6, 7, 22], "zero_point": 3}, "layers": LAYERS}))
    return tilesim.load_network(path)


def tensorops(program: Program, layer: int) -> list[TensorOp]:
    return [op for op in program.run if isinstance(op, TensorOp) and op.layer == layer]


@given(st.integers(1, 12), st.integers(1, 40), st.integers(1, 9), st.integers(1, 60))
def test_parts_are_the_whole_and_none_is_too_large(rows: int, words: int, row: int, most: int) -> None:
    parts = input_parts(rows, words, row, most)
    assert sorted(place for part in parts for place in product(part.words, part.rows)) == [
        *product(range(words), range(rows))
    ]
    assert all(
        len(part.rows) * len(part.words) * row <= most or len(part.rows) == len(part.words) == 1 for part in parts
    )
    assert [part.first for part in parts] == [True, *[False] * (len(parts) - 1)]
    assert [part.last for part in parts] == [*[False] * (len(parts) - 1), True]
    if rows * words * row <= most:
        assert parts == [InputPart(range(rows), range(words), True, True)]


def test_rows_of_the_kernel_are_cut_where_one_word_of_channels_is_too_large() -> None:
    """7 rows of 5 units each for 2 words, in 12 units: 2 rows or 1 at a time."""
    parts = input_parts(7, 2, 5, 12)
    assert [(part.rows, part.words.start) for part in parts[:4]] == [
        (range(1), 0), (range(1, 3), 0), (range(3, 5), 0), (range(5, 7), 0),
    ]  # fmt: skip
    assert len(parts) == 8


def test_the_last_part_has_what_is_left_of_the_channels() -> None:
    kernel = np.arange(2 * 3 * 1 * 6).reshape(2, 3, 1, 6)
    part = InputPart(range(1, 3), range(1, 2), first=False, last=True)
    np.testing.assert_array_equal(part.weights(kernel, 4), kernel[:, 1:3, :, 4:6])


def compiled(net: Network, chip: str, order: str = "") -> Program:
    orders = tuple((0, layer, order) for layer in (0, 1, 3)) if order else ()
    return tilesim.compile(net, tilesim.load_topology(chip, SMALL), PartitionPolicy("spatial", (), orders))


@pytest.mark.parametrize("order", ["", INPUTS])
@pytest.mark.parametrize("chip", ["edge-1x1", "edge-2x2"])
def test_layers_in_parts_are_exact_on_both_models(chip: str, order: str, tmp_path: Path) -> None:
    net = network(tmp_path)
    program = compiled(net, chip, order)
    x = np.random.default_rng(0).integers(-128, 128, (1, 6, 7, 22)).astype(np.int8)
    run, golden = tilesim.simulate(program, [x], keep_tensors=True), net.evaluate([x])
    for index, tensor in run.tensors.items():
        np.testing.assert_array_equal(tensor, golden[index])
    assert all(any(op.sums_in for op in tensorops(program, layer)) for layer in range(4))
    verdict = tilesim.verify(program, [x])
    assert (verdict.ended, verdict.differences) == (True, ())
    assert tilesim.check(program).proven


def test_each_part_reads_and_writes_a_row_of_sums_for_each_result_group(tmp_path: Path) -> None:
    """But the first part reads, and the last writes none; only the last one has parameters, and makes outputs."""
    program = compiled(network(tmp_path), "edge-1x1")
    for layer, pixels in enumerate(PIXELS):
        ops = tensorops(program, layer)
        starts = [k for k, op in enumerate(ops) if op.sums_in is None]
        for start, end in zip(starts, [*starts[1:], len(ops)], strict=True):
            parts = ops[start:end]
            assert [op.sums_out is None for op in parts] == [*[False] * (len(parts) - 1), True]
            assert [op.parameters is None for op in parts] == [op.output is None for op in parts]
            assert [op.output is None for op in parts] == [op.sums_out is not None for op in parts]
            assert {sum_accesses(op) for op in parts[1:-1]} <= {2 * pixels}
            assert [sum_accesses(op) for op in (parts[0], parts[-1])] == [pixels, pixels]
