"""Whole runs of programs written by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tests.systolic.handmade import dense, product, some, topology, tpu
from tilesim.systolic.simulate import simulate


@pytest.mark.parametrize(("inputs", "outputs", "batch"), [(4, 4, 3), (9, 6, 5), (3, 11, 1), (300, 5, 2)])
def test_a_layer_larger_than_the_array_is_cut_and_added_up(inputs: int, outputs: int, batch: int) -> None:
    x, w = some((batch, inputs)), some((inputs, outputs), seed=1)
    run = simulate(dense(topology(), w, batch), [x])
    np.testing.assert_array_equal(run.outputs[0], product(x, w))


def test_300_inputs_on_256_rows_are_256_and_44() -> None:  # oracle 30
    x, w = some((3, 300)), some((300, 7), seed=1)
    program = dense(tpu(), w, 3)
    assert [getattr(op, "rows", 0) for op in program.run if op.mnemonic == "matrix_multiply"] == [256, 44]
    np.testing.assert_array_equal(simulate(program, [x]).outputs[0], product(x, w))
