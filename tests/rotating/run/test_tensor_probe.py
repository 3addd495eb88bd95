"""Tensors are read out of the data RAM when their last row is written, and not a row before."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tilesim
from tests.rotating.programs import Bare, chip, rows_tensor
from tilesim.machines.options import RunOptions
from tilesim.rotating.isa.model.instructions import Alu, Counter, Out, Queue, Rows, Step, Sync
from tilesim.rotating.isa.model.program import Layout, Program, Stripe, TensorPlace
from tilesim.rotating.run.simulate import simulate
from tilesim.rotating.run.tensor_probe import TensorProbe
from tilesim.rotating.units.row_memory import RowMemory

HALVES = Layout(2, 3, 2, (Stripe(0, 3, 4, 1, ((1, 0),)),), fill=9)
"""Two lines of three columns; channel 1 in the words 1 to 3, channel 0 in 5 to 7."""


def place(index: int, row: int, rows_written: int) -> TensorPlace:
    """As the model has it: channels first."""
    return TensorPlace(index, f"t{index}", row, rows_written, HALVES, (1, 2, 3, 2), (0, 3, 1, 2), "int8")


def with_tensors(program: Program, *places: TensorPlace) -> Program:
    return replace(program, tensors=places)


def test_a_tensor_is_read_in_its_layout_once_all_its_rows_are_there() -> None:
    program = with_tensors(Bare(chip(8), [], {}, {}).program(), place(4, 1, 3))
    ram, probe = RowMemory("nnu.data_ram", 4, 8, "single", 2), TensorProbe(program)
    ram.rows[:] = np.arange(64).reshape(2, 4, 8)
    for rows in (1, 2):
        probe.written(ram, rows)
        assert probe.tensors([]) == {}
    probe.written(ram, 3)
    ram.rows[...] = 0  # what is written there later is another's
    probe.written(ram, 4)
    [[index, tensor]] = probe.tensors([]).items()
    first = [[[13, 14, 15], [21, 22, 23]], [[9, 10, 11], [17, 18, 19]]]
    assert (index, tensor.dtype.name, tensor.shape) == (4, "int8", (2, 2, 2, 3))
    assert tensor.tolist() == [first, (np.array(first) + 32).tolist()]


def test_outputs_are_as_the_host_received_them() -> None:
    topology = chip(8)
    program = replace(Bare(topology, [], {}, {}).program(), outputs=(rows_tensor(topology, 1, "y", 7),))
    sent = np.arange(8, dtype=np.int8)
    assert TensorProbe(program).tensors([sent]) == {7: sent}


def test_a_row_that_is_used_again_holds_each_tensor_in_its_time() -> None:
    """Two outs into each of the rows 9 and 10: the probe sees the first two together, then the others."""
    ops = [op for k in range(4) for op in (Step(data=Rows(k), alu=Alu.COPY), Out(row=Rows(9 + k % 2)))]
    data = {k: [10 * k + j for j in range(8)] for k in range(4)}
    program = with_tensors(Bare(chip(8), ops, data, {}).program(), place(0, 9, 2), place(1, 9, 4))
    tensors = simulate(program, [], RunOptions(keep_tensors=True)).tensors
    assert tensors[0].tolist() == [[[[5, 6, 7], [15, 16, 17]], [[1, 2, 3], [11, 12, 13]]]]
    assert tensors[1].tolist() == (tensors[0] + 20).tolist()
    assert simulate(program, []).tensors == {}


def test_what_loading_writes_is_not_counted() -> None:
    """Nor read out: outs of the load section write rows too, and counters begin anew with the run."""
    ops = [Step(data=Rows(0), alu=Alu.COPY), Out(row=Rows(9)), Out(row=Rows(10))]
    bare = Bare(chip(8), ops, {0: [*range(8)]}, {}).program()
    waits = Sync(unit=Queue.ARRAY, until=Counter.DMA_IN, count=len(bare.load) - 1)
    program = replace(bare, load=(waits, *bare.run[:-1], *bare.load), tensors=(place(0, 9, 2), place(1, 9, 3)))
    found = simulate(program, [], RunOptions(keep_tensors=True)).tensors
    assert list(found) == [0]
    assert found[0].tolist() == [[[[5, 6, 7]] * 2, [[1, 2, 3]] * 2]]


@pytest.mark.parametrize("topology", ["nnu-1024-jump", "ncore"])
@pytest.mark.parametrize("name", ["digits", "example-residual"])
def test_every_tensor_of_a_network_is_the_golden_one(name: str, topology: str) -> None:
    network = tilesim.load_network(name)
    program = tilesim.compile(network, tilesim.load_topology(topology))
    assert isinstance(program, Program)
    rng = np.random.default_rng(5)
    given = {
        index: rng.integers(-128, 128, (2, *network.tensors[index].shape[1:])).astype(network.tensors[index].dtype)
        for index in network.inputs
    }
    run = tilesim.simulate(program, [network.tensors[k].to_model(x) for k, x in given.items()], keep_tensors=True)
    expected = network.evaluate(list(given.values()))
    assert {place.index for place in program.tensors if place.rows_written} <= set(run.tensors)
    for index, tensor in run.tensors.items():
        np.testing.assert_array_equal(tensor, network.tensors[index].to_model(expected[index]))
