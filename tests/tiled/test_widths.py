"""Widths that are varied apart: what a layer takes a cycle and what a memory delivers are keys of their own."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import tilesim
from tilesim import verify
from tilesim.machines.topology import Value
from tilesim.network.graph import Network
from tilesim.run import Run
from tilesim.shipped import shipped
from tilesim.tiled.isa.model.instructions import Infeed
from tilesim.tiled.isa.model.program import Program

CHIPS = {"digits": "edge-1x2", "example-conv": "edge-2x2", "example-residual": "edge-1x2", "pocket": "edge-1x2"}
"""Workloads, and a chip for each; all have layers that work byte by byte."""
WIDTHS = ((4, 4), (4, 2), (4, 1), (8, 4), (16, 4), (16, 1))
"""Bytes of a word, and what layers take a cycle that work byte by byte."""


def _inputs(workload: str, network: Network) -> list[NDArray[np.generic]]:
    if workload == "digits":
        return [np.load(shipped("workloads") / "digits.npz")["in0"][:1]]
    tensors = [network.tensors[index] for index in network.inputs]
    random = np.random.default_rng(3)
    return [random.integers(-128, 128, tensor.shape).astype(tensor.dtype) for tensor in tensors]


def _compared(workload: str, **changes: Value) -> tuple[Program, Run]:
    """A program and its run on a chip with other keys: both models agree, and the outputs are those of the network."""
    network = tilesim.load_network(workload)
    inputs = _inputs(workload, network)
    keys = {name.replace("__", "."): value for name, value in changes.items()}
    program = tilesim.compile(network, tilesim.load_topology(CHIPS[workload], keys), "spatial")
    verdict = verify(program, inputs)
    assert verdict.ended
    assert not verdict.differences
    run = tilesim.simulate(program, inputs)
    tensors = [network.tensors[index] for index in network.inputs]
    golden = network.evaluate([tensor.from_model(x) for tensor, x in zip(tensors, inputs, strict=True)])
    for output, index in zip(run.outputs, network.outputs, strict=True):
        np.testing.assert_array_equal(output, network.tensors[index].to_model(golden[index]))
    return program, run


@pytest.mark.parametrize("workload", CHIPS)
@pytest.mark.parametrize(("word", "vector"), WIDTHS)
def test_a_network_has_the_same_results_whatever_its_layers_take_a_cycle(workload: str, word: int, vector: int) -> None:
    _compared(workload, narrow_memory__word_bytes=word, tile__vector_bytes=vector)


@pytest.mark.parametrize("workload", CHIPS)
def test_the_fewer_bytes_a_cycle_the_longer_layers_take_that_work_byte_by_byte(workload: str) -> None:
    """Depthwise layers, pools and additions; the load program has nothing to do with it."""
    runs = [_compared(workload, tile__vector_bytes=vector)[1].statistics for vector in (4, 2, 1)]
    cycles = [statistics["cycles"] for statistics in runs]
    assert cycles[0] < cycles[1] < cycles[2]
    assert len({statistics["load_cycles"] for statistics in runs}) == 1


ROWS = (256, 512, 1024, 2048)


@pytest.mark.parametrize("workload", CHIPS)
def test_larger_rows_load_no_more_than_the_ends_of_their_last_ones(workload: str) -> None:
    """A transfer is of whole rows: of a larger one, what parameters don't fill is read from data memory as well."""
    runs = [_compared(workload, wide_memory__row_bytes=row) for row in ROWS]
    cycles = [run.statistics["load_cycles"] for _, run in runs]
    data = [sum(segment.data.size for segment in program.data) for program, _ in runs]
    first, _ = runs[0]
    transfers = sum(op.transfers for op in first.load if isinstance(op, Infeed))
    bytes_per_cycle = first.topology.data_memory.bytes_per_cycle
    for row, size, load in zip(ROWS, data, cycles, strict=True):
        assert size - data[0] <= transfers * (row - ROWS[0])
        assert load - cycles[0] <= (size - data[0]) / bytes_per_cycle


@pytest.mark.parametrize(("row", "ports"), [(512, 1), (1024, 2), (2048, 1)])
@pytest.mark.parametrize(("word", "vector"), [(4, 2), (8, 4), (16, 4)])
def test_rows_words_and_vectors_may_be_of_any_widths_together(row: int, ports: int, word: int, vector: int) -> None:
    _compared(
        "digits",
        wide_memory__row_bytes=row,
        wide_memory__ports=ports,
        narrow_memory__word_bytes=word,
        tile__vector_bytes=vector,
    )
