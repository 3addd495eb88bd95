"""A host's link that carries no pads (``host.sends_padding: false``): whole programs, on both models."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

import tilesim
from tilesim.tiled.isa.model.program import Program


def program(workload: str, chip: str = "edge-4x4", **keys: object) -> Program:
    changes = {key.replace("__", "."): value for key, value in keys.items()}
    made = tilesim.compile(tilesim.load_network(workload), tilesim.load_topology(chip, changes))
    assert isinstance(made, Program)
    return made


def own_bytes(of: Program) -> int:
    """Those of what the tensors at the host have on the link."""
    tensors = (*of.inputs, *of.outputs)
    return sum(prod(block.extent) * tensor.carried.itemsize for tensor in tensors for block in tensor.blocks)


@pytest.mark.parametrize("workload", ["digits", "example-conv"])
def test_outputs_are_the_same_and_only_the_tensors_bytes_cross_the_link(workload: str) -> None:
    padded, unpadded = (program(workload, host__sends_padding=sends) for sends in (True, False))
    one, other = (tilesim.simulate(each, seed=3) for each in (padded, unpadded))
    assert all(map(np.array_equal, one.outputs, other.outputs))
    rows = sum(tensor.rows for tensor in (*padded.inputs, *padded.outputs))
    assert one.statistics["bytes"]["host"]["carried"] == rows * 256
    assert other.statistics["bytes"]["host"]["carried"] == own_bytes(unpadded) < rows * 256
    assert other.cycles <= one.cycles, "fewer bytes take no longer"


def test_of_a_tensor_that_is_cut_without_halos_each_byte_crosses_once() -> None:
    """Ten classes of float32 at the host are ten bytes on the link."""
    of = program("digits", "edge-1x1", host__sends_padding=False)
    sizes = [prod(tensor.shape) for tensor in (*of.inputs, *of.outputs)]
    assert sizes == [8 * 8, 10]
    assert tilesim.simulate(of).statistics["bytes"]["host"] == {"entered": 74, "carried": 74}


@pytest.mark.parametrize("rates", [(0, 0), (442_000_000, 55_000_000), (55_000_000, 3 * 10**9)])
@pytest.mark.parametrize("workload", ["digits", "pocket"])
def test_both_models_agree(workload: str, rates: tuple[int, int]) -> None:
    to_chip, from_chip = rates
    linked = {"host__to_chip_bytes_per_second": to_chip, "host__from_chip_bytes_per_second": from_chip}
    verdict = tilesim.verify(program(workload, "edge-2x2", host__sends_padding=False, **linked), seed=1)
    assert verdict.agree, verdict.differences
