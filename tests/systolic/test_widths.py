"""Operands of 16 bits, from a network to what leaves the chip."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.networks import Weave
from tests.systolic.compiled import chip, exact, inputs_of
from tilesim import simulate
from tilesim.network.graph import Network
from tilesim.network.operators import Convolution, FullyConnected
from tilesim.systolic.isa.model.instructions import MatrixMultiply


def network_of(activations: type, weights: type) -> Network:
    """A convolution and a fully connected layer, whose weights fill their type."""
    weave = Weave()
    x = weave.input(5, 5, 3, dtype=activations, zero_point=0 if activations is np.int16 else -3)
    network = weave.network(weave.fully_connected(weave.convolution(x, 6), 9))
    if weights is np.int8:
        return network
    tensors, nodes = dict(network.tensors), []
    for node in network.nodes:
        tensor, operator = tensors[node.inputs[1]], node.operator
        assert tensor.data is not None
        assert isinstance(operator, Convolution | FullyConnected)
        tensors[node.inputs[1]] = replace(tensor, data=tensor.data.astype(weights) * 257, dtype=np.dtype(weights))
        nodes.append(replace(node, operator=replace(operator, shift=operator.shift - 8)))
    return replace(network, tensors=tensors, nodes=tuple(nodes))


@pytest.mark.parametrize(
    ("activations", "weights", "passes"),
    [(np.int8, np.int8, 1), (np.int16, np.int8, 2), (np.int8, np.int16, 2), (np.int16, np.int16, 4)],
)
@pytest.mark.parametrize("along", ["columns", "rows"])
def test_wide_operands_take_more_cycles_and_stay_exact(
    activations: type, weights: type, passes: int, along: str
) -> None:
    network = network_of(activations, weights)
    program = exact(network, chip("systolic-32", {"array.weights": along, "array.rows": 16}), samples=2)
    run = simulate(program, inputs_of(network))
    multiplies = [op for op in program.run if isinstance(op, MatrixMultiply)]
    assert np.unique(run.outputs[0]).size > 3
    assert {op.passes for op in multiplies} == {passes}
    matrix = next(unit for unit in run.statistics["units"] if unit["track"] == "chip.matrix")
    assert matrix["busy_cycles"] == passes * sum(op.vectors for op in multiplies)
    assert run.statistics["breakdown"]["useful MACs"] == pytest.approx(passes * network.macs / (16 * 32), abs=2)
    tiles = sum(op.switch for op in multiplies)
    assert run.statistics["streamed_bytes"] == tiles * 16 * 32 * np.dtype(weights).itemsize
