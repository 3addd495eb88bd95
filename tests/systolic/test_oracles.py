"""The published figures of the machine, on programs written by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.systolic.handmade import Listing, dense, multiply, product, some, topology, tpu
from tilesim import simulate
from tilesim.errors import ProgramError
from tilesim.systolic.isa.model.instructions import MatrixMultiply, ReadWeights
from tilesim.systolic.isa.model.program import Layer, Program
from tilesim.systolic.topology import Topology
from tilesim.units import cycles_to_us


def looped(chip: Topology, tiles: int, vectors: int) -> Program:
    """``tiles`` tiles, each used by so many vectors of zeros."""
    listing = Listing()
    side = chip.array.rows
    for k in range(tiles):
        listing.add(ReadWeights(layer=0))
        op = multiply(vectors=vectors, elements=side, columns=side, switch=True, layer=0)
        listing.add(replace(op, accumulator=k % 2 * chip.accumulators.entries // 2))
    layer = Layer("loop", "fully connected", tiles * vectors * side * side, vectors=vectors, inputs=side, outputs=side)
    return Program("loop", chip, (), listing.halt(), layers=(layer,))


def test_the_steady_state_of_mlp0() -> None:  # oracle 33
    run = simulate(looped(tpu(), 120, 200), [])
    shares = {cause: 100 * cycles / run.cycles for cause, cycles in run.statistics["breakdown"].items()}
    assert shares["useful MACs"] == pytest.approx(14.8, abs=0.3)
    assert shares["weight stall"] == pytest.approx(66.2, abs=0.7)
    assert shares["weight shift"] == pytest.approx(19.0, abs=0.3)
    assert sum(run.statistics["breakdown"].values()) == run.cycles


@pytest.mark.parametrize(("side", "tiles", "time_us"), [(256, 9, 17.35), (512, 4, 30.8)])
def test_a_600_by_600_matrix_is_slower_on_a_larger_array(side: int, tiles: int, time_us: float) -> None:  # oracle 35
    chip = tpu(array={"rows": side, "columns": side})
    run = simulate(looped(chip, tiles, 1), [])
    first_tick = -(-5 * 2125 // 700)
    fetched = -(-(first_tick + tiles * side * side // 16) * 700 // 2125)
    assert cycles_to_us(fetched, chip.clock_hz) == pytest.approx(time_us, rel=0.01)
    assert run.cycles == fetched + side + 1 + 2 * side - 2


def test_2048_vectors_are_double_buffered() -> None:  # oracle 36
    chip, batch = topology(4, accumulators={"entries": 4096}), 2048
    x, w = some((batch, 4)), some((4, 12), seed=1)
    program = dense(chip, w, batch)
    multiplies = [op for op in program.run if isinstance(op, MatrixMultiply)]
    assert [op.accumulator for op in multiplies] == [0, 2048, 0]
    run = simulate(program, [x])
    np.testing.assert_array_equal(run.outputs[0], product(x, w))
    matrix = next(unit for unit in run.statistics["units"] if unit["track"] == "chip.matrix")
    assert matrix["busy_cycles"] == 3 * batch
    assert matrix["stall_cycles"]["raw"] < 50  # the second block computes while the first one is activated


def test_4097_vectors_are_more_than_there_are_accumulators() -> None:  # oracle 36
    chip = topology(4, accumulators={"entries": 4096})
    with pytest.raises(ProgramError, match=r"4097|4096"):
        simulate(looped(chip, 1, 4097), [])
